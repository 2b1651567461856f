/* provider.c - defines the cublas provider: matrix products on CUDA devices with cuBLASLt and cuBLAS. */
#include "providers/cublas/cublas.h"

BP_PROVIDER_DEFINE(cublas) = {
    .abi = BP_PROVIDER_ABI,
    .struct_size = sizeof(bp_provider),
    .name = "cublas",
    .version = BP_VERSION_STRING,
    .description = "Matrix products on CUDA devices with cuBLASLt and cuBLAS",
    .library_kinds = BP_LIB_GPU,
    .open = bp__cublas_open,
    .close = bp__cu_vendor_close,
    .accept = bp__cublas_accept,
    .plan = bp__cublas_plan,
    .families = "cublas",
    .runtimes = "cuda",
    .expand = bp__cublas_expand,
};
