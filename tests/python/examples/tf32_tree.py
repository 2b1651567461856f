import backplane as torch

torch.backends.fp32_precision = "ieee"
torch.backends.cuda.matmul.fp32_precision = "tf32"
torch.backends.cudnn.fp32_precision = "ieee"
torch.backends.cudnn.conv.fp32_precision = "tf32"
torch.backends.cudnn.rnn.fp32_precision = "tf32"

assert torch.backends.cuda.matmul.fp32_precision == "tf32"
assert torch.backends.cudnn.conv.fp32_precision == "tf32"
