import backplane as torch

if not torch.backends.mps.is_available():
    if not torch.backends.mps.is_built():
        print("MPS is not available because the library was not built with it.")
    else:
        print("MPS is not available because this is no macOS 12.3 or later, or there is no MPS device.")
else:
    print("MPS is available.")
