/* provider.c - defines the cudnn provider: convolutions on CUDA devices with cuDNN. */
#include "providers/cudnn/cudnn.h"

BP_PROVIDER_DEFINE(cudnn) = {
    .abi = BP_PROVIDER_ABI,
    .struct_size = sizeof(bp_provider),
    .name = "cudnn",
    .version = BP_VERSION_STRING,
    .description = "Convolutions on CUDA devices with cuDNN",
    .library_kinds = BP_LIB_DNN,
    .open = bp__cudnn_open,
    .close = bp__cu_vendor_close,
    .accept = bp__cudnn_accept,
    .plan = bp__cudnn_plan,
    .families = "cudnn",
    .runtimes = "cuda",
    .expand = bp__cudnn_expand,
};
