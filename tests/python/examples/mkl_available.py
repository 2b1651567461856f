import backplane as torch

if torch.backends.mkl.is_available():
    print("MKL is available")
else:
    print("MKL is not available")
print(torch.backends.openmp.is_available(), torch.backends.mkldnn.is_available())
