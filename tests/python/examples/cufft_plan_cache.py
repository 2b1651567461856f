import backplane as torch

torch.backends.cuda.cufft_plan_cache.max_size = 10
print(torch.backends.cuda.cufft_plan_cache.size, torch.backends.cuda.cufft_plan_cache.max_size)
torch.backends.cuda.cufft_plan_cache.clear()
