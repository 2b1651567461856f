/* run.c - enqueues the steps and walks of a run.
 *
 * A plan of cuFFT has a stream and a workspace, which each run sets. So runs of one plan take a lock. cuFFT needs
 * addresses that are aligned to complex elements, also of real ones. Operands that are not are copied to blocks of the
 * stream, which are allocated for the run. */
#include "providers/cufft/cufft.h"

/* The addresses of a run. */
typedef struct run_of {
    const bp_operand *operands;
    uint64_t workspace;
    uint64_t array[BP__CUFFT_SIDES];
    CUdeviceptr block[BP__CUFFT_SIDES]; /* 0: none was allocated */
    CUstream stream;
} run_of;

static bp_status fail_driver(const bp__cufft_prepared *plan, CUresult code, const char *what) {
    return code == BP__CU_SUCCESS ? BP_OK : bp__cu_fail(plan->instance->vendor.host, code, what);
}

/* ---- Arrays ---- */

/* Returns the bytes of a complex element. */
static uint64_t alignment_of(const bp__cufft_route *route) {
    const bp__cufft_element element = route->element[BP__CUFFT_SOURCE];
    return element == BP__CUFFT_F32 || element == BP__CUFFT_C64 ? 8 : 16;
}

static bp_status allocate_array(const bp__cufft_prepared *plan, run_of *run, int side, const bp__cu_queue *queue) {
    if (!bp__cu_may_allocate(queue) || !plan->on->kernels.module) {
        return plan->instance->vendor.host->fail(
            BP_E_UNSUPPORTED,
            "cufft: the address of the %s is no multiple of %d; while a queue is captured, and on drivers that load no "
            "kernels or have no memory pools, cuFFT needs such addresses",
            side == BP__CUFFT_SOURCE ? "input" : "output", (int)alignment_of(&plan->route));
    }
    const CUresult code = bp__cu.MemAllocAsync(&run->block[side], (size_t)plan->route.bytes[side], run->stream);
    run->array[side] = run->block[side];
    return fail_driver(plan, code, "cuMemAllocAsync");
}

/* Sets the addresses of the arrays. */
static bp_status find_arrays(const bp__cufft_prepared *plan, run_of *run, const bp__cu_queue *queue) {
    const bp__cufft_route *route = &plan->route;
    bp_status status = BP_OK;
    for (int side = 0; side < BP__CUFFT_SIDES && status == BP_OK; side++) {
        const uint64_t operand = bp__cu_address(&run->operands[side]);
        run->array[side] = route->buffered[side] ? run->workspace + plan->at[side] : operand;
        if (run->array[side] % alignment_of(route) != 0 && route->step_count > 0) {
            status = allocate_array(plan, run, side, queue);
        }
    }
    return status;
}

/* The blocks are freed behind the commands of the stream. */
static bp_status free_arrays(const bp__cufft_prepared *plan, const run_of *run) {
    CUresult code = BP__CU_SUCCESS;
    for (int side = 0; side < BP__CUFFT_SIDES; side++) {
        const CUresult freed = run->block[side] ? bp__cu.MemFreeAsync(run->block[side], run->stream) : BP__CU_SUCCESS;
        code = code ? code : freed;
    }
    return fail_driver(plan, code, "cuMemFreeAsync");
}

/* ---- Walks ---- */

static bp_status walk_before(const bp__cufft_prepared *plan, const run_of *run) {
    const bp__cufft_route *route = &plan->route;
    const uint64_t source = run->array[BP__CUFFT_SOURCE];
    CUresult code = BP__CU_SUCCESS;
    if (route->zeroed) {
        code = bp__cu.MemsetD8Async(source, 0, (size_t)route->bytes[BP__CUFFT_SOURCE], run->stream);
    }
    if (code == BP__CU_SUCCESS && route->before.count > 0 &&
        (route->buffered[BP__CUFFT_SOURCE] || run->block[BP__CUFFT_SOURCE])) {
        code = bp__cufft_walk_launch(&plan->on->kernels, route->element[BP__CUFFT_SOURCE], &route->before, source,
                                     bp__cu_address(&run->operands[0]), run->stream);
    }
    return fail_driver(plan, code, "a copy of the input");
}

