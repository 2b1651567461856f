/* run.c - enqueues the copies and calls of a run.
 *
 * A handle has a stream, which each run sets, and nothing guarantees that two threads may execute one plan. So runs on
 * one device take a lock while they enqueue. The addresses of a run are in a descriptor of its own. */
#include "providers/cudnn/cudnn.h"

/* The addresses of a run. */
typedef struct run_of {
    const bp_operand *operands;
    const float *numbers;
    uint64_t workspace;
} run_of;

static uint64_t address_of(const run_of *run, const bp__cudnn_place *place) {
    return place->operand >= 0                  ? bp__cu_address(&run->operands[place->operand])
           : place->operand == BP__CUDNN_NUMBER ? (uint64_t)(uintptr_t)&run->numbers[place->at]
                                                : run->workspace + place->at;
}

/* ---- Calls ---- */

cudnnStatus_t bp__cudnn_pack_make(const bp__cudnn_prepared *plan, int call, void **pointers, void *workspace,
                                  cudnnBackendDescriptor_t *pack) {
    const bp__cudnn_api *api = &plan->instance->api;
    const int64_t count = plan->sequence.binding_count[call];
    int64_t uids[BP__CUDNN_TENSORS];
    for (int64_t i = 0; i < count; i++) {
        uids[i] = plan->sequence.bindings[call][i].uid;
    }
    cudnnStatus_t status = api->DescriptorCreate(BP__CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, pack);
    status = status
                 ? status
                 : api->SetAttribute(*pack, BP__CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, BP__CUDNN_TYPE_INT64, count, uids);
    status = status ? status
                    : api->SetAttribute(*pack, BP__CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, BP__CUDNN_TYPE_VOID_PTR,
                                        count, pointers);
    status = status ? status
                    : api->SetAttribute(*pack, BP__CUDNN_ATTR_VARIANT_PACK_WORKSPACE, BP__CUDNN_TYPE_VOID_PTR, 1,
                                        &workspace);
    return status ? status : api->Finalize(*pack);
}

/* Calls the library, under the device's mutex. */
static bp_status run_call(const bp__cudnn_prepared *plan, const run_of *run, const bp__cudnn_calls *calls, int call,
                          CUstream stream) {
    const bp__cudnn_api *api = &plan->instance->api;
    void *pointers[BP__CUDNN_TENSORS];
    cudnnBackendDescriptor_t pack = NULL;
    for (int i = 0; i < plan->sequence.binding_count[call]; i++) {
        pointers[i] = (void *)(uintptr_t)address_of(run, &plan->sequence.bindings[call][i].place);
    }
    cudnnStatus_t status =
        bp__cudnn_pack_make(plan, call, pointers, (void *)(uintptr_t)(run->workspace + plan->sequence.buffers), &pack);
    status = status ? status : api->SetStream(plan->on->handle, stream);
    status = status ? status : api->Execute(plan->on->handle, calls->execution[call].plan, pack);
    const bp_status answer = status == BP__CUDNN_STATUS_SUCCESS
                                 ? BP_OK
                                 : bp__cudnn_fail(plan->instance, plan->on, status, "cudnnBackendExecute");
    if (pack) {
        api->DescriptorDestroy(pack);
    }
    return answer;
}

/* ---- Copies ---- */

static bp_status run_fill(const bp__cudnn_prepared *plan, const run_of *run, const bp__cudnn_step *step,
                          CUstream stream) {
    const CUresult code = bp__cu.MemsetD8Async(address_of(run, &step->to), step->value, (size_t)step->bytes, stream);
    return code == BP__CU_SUCCESS ? BP_OK : bp__cu_fail(plan->instance->vendor.host, code, "cuMemsetD8Async");
}

static bp_status run_copy(const run_of *run, const bp__cudnn_step *step, const bp__cu_queue *queue) {
    bp_transfer copy = step->copy;
    void *event;
    copy.dst = (bp_operand){.base = (void *)(uintptr_t)address_of(run, &step->to)};
    copy.src = (bp_operand){.base = (void *)(uintptr_t)address_of(run, &step->from)};
    const bp_status status = bp__cu_copy((void *)(uintptr_t)queue, &copy, &event);
    if (status == BP_OK) {
        bp__cu_event_release(event);
    }
    return status;
}

