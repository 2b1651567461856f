/* load.c - describes cuFFT: its functions and statuses, and what each device has. */
#include "providers/cufft/cufft.h"

enum { LEAST_MAJOR = 11, MOST_MAJOR = 12 };

static const bp__cu_status statuses[] = {
#define X(name, number, means) {number, "CUFFT_" #name, means},
    BP__CUFFT_STATUSES(X)
#undef X
        {0, NULL, BP_OK}};

#define X(name, symbol, parameters) {#symbol, offsetof(bp__cufft_instance, api.name)},
static const bp__cu_function functions[] = {BP__CUFFT_FUNCTIONS(X){NULL, 0}};
#undef X

/* A driver that loads no kernels runs the transforms that need none. */
static bp_status begin(bp__cu_vendor *instance, bp__cu_part *part) {
    (void)instance;
    bp__cufft_kernels_load(&((bp__cufft_device *)part)->kernels);
    return BP_OK;
}

static void end(bp__cu_vendor *instance, bp__cu_part *part) {
    bp__cufft_device *gone = (bp__cufft_device *)part;
    (void)instance;
    while (gone->captured) {
        bp__cufft_prepared *plan = gone->captured;
        gone->captured = plan->next;
        bp__cufft_plan_free(plan);
    }
    if (gone->kernels.module) {
        bp__cu.ModuleUnload(gone->kernels.module);
    }
}

static const bp__cu_vendor_kind kind = {"cufft",  "a library of CUDA 12 or 13", LEAST_MAJOR, MOST_MAJOR, functions,
                                        statuses, sizeof(bp__cufft_device),     begin,       end};

bp_status bp__cufft_open(const bp_host *host, const bp_library_info *library, void **opened) {
    return bp__cu_vendor_open(&kind, sizeof(bp__cufft_instance), host, library, opened);
}
