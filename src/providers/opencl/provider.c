/* provider.c - defines the opencl provider: operations on OpenCL devices, with kernels of its own. */
#include "providers/opencl/opencl.h"

#include <stdio.h>

/* The operations' families; NULL: there are no kernels for the operation. */
static const bp__cl_family *const families[] = {
    [BP_OP_GEMM] = &bp__cl_gemm,
    [BP_OP_CONTRACT] = &bp__cl_contract,
    [BP_OP_MAX_POOL] = &bp__cl_pool,
    [BP_OP_AVG_POOL] = &bp__cl_pool,
    [BP_OP_BATCH_NORM] = &bp__cl_norm,
    [BP_OP_UNARY] = &bp__cl_elementwise,
    [BP_OP_BINARY] = &bp__cl_elementwise,
    [BP_OP_TAKE] = &bp__cl_elementwise,
    [BP_OP_GATHER] = &bp__cl_elementwise,
    [BP_OP_WHERE] = &bp__cl_elementwise,
    [BP_OP_FFT] = &bp__cl_fft,
    [BP_OP_CONV] = &bp__cl_conv,
    [BP_OP_CONV_INPUT] = &bp__cl_conv,
    [BP_OP_ATTENTION] = &bp__cl_attention,
    [BP_OP_REDUCE] = &bp__cl_reduce,
    [BP_OP_VARIANCE] = &bp__cl_reduce,
    [BP_OP_SOFTMAX] = &bp__cl_reduce,
    [BP_OP_LAYER_NORM] = &bp__cl_layer_norm,
    [BP_OP_RANDOM] = &bp__cl_random,
    [BP_OP_PAD] = &bp__cl_pad,
    [BP_OP_FLIP] = &bp__cl_pad,
    [BP_OP_ROLL] = &bp__cl_pad,
};

static const bp__cl_family *family_of(uint32_t op) {
    return op < sizeof families / sizeof families[0] ? families[op] : NULL;
}

void bp__cl_refuse(bp_offers *offers, bp_reason reason, const char *text) {
    bp_verdict verdict = BP_VERDICT_INIT;
    verdict.reason = reason;
    snprintf(verdict.text, sizeof verdict.text, "%s", text);
    offers->add(offers, &verdict, NULL, 0);
}

static bp_status open_provider(const bp_host *host, const bp_library_info *library, void **instance) {
    (void)library;
    *instance = (void *)(uintptr_t)host;
    return BP_OK;
}

static void close_provider(void *instance) {
    (void)instance;
}

static void accept_problem(void *instance, const bp_problem *problem, bp_offers *offers) {
    const bp_host *host = instance;
    const bp_device_info *device = host->device(problem->place);
    const bp__cl_family *family = family_of(problem->op);
    if (!device) {
        bp__cl_refuse(offers, BP_REASON_DEVICE, "there is no such device");
    } else if (!(device->can & BP_DEVICE_CAN_COMPILE)) {
        bp__cl_refuse(offers, BP_REASON_DEVICE, "the device's driver has no compiler for kernels");
    } else if (!family) {
        bp__cl_refuse(offers, BP_REASON_OP, "there is no kernel for this operation");
    } else {
        family->accept(host, device, problem, offers);
    }
}

static bp_status plan_problem(void *instance, const bp_problem *problem, const bp_verdict *verdict, const void *found,
                              bp_prepared **prepared) {
    const bp_host *host = instance;
    const bp__cl_family *family = family_of(problem->op);
    void *device;
    bp_status status = host->device_open(problem->place, &device);
    if (status != BP_OK) {
        return status;
    }
    return family ? family->plan(device, problem, verdict, found, prepared)
                  : host->fail(BP_E_INTERNAL, "opencl: a plan was requested that was not offered");
}

BP_PROVIDER_DEFINE(opencl) = {
    .abi = BP_PROVIDER_ABI,
    .struct_size = sizeof(bp_provider),
    .name = "opencl",
    .version = BP_VERSION_STRING,
    .description = "Operations on OpenCL devices, with kernels that are compiled for each device",
    .open = open_provider,
    .close = close_provider,
    .accept = accept_problem,
    .plan = plan_problem,
    .runtimes = "opencl",
};
