/* provider.c - defines the cudnn provider: convolutions and attention on CUDA devices with cuDNN. */
#include "providers/cudnn/attention.h"

static void accept(void *instance, const bp_problem *problem, bp_offers *offers) {
    if (bp__cudnn_is_attention(problem)) {
        bp__cudnn_attention_accept(instance, problem, offers);
    } else {
        bp__cudnn_accept(instance, problem, offers);
    }
}

static bp_status plan(void *instance, const bp_problem *problem, const bp_verdict *verdict, const void *found,
                      bp_prepared **prepared) {
    return bp__cudnn_is_attention(problem) ? bp__cudnn_attention_plan(instance, problem, found, prepared)
                                           : bp__cudnn_plan(instance, problem, verdict, found, prepared);
}

/* Attention takes the first engine that cuDNN names: others are for devices and sizes that the first cannot run. */
static void expand(void *instance, const bp_problem *problem, const bp_verdict *offer, bp_offers *offers) {
    if (!bp__cudnn_is_attention(problem)) {
        bp__cudnn_expand(instance, problem, offer, offers);
    }
}

BP_PROVIDER_DEFINE(cudnn) = {
    .abi = BP_PROVIDER_ABI,
    .struct_size = sizeof(bp_provider),
    .name = "cudnn",
    .version = BP_VERSION_STRING,
    .description = "Convolutions and attention on CUDA devices with cuDNN",
    .library_kinds = BP_LIB_DNN,
    .open = bp__cudnn_open,
    .close = bp__cu_vendor_close,
    .accept = accept,
    .plan = plan,
    .families = "cudnn",
    .runtimes = "cuda",
    .expand = expand,
};
