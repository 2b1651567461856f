/* provider.c - defines the nvrtc provider: operations on CUDA devices, with the kernels of providers/kernels. */
#include "providers/nvrtc/nvrtc.h"

enum { LEAST_MAJOR = 12, MOST_MAJOR = 13, LEAST_CAPABILITY = 500 };

static const bp__cu_status statuses[] = {
#define X(name, number, means) {number, "NVRTC_" #name, means},
    BP__NVRTC_STATUSES(X)
#undef X
        {0, NULL, BP_OK}};

#define X(name, symbol, parameters) {#symbol, offsetof(bp__nvrtc_instance, api.name)},
static const bp__cu_function functions[] = {BP__NVRTC_FUNCTIONS(X){NULL, 0}};
#undef X

/* ---- What each device has ---- */

static bp_status begin(bp__cu_vendor *instance, bp__cu_part *part) {
    bp__nvrtc_device *fresh = (bp__nvrtc_device *)part;
    fresh->instance = (bp__nvrtc_instance *)instance;
    const bp_device_info *facts = &part->device->facts;
    const bp_status status =
        bp__nvrtc_find_target(fresh->instance, facts->capability, fresh->target, sizeof fresh->target);
    if (status == BP_OK) {
        bp__kernel_device_begin(&fresh->kernels, &bp__nvrtc_backend, instance->host, facts);
    }
    return status;
}

static void end(bp__cu_vendor *instance, bp__cu_part *part) {
    bp__nvrtc_device *gone = (bp__nvrtc_device *)part;
    bp__kernel_device_end(&gone->kernels);
    for (int i = 0; i < gone->captured_count; i++) {
        bp__cu.MemFree((CUdeviceptr)(uintptr_t)gone->captured[i]);
    }
    instance->host->release(gone->captured);
    if (gone->copied) {
        bp__cu.EventDestroy(gone->copied);
    }
    if (gone->stream) {
        bp__cu.StreamDestroy(gone->stream);
    }
}

static const bp__cu_vendor_kind kind = {"nvrtc",  "a library of CUDA 12 or 13", LEAST_MAJOR, MOST_MAJOR, functions,
                                        statuses, sizeof(bp__nvrtc_device),     begin,       end};

bp_status bp__nvrtc_open(const bp_host *host, const bp_library_info *library, void **opened) {
    return bp__cu_vendor_open(&kind, sizeof(bp__nvrtc_instance), host, library, opened);
}

/* ---- Candidates ---- */

/* Kernels of products rank behind cuBLASLt and cuBLAS: by a little, because these have kernels of the vendor's, or far
 * behind both if cuda.preferred_blas_library names one of them. */
#define BEHIND_NS 2000.0
#define NOT_PREFERRED_NS 2e9

static double ns_behind(const bp_problem *problem) {
    const bp_products_library wanted = bp_policy_products_library(&problem->policy);
    const bool is_product = problem->op == BP_OP_GEMM || problem->op == BP_OP_CONV || problem->op == BP_OP_CONV_INPUT;
    return !is_product                                                            ? 0
           : wanted == BP_PRODUCTS_BY_CUBLAS || wanted == BP_PRODUCTS_BY_CUBLASLT ? NOT_PREFERRED_NS
                                                                                  : BEHIND_NS;
}

typedef struct ranked_offers {
    bp_offers base; /* must be first */
    bp_offers *all;
    double behind_ns;
} ranked_offers;

static void add_ranked(bp_offers *self, const bp_verdict *verdict, const void *found, size_t size) {
    const ranked_offers *ranked = (const ranked_offers *)self;
    bp_verdict own = *verdict;
    own.cost_ns += own.reason == BP_REASON_ACCEPTED ? ranked->behind_ns : 0;
    ranked->all->add(ranked->all, &own, found, size);
}

/* ---- The provider ---- */

static void accept_problem(void *opaque, const bp_problem *problem, bp_offers *offers) {
    const bp__nvrtc_instance *instance = opaque;
    const bp_host *host = instance->vendor.host;
    const bp_device_info *facts = host->device(problem->place);
    bp_verdict verdict = BP_VERDICT_INIT;
    if (!bp__cu_vendor_has_version(&instance->vendor, &verdict)) {
        offers->add(offers, &verdict, NULL, 0);
    } else if (!facts) {
        bp__kernel_refuse(offers, BP_REASON_DEVICE, "there is no such device");
    } else if (facts->capability < LEAST_CAPABILITY) {
        bp__kernel_refuse(offers, BP_REASON_DEVICE, "devices of capability 5.0 and later are supported");
    } else {
        ranked_offers ranked = {.base = {add_ranked}, .all = offers, .behind_ns = ns_behind(problem)};
        bp__kernel_accept(host, facts, problem, &ranked.base);
    }
}

static bp_status plan_problem(void *opaque, const bp_problem *problem, const bp_verdict *verdict, const void *found,
                              bp_prepared **prepared) {
    bp__nvrtc_instance *instance = opaque;
    bp__cu_part *on = NULL;
    void *device = NULL;
    bp_status status = instance->vendor.host->device_open(problem->place, &device);
    status = status == BP_OK ? bp__cu_vendor_part(&instance->vendor, device, &on) : status;
    return status == BP_OK
               ? bp__kernel_plan_problem(&((bp__nvrtc_device *)on)->kernels, problem, verdict, found, prepared)
               : status;
}

BP_PROVIDER_DEFINE(nvrtc) = {
    .abi = BP_PROVIDER_ABI,
    .struct_size = sizeof(bp_provider),
    .name = "nvrtc",
    .version = BP_VERSION_STRING,
    .description = "Operations on CUDA devices, with kernels that NVRTC compiles for each device",
    .library_kinds = BP_LIB_GPU,
    .open = bp__nvrtc_open,
    .close = bp__cu_vendor_close,
    .accept = accept_problem,
    .plan = plan_problem,
    .families = "nvrtc",
    .runtimes = "cuda",
};
