import backplane as torch

torch.backends.opt_einsum.strategy = "greedy"

print(torch.backends.opt_einsum.is_available(), torch.backends.opt_einsum.get_opt_einsum())
assert torch.backends.opt_einsum.strategy == "greedy"
