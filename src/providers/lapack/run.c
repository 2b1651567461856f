/* run.c - runs a plan: sets the library's threads once, then computes the batch item by item, last dimension fastest.
 * Or threads of our thread pool take chunks of items, each with its own scratch memory and the library on one thread.
 * An item then has the same result bit for bit on any thread. */
#include "providers/lapack/lapack.h"
#include "providers/batch/batch.h"

#include <inttypes.h>
#include <stdatomic.h>

static int64_t size_of(const bp__lapack_plan *plan, uint32_t dtype) {
    return dtype == (uint32_t)plan->dtype                          ? (int64_t)plan->size
           : dtype == BP_I32 || dtype == BP_F32                    ? 4
           : dtype == BP_I64 || dtype == BP_F64 || dtype == BP_C64 ? 8
                                                                   : 16;
}

static void place_item(const bp__lapack_plan *plan, const bp__batch_position *at, void *const *operands, bool first,
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

/* Applies the rules of bp_linalg_problem to the result of an item. */
static bp_status conclude(const bp__lapack_plan *plan, const bp__lapack_item *item, int64_t info,
                          const bp__driver_illegal *illegal) {
    const bp_host *host = plan->driver->host;
    if (illegal->argument != 0) {
        return bp__driver_fail_illegal(plan->driver, illegal);
    }
    if (info == BP__LAPACK_NON_FINITE) {
        bp__lapack_fill_nan(plan, item);
        info = BP_INFO_NON_FINITE;
    } else if (info < 0) {
        return host->fail(BP_E_INTERNAL, "library '%s' reports argument %" PRId64 " as illegal in one of %s",
                          plan->driver->library->id, -info, plan->operation->algorithm);
    }
    if (plan->info_operand >= 0 && item->operand[plan->info_operand]) {
        *(int32_t *)item->operand[plan->info_operand] = (int32_t)info;
    }
    return info != 0 && plan->problem.of.linalg.fail_on_item_error
               ? host->fail_numeric(&plan->problem, item->number, info)
               : BP_OK;
}

/* Items of the batch in order. run_items advances `first`, up to the first item that fails. */
typedef struct range {
    int64_t first, end;
} range;

bool bp__lapack_stops(const bp__lapack_plan *plan, const bp__lapack_item *item) {
    bp__lapack_worker *worker = item->worker;
    if (atomic_load_explicit(worker->stopped, memory_order_relaxed)) {
        return true;
    }
    if (!bp__driver_stops(plan->driver, worker->setup, (bp_op)plan->problem.op, worker->since, &worker->before)) {
        return false;
    }
    atomic_store_explicit(worker->stopped, true, memory_order_relaxed);
    return true;
}

static bp_status run_items(const bp__lapack_plan *plan, void *const *operands, char *scratch, bp__lapack_worker *worker,
                           range *items) {
    const bp_linalg_problem *l = &plan->problem.of.linalg;
    bp__lapack_item item = {.worker = worker, .scratch = scratch};
    const int64_t *strides[BP_LINALG_OPERANDS];
    for (int i = 0; i < BP_LINALG_OPERANDS; i++) {
        strides[i] = l->operand[i].batch;
    }
    bp__batch_position at = {0};
    bp__batch_seek(&at, l->batch_ndim, l->batch_shape, BP_LINALG_OPERANDS, strides, items->first);
    bool clean = false; /* data that the previous item left in scratch is valid */
    bp__driver_illegal illegal = {0};
    bp_status status = BP_OK;
    bp__driver_capture_xerbla(&illegal);
    for (; items->first < items->end; items->first++) {
        int64_t info = 0;
        item.number = items->first;
        place_item(plan, &at, operands, !clean, &item);
        status = bp__lapack_stops(plan, &item) ? BP_E_CANCELLED : plan->operation->run(plan, &item, &info);
        status = status == BP_OK ? conclude(plan, &item, info, &illegal) : status;
        if (status != BP_OK) {
            break;
        }
        clean = info == 0;
        bp__batch_next(&at, l->batch_ndim, l->batch_shape, BP_LINALG_OPERANDS, strides);
    }
    bp__driver_capture_xerbla(NULL);
    return status;
}

/* ---- Calls ---- */

/* State of one call. Members that threads share are unused on one thread. */
typedef struct shared {
    const bp__lapack_plan *plan;
    bp__thread_setup setup;
    void *const *operands;
    char *scratch; /* of all threads, one after the other */
    int64_t since; /* bp__lapack_worker.since; the next member is its `stopped` */
    atomic_bool stopped;
    int64_t chunk;           /* items that a thread takes at a time */
    _Atomic int64_t next;    /* the first item that no thread has taken */
    _Atomic int64_t failing; /* the first item that has failed so far */
} shared;

static void lower_to(_Atomic int64_t *least, int64_t value) {
    int64_t seen = atomic_load_explicit(least, memory_order_relaxed);
    while (value < seen && !atomic_compare_exchange_weak(least, &seen, value)) {
    }
}

static bp__lapack_worker begin(shared *work) {
    return (bp__lapack_worker){.stopped = &work->stopped,
                               .since = &work->since,
                               .setup = &work->setup,
                               .before = bp__driver_begin(work->plan->driver, &work->setup)};
}

/* Computes chunks until none is left. All items before the first failing one are computed, so the reported item is the
 * first of the batch. */
static void compute_chunks(void *context, int task) {
    shared *work = context;
    const bp__lapack_plan *plan = work->plan;
    const int64_t batch = plan->problem.of.linalg.batch;
    char *scratch = plan->scratch > 0 ? work->scratch + (size_t)task * plan->scratch : NULL;
    bp__lapack_worker worker = begin(work);
    while (!atomic_load_explicit(&work->stopped, memory_order_relaxed)) {
        range items = {.first = atomic_fetch_add_explicit(&work->next, work->chunk, memory_order_relaxed)};
        if (items.first >= batch || items.first > atomic_load(&work->failing)) {
            break;
        }
        items.end = items.first + work->chunk < batch ? items.first + work->chunk : batch;
        bp_status status = run_items(plan, work->operands, scratch, &worker, &items);
        if (status != BP_OK && status != BP_E_CANCELLED) {
            lower_to(&work->failing, items.first);
        }
    }
    bp__driver_end(plan->driver, &work->setup, worker.before);
}

/* Computes a range of items in the caller's thread. */
static bp_status run_range(shared *work, range items) {
    const bp__lapack_plan *plan = work->plan;
    bp__lapack_worker worker = begin(work);
    bp_status status = run_items(plan, work->operands, work->scratch, &worker, &items);
    bp__driver_end(plan->driver, &work->setup, worker.before);
    return status;
}

/* Computes a failing item again in the caller's thread, because the error message belongs to that thread. */
static bp_status report_failure(shared *work, int64_t item) {
    const bp__lapack_plan *plan = work->plan;
    bp_status status = run_range(work, (range){item, item + 1});
    return status != BP_OK ? status
                           : plan->driver->host->fail(BP_E_INTERNAL,
                                                      "library '%s' failed on batch element %" PRId64
                                                      " in the batch, but not when it was computed again alone",
                                                      plan->driver->library->id, item);
}

static bp_status run_shared(shared *work) {
    const bp__lapack_plan *plan = work->plan;
    work->chunk = plan->problem.of.linalg.batch / (16 * (int64_t)plan->sharers) + 1;
    atomic_store(&work->failing, INT64_MAX);
    plan->driver->host->parallel(plan->sharers, plan->sharers, compute_chunks, work);
    if (atomic_load(&work->stopped)) {
        return BP_E_CANCELLED;
    }
    const int64_t failing = atomic_load(&work->failing);
    return failing < INT64_MAX ? report_failure(work, failing) : BP_OK;
}

bp_status bp__lapack_enqueue(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec) {
    const bp__lapack_plan *plan = (const bp__lapack_plan *)self;
    void *at[BP_LINALG_OPERANDS];
    shared work = {
        .plan = plan, .operands = at, .scratch = plan->scratch > 0 ? bp_operand_address(&exec->workspace) : NULL};
    bp_status status = bp__driver_admit(plan->driver, &plan->setup, &work.setup);
    if (status != BP_OK) {
        return status;
    }
    bp_linalg_addresses(&plan->problem.of.linalg, operands, at);
    if (plan->problem.op == BP_OP_LU_SOLVE || plan->problem.op == BP_OP_LDL_SOLVE) {
        status = bp__batch_check_pivots(plan->driver->host, &plan->problem, at);
        if (status != BP_OK) {
            return status;
        }
    }
    return plan->sharers > 1 ? run_shared(&work) : run_range(&work, (range){0, plan->problem.of.linalg.batch});
}
