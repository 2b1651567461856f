/* provider.c - defines the xsmm provider: small matrix products, single or in batches, on libxsmm. */
#include "providers/xsmm/xsmm.h"

BP_PROVIDER_DEFINE(xsmm) = {
    .abi = BP_PROVIDER_ABI,
    .struct_size = sizeof(bp_provider),
    .name = "xsmm",
    .version = BP_VERSION_STRING,
    .description = "Small matrix products on kernels that libxsmm generates",
    .library_kinds = BP_LIB_SMM,
    .open = bp__driver_open,
    .close = bp__driver_close,
    .accept = bp__xsmm_accept,
    .plan = bp__xsmm_plan_make,
    .threads = bp__driver_threads,
    .families = "libxsmm",
    .cost_follows_kernels = 1,
};
