/* provider.c - defines the cufft provider: Fourier transforms on CUDA devices with cuFFT. */
#include "providers/cufft/cufft.h"

BP_PROVIDER_DEFINE(cufft) = {
    .abi = BP_PROVIDER_ABI,
    .struct_size = sizeof(bp_provider),
    .name = "cufft",
    .version = BP_VERSION_STRING,
    .description = "Fourier transforms on CUDA devices with cuFFT",
    .library_kinds = BP_LIB_GPU,
    .open = bp__cufft_open,
    .close = bp__cu_vendor_close,
    .accept = bp__cufft_accept,
    .plan = bp__cufft_plan,
    .families = "cufft",
    .runtimes = "cuda",
};
