import backplane as torch

with torch.backends.cudnn.flags(enabled=True, benchmark=True, deterministic=False):
    assert torch.backends.cudnn.benchmark
assert torch.backends.cudnn.enabled and not torch.backends.cudnn.benchmark
