/* plan.c - makes and frees plans by a sequence of calls and copies: the graphs of its calls, and the plans of the
 * engines that run them.
 *
 * An engine depends on how addresses are aligned, which is known in a run only. So a plan asks for addresses that are
 * aligned as most are, and in the first run with others once more. Before cuDNN 9.28, graphs that have captured a run
 * need its plan, so that such a plan is kept until its device closes. */
#include "providers/cudnn/cudnn.h"

#include <string.h>

/* ---- Sequences ---- */

uint64_t bp__cudnn_reserve(bp__cudnn_sequence *sequence, uint64_t bytes) {
    const uint64_t at = sequence->buffers, unit = BP__CUDNN_WORKSPACE_ALIGNMENT;
    sequence->buffers += (bytes + unit - 1) / unit * unit;
    return at;
}

void bp__cudnn_bind(bp__cudnn_sequence *sequence, int call, int64_t uid, bp__cudnn_place place, uint64_t bytes) {
    sequence->bindings[call][sequence->binding_count[call]++] = (bp__cudnn_binding){uid, place, bytes};
}

void bp__cudnn_add_call(bp__cudnn_sequence *sequence, int call) {
    sequence->steps[sequence->step_count++] = (bp__cudnn_step){.work = BP__CUDNN_CALL, .call = call};
}

void bp__cudnn_add_fill(bp__cudnn_sequence *sequence, bp__cudnn_place to, uint8_t value, uint64_t bytes) {
    sequence->steps[sequence->step_count++] =
        (bp__cudnn_step){.work = BP__CUDNN_FILL, .to = to, .value = value, .bytes = bytes};
}

void bp__cudnn_add_copy(bp__cudnn_sequence *sequence, bp__cudnn_place to, const int64_t *to_stride,
                        bp__cudnn_place from, const int64_t *from_stride, int ndim, const int64_t *size) {
    bp__cudnn_step *step = &sequence->steps[sequence->step_count++];
    *step = (bp__cudnn_step){.work = BP__CUDNN_COPY, .to = to, .from = from};
    step->copy = (bp_transfer){.kind = BP_TRANSFER_DEVICE, .run = (uint64_t)sequence->item, .ndim = ndim};
    for (int i = 0; i < ndim; i++) {
        step->copy.shape[i] = size[i];
        step->copy.dst_stride[i] = to_stride[i] * sequence->item;
        step->copy.src_stride[i] = from_stride[i] * sequence->item;
    }
}

/* ---- Calls ---- */

static void free_calls(const bp__cudnn_prepared *plan, bp__cudnn_calls *calls) {
    const bp__cudnn_api *api = &plan->instance->api;
    for (int i = 0; i < plan->sequence.call_count; i++) {
        bp__cudnn_execution_free(api, &calls->execution[i]);
        if (calls->graph[i].api) {
            bp__cudnn_graph_free(&calls->graph[i]);
        }
    }
}

static bp_status make_call(bp__cudnn_prepared *plan, bp__cudnn_calls *calls, int call, int64_t alignment,
                           int64_t most_workspace) {
    bp__cudnn_graph *graph = &calls->graph[call];
    bp__cudnn_filter filter = plan->sequence.filter;
    filter.workspace = most_workspace < filter.workspace ? most_workspace : filter.workspace;
    if (call > 0) {
        filter.rank = -1;
        filter.refused |= plan->sequence.refused_later;
    }
    bp__cudnn_graph_begin(graph, &plan->instance->api, plan->on->handle, NULL);
    plan->sequence.describe(plan->what, call, graph, alignment);
    bp__cudnn_graph_complete(graph);
    if (graph->status != BP__CUDNN_STATUS_SUCCESS) {
        return bp__cudnn_fail(plan->instance, plan->on, graph->status, "the graph of an operation");
    }
    if (call == 0 && plan->sequence.measured > 0 && alignment == BP__CUDNN_ALIGNMENT) {
        filter.rank = bp__cudnn_measure(plan, graph, &filter);
    }
    const cudnnStatus_t status = bp__cudnn_first_execution(graph, &filter, &calls->execution[call]);
    return status == BP__CUDNN_STATUS_SUCCESS
               ? BP_OK
               : bp__cudnn_fail(plan->instance, plan->on, status, "no engine that the settings permit runs it");
}

