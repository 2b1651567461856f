/* run.c - enqueues the steps of a run, and reports items that have failed when the run has ended.
 *
 * A handle has a stream, which each run sets, and plans have a workspace of the host. So runs on one device take a
 * lock. The report of a run is two words in its workspace: a copy of them is examined when the run has ended, because
 * nothing is known of the items before. */
#include "providers/cusolver/cusolver.h"

#include <inttypes.h>
#include <string.h>

typedef struct run_of {
    const bp_operand *operands;
    uint64_t workspace;
    CUstream stream;
    uint64_t *report; /* memory of the host; NULL: the run is not examined */
} run_of;

/* ---- Reports ---- */

enum { FAILED_ITEM, WRONG_PIVOT };

typedef struct report {
    bp__cu_device *device;
    uint64_t *words;
    bp_problem problem;
} report;

static bp_status fail_pivot(const bp_problem *problem, uint64_t found) {
    const int64_t n = problem->of.linalg.n, number = (int64_t)(found >> 32);
    return bp__cu_host->fail(BP_E_ARGUMENT,
                             "linalg.lu_solve: pivots: element %" PRId64 " of batch element %" PRId64 " is %" PRId32
                             "; it must be a row number from 1 to %" PRId64,
                             number % n, number / n, (int32_t)(uint32_t)found, n);
}

/* Examines the report of a run that has ended. Memory that a command may still write is not used again. */
static bp_status examine(void *opaque, int ended) {
    report *r = opaque;
    bp_status status = BP_OK;
    if (ended) {
        const uint64_t item = r->words[FAILED_ITEM], pivot = r->words[WRONG_PIVOT];
        bp__cu_words_give(r->device, r->words);
        status = pivot != UINT64_MAX ? fail_pivot(&r->problem, pivot)
                 : item != UINT64_MAX
                     ? bp__cu_host->fail_numeric(&r->problem, (int64_t)(item >> 32), (int32_t)(uint32_t)item)
                     : BP_OK;
    }
    bp__cu_host->release(r);
    return status;
}

static bp_status new_report(const bp__cusolver_prepared *plan, report **made) {
    report *r = bp__cu_vendor_plan(&plan->instance->vendor, sizeof *r);
    if (!r) {
        return BP_E_NO_MEMORY;
    }
    r->device = plan->on->part.device;
    r->problem = plan->problem;
    const bp_status status = bp__cu_words_take(r->device, &r->words);
    if (status != BP_OK) {
        bp__cu_host->release(r);
        return status;
    }
    *made = r;
    return BP_OK;
}

/* ---- Steps ---- */

static bp_status fail_driver(const bp__cusolver_prepared *plan, CUresult code, const char *what) {
    return code == BP__CU_SUCCESS ? BP_OK : bp__cu_fail(plan->instance->vendor.host, code, what);
}

static bp_status begin_run(const bp__cusolver_prepared *plan, const run_of *run) {
    CUresult code = BP__CU_SUCCESS;
    if (plan->zeroed > 0) {
        code = bp__cu.MemsetD8Async(run->workspace + plan->info_at, 0, (size_t)plan->zeroed, run->stream);
    }
    if (code == BP__CU_SUCCESS && run->report) {
        code = bp__cu.MemsetD8Async(run->workspace + plan->report_at, 0xff, BP__CUSOLVER_REPORT_BYTES, run->stream);
    }
    return fail_driver(plan, code, "cuMemsetD8Async");
}

/* Returns the address of a buffer, of the infos if the step has none, and of an operand, 0 if it has none. */
static uint64_t buffer_of(const bp__cusolver_prepared *plan, const run_of *run, int buffer) {
    return run->workspace + (buffer >= 0 ? plan->route.buffers[buffer].at : plan->info_at);
}

static uint64_t operand_of(const run_of *run, int operand) {
    return operand >= 0 ? bp__cu_address(&run->operands[operand]) : 0;
}

static bp_status run_kernel(const bp__cusolver_prepared *plan, const run_of *run, const bp__cusolver_step *step) {
    const bool in = step->number < BP__CUSOLVER_STORE || step->number == BP__CUSOLVER_PIVOTS_IN;
    const bool finds = step->number >= BP__CUSOLVER_FIND_ZERO && step->number < BP__CUSOLVER_DET; /* infos */
    const uint64_t buffer = buffer_of(plan, run, step->buffer), operand = operand_of(run, step->operand);
    bp__cusolver_walk walk = step->walk;
    walk.dst = in ? buffer : finds ? run->workspace + plan->info_at : operand;
    walk.src = in ? operand : buffer;
    if (step->number == BP__CUSOLVER_PIVOTS_REPAIR) {
        walk.dst = buffer;
    }
    if (step->number >= BP__CUSOLVER_DET) { /* further buffers: pivots and logarithms */
        walk.first = (int64_t)buffer_of(plan, run, step->buffers[2]);
        walk.last = (int64_t)buffer_of(plan, run, step->buffers[3]);
    }
    walk.flags = run->workspace + plan->flags_at;
    walk.report = step->number >= BP__CUSOLVER_DET ? run->workspace + plan->info_at
                  : run->report                    ? run->workspace + plan->report_at
                                                   : 0;
    return fail_driver(plan, bp__cusolver_launch(&plan->on->kernels, step->number, &walk, run->stream),
                       "a kernel of linear algebra");
}

