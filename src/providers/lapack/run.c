/* run.c - runs a plan: the threads are settled once, then the batch is walked item by item, last dimension fastest. */
#include "providers/lapack/lapack.h"

#include <inttypes.h>

typedef struct walk {
    int64_t index[BP_MAX_BATCH_NDIM];
    int64_t offset[BP_LINALG_OPERANDS]; /* in elements */
} walk;

static void next(const bp_linalg_problem *l, walk *at) {
    for (int d = l->batch_ndim - 1; d >= 0; d--) {
        bool goes_on = ++at->index[d] < l->batch_shape[d];
        at->index[d] = goes_on ? at->index[d] : 0;
        for (int i = 0; i < BP_LINALG_OPERANDS; i++) {
            at->offset[i] += l->operand[i].batch[d] * (goes_on ? 1 : 1 - l->batch_shape[d]);
        }
        if (goes_on) {
            return;
        }
    }
}

static int64_t size_of(const bp__lapack_plan *plan, uint32_t dtype) {
    return dtype == (uint32_t)plan->dtype                          ? (int64_t)plan->size
           : dtype == BP_I32 || dtype == BP_F32                    ? 4
           : dtype == BP_I64 || dtype == BP_F64 || dtype == BP_C64 ? 8
                                                                   : 16;
}

static void place_item(const bp__lapack_plan *plan, const walk *at, void *const *operands, bool first,
                       bp__lapack_item *item) {
    const bp_linalg_problem *l = &plan->problem.of.linalg;
    for (int i = 0; i < BP_LINALG_OPERANDS; i++) {
        const bp_linalg_operand *x = &l->operand[i];
        char *old = item->operand[i];
        item->operand[i] =
            x->dtype && operands[i] ? (char *)operands[i] + at->offset[i] * size_of(plan, x->dtype) : NULL;
        item->again[i] = !first && item->operand[i] == old;
    }
}

/* What the contract of bp_linalg_problem says about the outcome of an item. */
static bp_status conclude(const bp__lapack_plan *plan, const bp__lapack_item *item, int64_t info,
                          const bp__driver_illegal *heard) {
    const bp_host *host = plan->driver->host;
    if (heard->argument != 0) {
        return bp__driver_fail_illegal(plan->driver, heard);
    }
    if (info == BP__LAPACK_NON_FINITE) {
        bp__lapack_spoil(plan, item);
        info = BP_INFO_NON_FINITE;
    } else if (info < 0) {
        return host->fail(BP_E_INTERNAL, "library '%s' found argument %" PRId64 " illegal in one of %s",
                          plan->driver->library->id, -info, plan->recipe->algorithm);
    }
    if (plan->info_operand >= 0 && item->operand[plan->info_operand]) {
        *(int32_t *)item->operand[plan->info_operand] = (int32_t)info;
    }
    return info != 0 && plan->problem.of.linalg.check ? host->fail_numeric(&plan->problem, item->number, info) : BP_OK;
}

static bp_status run_items(const bp__lapack_plan *plan, void *const *operands, char *scratch,
                           const bp__driver_illegal *heard) {
    const bp_linalg_problem *l = &plan->problem.of.linalg;
    bp__lapack_item item = {.scratch = scratch};
    walk at = {0};
    bool clean = false; /* what the item before left in scratch may be used again */
    for (int64_t i = 0; i < l->batch; i++, next(l, &at)) {
        int64_t info = 0;
        item.number = i;
        place_item(plan, &at, operands, !clean, &item);
        bp_status status = plan->recipe->run(plan, &item, &info);
        status = status == BP_OK ? conclude(plan, &item, info, heard) : status;
        if (status != BP_OK) {
            return status;
        }
        clean = info == 0;
    }
    return BP_OK;
}

bp_status bp__lapack_enqueue(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec) {
    const bp__lapack_plan *plan = (const bp__lapack_plan *)self;
    bp__driver *driver = plan->driver;
    void *at[BP_LINALG_OPERANDS];
    if (bp__driver_forked(driver)) {
        return bp__driver_fail_forked(driver);
    }
    for (int i = 0; i < BP_LINALG_OPERANDS; i++) {
        at[i] = bp_operand_address(&operands[i]);
    }
    int before = bp__driver_begin(driver, &plan->settling);
    bp__driver_illegal heard = {0};
    bp__driver_listen(&heard);
    bp_status status = run_items(plan, at, bp_operand_address(&exec->workspace), &heard);
    bp__driver_listen(NULL);
    bp__driver_end(driver, &plan->settling, before);
    return status;
}