bp_status bp__cudnn_calls_make(bp__cudnn_prepared *plan, int alignment, int64_t most_workspace) {
    bp__cudnn_calls *calls = &plan->calls[alignment];
    const int64_t bytes = alignment == BP__CUDNN_ALIGNED ? BP__CUDNN_ALIGNMENT : plan->sequence.item;
    bp_status status = BP_OK;
    pthread_mutex_lock(&plan->on->mutex);
    if (!atomic_load_explicit(&calls->made, memory_order_relaxed)) {
        for (int i = 0; i < plan->sequence.call_count && status == BP_OK; i++) {
            status = make_call(plan, calls, i, bytes, most_workspace);
        }
        if (status == BP_OK) {
            atomic_store_explicit(&calls->made, true, memory_order_release);
        } else {
            free_calls(plan, calls);
            memset(calls, 0, sizeof *calls);
        }
    }
    pthread_mutex_unlock(&plan->on->mutex);
    return status;
}

/* ---- Freeing ---- */

void bp__cudnn_plan_free(bp__cudnn_prepared *plan) {
    for (int i = 0; i < BP__CUDNN_ALIGNMENTS; i++) {
        free_calls(plan, &plan->calls[i]);
    }
    plan->instance->vendor.host->release(plan);
}

static void keep(bp__cudnn_prepared *plan) {
    pthread_mutex_lock(&plan->instance->vendor.mutex);
    plan->next = plan->on->captured;
    plan->on->captured = plan;
    pthread_mutex_unlock(&plan->instance->vendor.mutex);
}

static void destroy(bp_prepared *self) {
    bp__cudnn_prepared *plan = (bp__cudnn_prepared *)self;
    bp__cu_scope scope;
    if (atomic_load_explicit(&plan->captured, memory_order_acquire)) {
        keep(plan);
        return;
    }
    (void)bp__cu_enter(plan->on->part.device, true, &scope);
    bp__cudnn_plan_free(plan);
    bp__cu_leave(&scope);
}

/* ---- Making ---- */

static bp_status make_usual(bp__cudnn_prepared *plan) {
    const bp_host *host = plan->instance->vendor.host;
    bp__cu_scope scope;
    const CUresult code = bp__cu_enter(plan->on->part.device, true, &scope);
    const bp_status status = code == BP__CU_SUCCESS ? bp__cudnn_calls_make(plan, BP__CUDNN_ALIGNED, INT64_MAX)
                                                    : bp__cu_fail(host, code, "cuCtxPushCurrent");
    bp__cu_leave(&scope);
    return status;
}

/* The buffers, then the library's part, which its calls use one after the other. */
static size_t workspace_of(const bp__cudnn_prepared *plan) {
    int64_t own = 0;
    for (int i = 0; i < plan->sequence.call_count; i++) {
        const int64_t needed = plan->calls[BP__CUDNN_ALIGNED].execution[i].workspace;
        own = needed > own ? needed : own;
    }
    return (size_t)(plan->sequence.buffers + (uint64_t)own);
}

bp_status bp__cudnn_make(bp__cudnn_instance *instance, int32_t place, const bp__cudnn_sequence *sequence,
                         const void *what, size_t size, bp_prepared **prepared) {
    bp__cu_part *on = NULL;
    void *device = NULL;
    bp_status status = instance->vendor.host->device_open(place, &device);
    status = status == BP_OK ? bp__cu_vendor_part(&instance->vendor, device, &on) : status;
    if (status != BP_OK) {
        return status;
    }
    bp__cudnn_prepared *plan = bp__cu_vendor_plan(&instance->vendor, sizeof *plan + size);
    if (!plan) {
        return BP_E_NO_MEMORY;
    }
    plan->prepared =
        (bp_prepared){.struct_size = sizeof(bp_prepared), .enqueue = bp__cudnn_enqueue, .destroy = destroy};
    plan->instance = instance;
    plan->on = (bp__cudnn_device *)on;
    plan->sequence = *sequence;
    memcpy(plan->what, what, size);
    status = make_usual(plan);
    if (status != BP_OK) {
        destroy(&plan->prepared);
        return status;
    }
    plan->prepared.workspace = workspace_of(plan);
    plan->prepared.workspace_alignment = BP__CUDNN_WORKSPACE_ALIGNMENT;
    *prepared = &plan->prepared;
    return BP_OK;
}
