/* provider.c - defines the onednn provider, whose library is only opened at run time. */
#include "providers/onednn/onednn.h"

BP_PROVIDER_DEFINE(onednn) = {
    .abi = BP_PROVIDER_ABI,
    .struct_size = sizeof(bp_provider),
    .name = "onednn",
    .version = BP_VERSION_STRING,
    .description = "convolutions, products, pooling, normalization and recurrent layers on oneDNN",
    .library_kinds = BP_LIB_DNN,
    .open = bp__driver_open,
    .close = bp__driver_close,
    .accept = bp__onednn_accept,
    .plan = bp__onednn_plan_make,
    .threads = bp__driver_threads,
    .families = "onednn",
};
