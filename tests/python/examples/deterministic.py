import backplane as torch

torch.backends.cudnn.deterministic = True
torch.backends.cudnn.benchmark = False
torch.use_deterministic_algorithms(True)

assert torch.backends.cudnn.deterministic and not torch.backends.cudnn.benchmark
assert torch.are_deterministic_algorithms_enabled()