static bp_status walk_after(const bp__cufft_prepared *plan, const run_of *run) {
    const bp__cufft_route *route = &plan->route;
    const bool needed = route->changed || route->buffered[BP__CUFFT_TARGET] || run->block[BP__CUFFT_TARGET];
    const uint64_t from = run->array[route->step_count > 0 ? BP__CUFFT_TARGET : BP__CUFFT_SOURCE];
    CUresult code = BP__CU_SUCCESS;
    for (int i = 0; i < route->after_count && needed && code == BP__CU_SUCCESS; i++) {
        code = bp__cufft_walk_launch(&plan->on->kernels, route->element[BP__CUFFT_TARGET], &route->after[i],
                                     bp__cu_address(&run->operands[1]), from, run->stream);
    }
    return fail_driver(plan, code, "a copy of the result");
}

/* ---- Steps ---- */

/* Returns how far item `number` of the outer dimensions lies behind the first one, in bytes. */
static int64_t offset_of(const bp__cufft_step *step, int end, int64_t number) {
    int64_t offset = 0;
    for (int i = step->outer_ndim - 1; i >= 0; i--) {
        offset += number % step->outer_size[i] * step->outer_bytes[end][i];
        number /= step->outer_size[i];
    }
    return offset;
}

static cufftResult run_step(const bp__cufft_prepared *plan, const run_of *run, int i) {
    const bp__cufft_api *api = &plan->instance->api;
    const bp__cufft_step *step = &plan->route.steps[i];
    cufftResult status = api->SetStream(plan->handles[i], run->stream);
    status = status ? status : api->SetWorkArea(plan->handles[i], (void *)(uintptr_t)(run->workspace + plan->work_at));
    for (int64_t call = 0; call < step->calls && status == BP__CUFFT_SUCCESS; call++) {
        const uint64_t from = run->array[step->side[0]] + (uint64_t)offset_of(step, 0, call);
        const uint64_t to = run->array[step->side[1]] + (uint64_t)offset_of(step, 1, call);
        status = api->Exec(plan->handles[i], (void *)(uintptr_t)from, (void *)(uintptr_t)to, plan->route.direction);
    }
    return status;
}

/* Notes that graphs have the plan, if the queue is being captured. */
static void note_capture(bp__cufft_prepared *plan, const run_of *run) {
    if (!atomic_load_explicit(&plan->captured, memory_order_relaxed) && bp__cu_may_be_captured(run->stream)) {
        atomic_store_explicit(&plan->captured, true, memory_order_release);
    }
}

static bp_status run_steps(bp__cufft_prepared *plan, const run_of *run) {
    cufftResult status = BP__CUFFT_SUCCESS;
    if (plan->route.step_count == 0) {
        return BP_OK;
    }
    note_capture(plan, run);
    pthread_mutex_lock(&plan->mutex);
    for (int i = 0; i < plan->route.step_count && status == BP__CUFFT_SUCCESS; i++) {
        status = run_step(plan, run, i);
    }
    pthread_mutex_unlock(&plan->mutex);
    return status == BP__CUFFT_SUCCESS
               ? BP_OK
               : bp__cu_vendor_fail(&plan->instance->vendor, plan->on->part.device, status, "cufftXtExec");
}

/* ---- Runs ---- */

static bp_status run_all(const void *opaque, void *given, const bp__cu_queue *queue) {
    bp__cufft_prepared *plan = (bp__cufft_prepared *)(uintptr_t)opaque;
    run_of *run = given;
    run->stream = queue->native;
    bp_status status = find_arrays(plan, run, queue);
    status = status == BP_OK ? walk_before(plan, run) : status;
    status = status == BP_OK ? run_steps(plan, run) : status;
    status = status == BP_OK ? walk_after(plan, run) : status;
    const bp_status freed = free_arrays(plan, run);
    return status == BP_OK ? freed : status;
}

bp_status bp__cufft_enqueue(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec) {
    const bp__cufft_prepared *plan = (const bp__cufft_prepared *)self;
    run_of run = {.operands = operands, .workspace = bp__cu_address(&exec->workspace)};
    return bp__cu_vendor_enqueue(plan->instance->vendor.host, exec, run_all, plan, &run);
}
