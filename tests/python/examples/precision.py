import backplane as torch

torch.set_float32_matmul_precision("high")

assert torch.get_float32_matmul_precision() == "high"
