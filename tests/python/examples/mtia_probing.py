import backplane as torch

if hasattr(torch.backends, "mtia"):
    print("mtia:", torch.backends.mtia.is_available())
if hasattr(torch.backends, "xpu"):
    print("xpu:", torch.backends.xpu.is_available())
if torch.backends.cudnn.is_available():
    print("cuDNN", torch.backends.cudnn.version())
