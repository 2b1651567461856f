/* plan.c - makes plans. A plan holds its kernel, so that a run needs no lookup. */
#include "providers/xsmm/xsmm.h"

/* Destroys a plan. Its kernel stays in libxsmm's table. */
static void destroy_plan(bp_prepared *prepared) {
    bp__xsmm_plan *plan = (bp__xsmm_plan *)prepared;
    plan->driver->host->release(plan);
}

bp_status bp__xsmm_plan_make(void *opaque, const bp_problem *problem, const bp_verdict *verdict, const void *found,
                             bp_prepared **prepared) {
    bp__driver *driver = opaque;
    const bp_host *host = driver->host;
    const bp__xsmm_judgement *judgement = found;
    (void)problem, (void)verdict;
    bp__xsmm_plan *plan = host->allocate(sizeof *plan);
    if (!plan) {
        return host->fail(BP_E_NO_MEMORY, "no memory for a plan of the xsmm provider");
    }
    *plan = (bp__xsmm_plan){.prepared = {.struct_size = sizeof plan->prepared, .destroy = destroy_plan},
                            .swap = judgement->route.swap,
                            .wide = host->hardware == BP_CAPABILITY_AVX2 || host->hardware == BP_CAPABILITY_AVX512,
                            .driver = driver,
                            .sharers = judgement->sharers,
                            .route = judgement->route};
    plan->prepared.enqueue = plan->route.batch.count > 1 ? bp__xsmm_run_batch : bp__xsmm_run_single;
    bp_status status = bp__xsmm_kernel_of(driver, &plan->route, &plan->kernel);
    if (status != BP_OK) {
        host->release(plan);
        return status;
    }
    *prepared = &plan->prepared;
    return BP_OK;
}
