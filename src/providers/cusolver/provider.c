/* provider.c - defines the cusolver provider: linear algebra on CUDA devices with cuSOLVER. */
#include "providers/cusolver/cusolver.h"

BP_PROVIDER_DEFINE(cusolver) = {
    .abi = BP_PROVIDER_ABI,
    .struct_size = sizeof(bp_provider),
    .name = "cusolver",
    .version = BP_VERSION_STRING,
    .description = "Linear algebra on CUDA devices with cuSOLVER",
    .library_kinds = BP_LIB_GPU,
    .open = bp__cusolver_open,
    .close = bp__cu_vendor_close,
    .accept = bp__cusolver_accept,
    .plan = bp__cusolver_plan,
    .families = "cusolver",
    .runtimes = "cuda",
};