/* ---- Runs ---- */

/* Returns which calls fit the addresses of the operands; those in the workspace are aligned. */
static int alignment_of(const bp__cudnn_prepared *plan, const run_of *run) {
    uint64_t bits = 0;
    for (int call = 0; call < plan->sequence.call_count; call++) {
        for (int i = 0; i < plan->sequence.binding_count[call]; i++) {
            const bp__cudnn_place *place = &plan->sequence.bindings[call][i].place;
            bits |= place->operand == BP__CUDNN_NUMBER ? 0 : address_of(run, place);
        }
    }
    return bits % BP__CUDNN_ALIGNMENT == 0 ? BP__CUDNN_ALIGNED : BP__CUDNN_UNALIGNED;
}

/* The workspace of the plan has to do for calls that are made later. */
static bp_status find_calls(bp__cudnn_prepared *plan, int alignment) {
    bp__cu_scope scope;
    if (atomic_load_explicit(&plan->calls[alignment].made, memory_order_acquire)) {
        return BP_OK;
    }
    const CUresult code = bp__cu_enter(plan->on->part.device, true, &scope);
    const bp_status status =
        code == BP__CU_SUCCESS
            ? bp__cudnn_calls_make(plan, alignment, (int64_t)(plan->prepared.workspace - plan->sequence.buffers))
            : bp__cu_fail(plan->instance->vendor.host, code, "cuCtxPushCurrent");
    bp__cu_leave(&scope);
    return status;
}

/* Notes that graphs have the plan, if the queue is being captured. */
static void note_capture(bp__cudnn_prepared *plan, const bp__cu_queue *queue) {
    if (!atomic_load_explicit(&plan->captured, memory_order_relaxed) && bp__cu_may_be_captured(queue->native)) {
        atomic_store_explicit(&plan->captured, true, memory_order_release);
    }
}

static bp_status run_step(const bp__cudnn_prepared *plan, const run_of *run, const bp__cudnn_calls *calls,
                          const bp__cudnn_step *step, const bp__cu_queue *queue) {
    if (step->work == BP__CUDNN_COPY) {
        return run_copy(run, step, queue);
    }
    if (step->work == BP__CUDNN_FILL) {
        return run_fill(plan, run, step, queue->native);
    }
    pthread_mutex_lock(&plan->on->mutex);
    const bp_status status = run_call(plan, run, calls, step->call, queue->native);
    pthread_mutex_unlock(&plan->on->mutex);
    return status;
}

static bp_status run_steps(const bp__cudnn_prepared *plan, const run_of *run, const bp__cudnn_calls *calls,
                           const bp__cu_queue *queue) {
    bp_status status = BP_OK;
    for (int i = 0; i < plan->sequence.step_count && status == BP_OK; i++) {
        status = run_step(plan, run, calls, &plan->sequence.steps[i], queue);
    }
    return status;
}

static bp_status run_all(const void *opaque, void *given, const bp__cu_queue *queue) {
    bp__cudnn_prepared *plan = (bp__cudnn_prepared *)(uintptr_t)opaque;
    const run_of *run = given;
    const int alignment = alignment_of(plan, run);
    if (alignment == BP__CUDNN_UNALIGNED && plan->sequence.aligned) {
        return plan->instance->vendor.host->fail(BP_E_UNSUPPORTED,
                                                 "cudnn: the address of an operand is no multiple of %d bytes, as the "
                                                 "operation needs it",
                                                 BP__CUDNN_ALIGNMENT);
    }
    const bp_status status = find_calls(plan, alignment);
    if (status != BP_OK) {
        return status;
    }
    note_capture(plan, queue);
    return run_steps(plan, run, &plan->calls[alignment], queue);
}

bp_status bp__cudnn_enqueue(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec) {
    const bp__cudnn_prepared *plan = (const bp__cudnn_prepared *)self;
    run_of run = {
        .operands = operands, .numbers = plan->sequence.numbers, .workspace = bp__cu_address(&exec->workspace)};
    return bp__cu_vendor_enqueue(plan->instance->vendor.host, exec, run_all, plan, &run);
}
