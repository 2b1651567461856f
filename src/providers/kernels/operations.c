/* operations.c - finds the family of kernels for an operation. */
#include "providers/kernels/kernels.h"

#include <stdio.h>

/* NULL: there are no kernels for the operation. */
static const bp__kernel_family *const families[] = {
    [BP_OP_GEMM] = &bp__kernel_gemm,
    [BP_OP_CONTRACT] = &bp__kernel_contract,
    [BP_OP_MAX_POOL] = &bp__kernel_pool,
    [BP_OP_AVG_POOL] = &bp__kernel_pool,
    [BP_OP_BATCH_NORM] = &bp__kernel_norm,
    [BP_OP_UNARY] = &bp__kernel_elementwise,
    [BP_OP_BINARY] = &bp__kernel_elementwise,
    [BP_OP_TAKE] = &bp__kernel_elementwise,
    [BP_OP_GATHER] = &bp__kernel_elementwise,
    [BP_OP_WHERE] = &bp__kernel_elementwise,
    [BP_OP_FFT] = &bp__kernel_fft,
    [BP_OP_CONV] = &bp__kernel_conv,
    [BP_OP_CONV_INPUT] = &bp__kernel_conv,
    [BP_OP_ATTENTION] = &bp__kernel_attention,
    [BP_OP_ATTENTION_LENGTHS] = &bp__kernel_attention, /* refuses it */
    [BP_OP_REDUCE] = &bp__kernel_reduce,
    [BP_OP_VARIANCE] = &bp__kernel_reduce,
    [BP_OP_SOFTMAX] = &bp__kernel_reduce,
    [BP_OP_LAYER_NORM] = &bp__kernel_layer_norm,
    [BP_OP_RANDOM] = &bp__kernel_random,
    [BP_OP_PAD] = &bp__kernel_pad,
    [BP_OP_FLIP] = &bp__kernel_pad,
    [BP_OP_ROLL] = &bp__kernel_pad,
};

static const bp__kernel_family *family_of(uint32_t op) {
    return op < sizeof families / sizeof families[0] ? families[op] : NULL;
}

void bp__kernel_refuse(bp_offers *offers, bp_reason reason, const char *text) {
    bp_verdict verdict = BP_VERDICT_INIT;
    verdict.reason = reason;
    snprintf(verdict.text, sizeof verdict.text, "%s", text);
    offers->add(offers, &verdict, NULL, 0);
}

void bp__kernel_accept(const bp_host *host, const bp_device_info *facts, const bp_problem *problem, bp_offers *offers) {
    const bp__kernel_family *family = family_of(problem->op);
    if (family) {
        family->accept(host, facts, problem, offers);
    } else {
        bp__kernel_refuse(offers, BP_REASON_OP, "there is no kernel for this operation");
    }
}

bp_status bp__kernel_plan_problem(bp__kernel_device *device, const bp_problem *problem, const bp_verdict *verdict,
                                  const void *found, bp_prepared **prepared) {
    const bp__kernel_family *family = family_of(problem->op);
    return family ? family->plan(device, problem, verdict, found, prepared)
                  : device->host->fail(BP_E_INTERNAL, "%s: a plan was requested that was not offered",
                                       device->backend->provider);
}