static bp_status run_calls(const bp__cusolver_prepared *plan, const run_of *run, const bp__cusolver_step *step) {
    const bp__cusolver_buffer *buffers = plan->route.buffers;
    cusolverStatus_t status = BP__CUSOLVER_STATUS_SUCCESS;
    for (int64_t i = 0; i < plan->problem.of.linalg.batch && status == BP__CUSOLVER_STATUS_SUCCESS; i++) {
        bp__cusolver_item item = {.work = run->workspace + plan->work_at};
        for (int k = 0; k < BP__CUSOLVER_MATRICES; k++) {
            item.matrix[k] = buffer_of(plan, run, step->buffers[k]) + (uint64_t)i * buffers[step->buffers[k]].item;
        }
        item.info = (int *)(uintptr_t)(run->workspace + plan->info_at + (uint64_t)i * sizeof(int32_t));
        item.other_info = (int *)(uintptr_t)(run->workspace + plan->other_info_at);
        status = bp__cusolver_call(plan, step, &item);
    }
    return status == BP__CUSOLVER_STATUS_SUCCESS
               ? BP_OK
               : bp__cu_vendor_fail(&plan->instance->vendor, plan->on->part.device, status,
                                    bp__cusolver_name_of((bp__cusolver_routine)step->number));
}

static bp_status run_steps(const bp__cusolver_prepared *plan, const run_of *run) {
    const cusolverStatus_t set = plan->instance->api.SetStream(plan->on->handle, run->stream);
    if (set != BP__CUSOLVER_STATUS_SUCCESS) {
        return bp__cu_vendor_fail(&plan->instance->vendor, plan->on->part.device, set, "cusolverDnSetStream");
    }
    bp_status status = BP_OK;
    for (int i = 0; i < plan->route.step_count && status == BP_OK; i++) {
        const bp__cusolver_step *step = &plan->route.steps[i];
        status = step->is_call ? run_calls(plan, run, step) : run_kernel(plan, run, step);
    }
    return status;
}

/* ---- Runs ---- */

/* A graph runs the commands without the plan, and again, and a queue that is captured cannot be waited for. */
static bp_status refuse_capture(const bp__cusolver_prepared *plan, const run_of *run) {
    CUstreamCaptureStatus status = BP__CU_STREAM_CAPTURE_STATUS_NONE;
    if ((plan->host_work_size == 0 && !plan->route.waits) ||
        (bp__cu.StreamIsCapturing(run->stream, &status) == BP__CU_SUCCESS &&
         status == BP__CU_STREAM_CAPTURE_STATUS_NONE)) {
        return BP_OK;
    }
    return plan->instance->vendor.host->fail(BP_E_UNSUPPORTED,
                                             "cusolver: cuSOLVER %s for this operation, so that it cannot be captured",
                                             plan->route.waits ? "waits for the device" : "needs memory of the host");
}

static bp_status run_all(const void *opaque, void *given, const bp__cu_queue *queue) {
    const bp__cusolver_prepared *plan = opaque;
    run_of *run = given;
    run->stream = queue->native;
    bp_status status = refuse_capture(plan, run);
    status = status == BP_OK ? begin_run(plan, run) : status;
    if (status == BP_OK) {
        pthread_mutex_lock(&plan->on->mutex);
        status = run_steps(plan, run);
        pthread_mutex_unlock(&plan->on->mutex);
    }
    if (status == BP_OK && run->report) {
        const CUresult code = bp__cu.MemcpyDtoHAsync(run->report, run->workspace + plan->report_at,
                                                     BP__CUSOLVER_REPORT_BYTES, run->stream);
        status = fail_driver(plan, code, "the copy of a report");
    }
    return status;
}

bp_status bp__cusolver_enqueue(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec) {
    const bp__cusolver_prepared *plan = (const bp__cusolver_prepared *)self;
    const bp_host *host = plan->instance->vendor.host;
    run_of run = {.operands = operands, .workspace = bp__cu_address(&exec->workspace)};
    report *r = NULL;
    if (!plan->route.reports) {
        return bp__cu_vendor_enqueue(host, exec, run_all, plan, &run);
    }
    const bp_status status = new_report(plan, &r);
    if (status != BP_OK) {
        return status;
    }
    run.report = r->words;
    return bp__cu_vendor_enqueue_checked(host, exec, run_all, plan, &run, examine, r);
}
