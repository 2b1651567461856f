/* provider.c - the mkl provider: Fourier transforms on Intel's MKL, whose matrix products are the blas provider's. */
#include "providers/mkl/mkl.h"

static bp_status open_instance(const bp_host *host, const bp_library_info *library, void **instance) {
    bp__driver *driver = NULL;
    bp_status status = bp__driver_open(host, library, &driver);
    *instance = driver;
    return status;
}

static void close_instance(void *instance) {
    bp__driver_close(instance);
}

static void accept(void *instance, const bp_problem *problem, bp_verdict *verdict) {
    bp__mkl_judgement judgement;
    bp__mkl_judge(instance, problem, &judgement, verdict);
}

BP_PROVIDER_DEFINE(mkl) = {
    .abi = BP_PROVIDER_ABI,
    .struct_size = sizeof(bp_provider),
    .name = "mkl",
    .version = BP_VERSION_STRING,
    .description = "Fourier transforms on MKL",
    .library_kinds = BP_LIB_FFT,
    .open = open_instance,
    .close = close_instance,
    .accept = accept,
    .plan = bp__mkl_plan_make,
    .threads = bp__driver_threads,
    .families = "mkl",
};
