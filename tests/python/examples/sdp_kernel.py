import backplane as torch
from backplane.nn.attention import SDPBackend, sdpa_kernel

with torch.backends.cuda.sdp_kernel(enable_flash=True, enable_math=False, enable_mem_efficient=False):
    assert torch.backends.cuda.flash_sdp_enabled()
    assert not torch.backends.cuda.math_sdp_enabled()

with sdpa_kernel([SDPBackend.MATH, SDPBackend.EFFICIENT_ATTENTION]):
    assert not torch.backends.cuda.flash_sdp_enabled()
