/* provider.c - defines the opencl provider: operations on OpenCL devices, with kernels of its own. */
#include "providers/opencl/opencl.h"

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
    const bp_device_info *facts = host->device(problem->place);
    if (!facts) {
        bp__kernel_refuse(offers, BP_REASON_DEVICE, "there is no such device");
    } else if (!(facts->can & BP_DEVICE_CAN_COMPILE)) {
        bp__kernel_refuse(offers, BP_REASON_DEVICE, "the device's driver has no compiler for kernels");
    } else {
        bp__kernel_accept(host, facts, problem, offers);
    }
}

static bp_status plan_problem(void *instance, const bp_problem *problem, const bp_verdict *verdict, const void *found,
                              bp_prepared **prepared) {
    const bp_host *host = instance;
    void *device;
    const bp_status status = host->device_open(problem->place, &device);
    return status == BP_OK
               ? bp__kernel_plan_problem(&((bp__cl_device *)device)->kernels, problem, verdict, found, prepared)
               : status;
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
