/* measure.c - measures the engines of a graph on the device, and finds the fastest: cudnn.benchmark.
 *
 * Each engine runs on memory of its own, which is allocated for the measurement, because a plan does not know its
 * operands. The first run of an engine loads its kernels and is not counted; of the next ones the fastest counts. An
 * engine for whose workspace there is no memory is left out, as in PyTorch. */
#include "providers/cudnn/cudnn.h"

enum { RUNS = 3, UNIT = 256 };

typedef struct measuring {
    const bp__cudnn_prepared *plan;
    const bp__cudnn_filter *filter;
    CUstream stream;
    CUevent start, end;
    CUdeviceptr tensors, workspace;
    int64_t workspace_size;
    void *pointers[BP__CUDNN_TENSORS];
    int64_t count; /* engines that were measured */
    int fastest;   /* rank */
    float ms;      /* its time */
} measuring;

/* ---- Memory ---- */

/* Allocates all tensors in one block of zeros. */
static CUresult allocate_tensors(measuring *m) {
    const bp__cudnn_sequence *sequence = &m->plan->sequence;
    uint64_t at[BP__CUDNN_TENSORS], size = 0;
    for (int i = 0; i < sequence->binding_count[0]; i++) {
        at[i] = size;
        size += (sequence->bindings[0][i].bytes + UNIT - 1) / UNIT * UNIT;
    }
    CUresult code = bp__cu.MemAlloc(&m->tensors, (size_t)size);
    code = code ? code : bp__cu.MemsetD8Async(m->tensors, 0, (size_t)size, m->stream);
    for (int i = 0; i < sequence->binding_count[0]; i++) {
        m->pointers[i] = (void *)(uintptr_t)(m->tensors + at[i]);
    }
    return code;
}

static bool has_workspace(measuring *m, int64_t size) {
    if (size <= m->workspace_size) {
        return true;
    }
    if (m->workspace) {
        bp__cu.MemFree(m->workspace);
    }
    m->workspace = 0;
    m->workspace_size = bp__cu.MemAlloc(&m->workspace, (size_t)size) == BP__CU_SUCCESS ? size : 0;
    return m->workspace_size > 0;
}

static CUresult begin(measuring *m) {
    CUresult code = bp__cu.StreamCreate(&m->stream, BP__CU_STREAM_NON_BLOCKING);
    code = code ? code : bp__cu.EventCreate(&m->start, 0);
    code = code ? code : bp__cu.EventCreate(&m->end, 0);
    return code ? code : allocate_tensors(m);
}

static void end(measuring *m) {
    CUdeviceptr blocks[] = {m->tensors, m->workspace};
    CUevent events[] = {m->start, m->end};
    for (int i = 0; i < 2; i++) {
        if (blocks[i]) {
            bp__cu.MemFree(blocks[i]);
        }
        if (events[i]) {
            bp__cu.EventDestroy(events[i]);
        }
    }
    if (m->stream) {
        bp__cu.StreamDestroy(m->stream);
    }
}

/* ---- Times ---- */

/* Runs an engine once; *ms is its time. */
static bool time_run(const measuring *m, const bp__cudnn_execution *execution, cudnnBackendDescriptor_t pack,
                     float *ms) {
    const bp__cudnn_prepared *plan = m->plan;
    CUresult code = bp__cu.EventRecord(m->start, m->stream);
    const cudnnStatus_t status = plan->instance->api.Execute(plan->on->handle, execution->plan, pack);
    code = code ? code : bp__cu.EventRecord(m->end, m->stream);
    code = code ? code : bp__cu.EventSynchronize(m->end);
    code = code ? code : bp__cu.EventElapsedTime(ms, m->start, m->end);
    return status == BP__CUDNN_STATUS_SUCCESS && code == BP__CU_SUCCESS;
}

/* Finds the time of an engine, for which a pack was made. */
static bool time_engine(const measuring *m, const bp__cudnn_execution *execution, cudnnBackendDescriptor_t pack,
                        float *least) {
    float ms = 0;
    bool works = time_run(m, execution, pack, &ms);
    for (int i = 0; i < RUNS && works; i++) {
        works = time_run(m, execution, pack, &ms);
        *least = i == 0 || ms < *least ? ms : *least;
    }
    return works;
}

static void measure_execution(measuring *m, const bp__cudnn_execution *execution) {
    const bp__cudnn_prepared *plan = m->plan;
    cudnnBackendDescriptor_t pack = NULL;
    float ms = 0;
    if (bp__cudnn_pack_make(plan, 0, m->pointers, (void *)(uintptr_t)m->workspace, &pack) == BP__CUDNN_STATUS_SUCCESS &&
        time_engine(m, execution, pack, &ms)) {
        if (m->count == 0 || ms < m->ms) {
            m->fastest = execution->engine.rank;
            m->ms = ms;
        }
        m->count++;
    }
    if (pack) {
        plan->instance->api.DescriptorDestroy(pack);
    }
}

/* The visit of an engine. It never takes one: the end is when enough were measured. */
static bool measure_engine(void *user, const bp__cudnn_graph *graph, const bp__cudnn_engine *engine) {
    measuring *m = user;
    bp__cudnn_execution execution;
    if (m->count >= m->plan->sequence.measured || !bp__cudnn_execution_make(graph, engine, &execution)) {
        return false;
    }
    if (execution.workspace <= m->filter->workspace && has_workspace(m, execution.workspace)) {
        measure_execution(m, &execution);
    }
    bp__cudnn_execution_drop(graph->api, &execution);
    return false;
}

int bp__cudnn_measure(const bp__cudnn_prepared *plan, const bp__cudnn_graph *graph, const bp__cudnn_filter *filter) {
    measuring m = {.plan = plan, .filter = filter, .fastest = -1};
    if (begin(&m) == BP__CU_SUCCESS &&
        plan->instance->api.SetStream(plan->on->handle, m.stream) == BP__CUDNN_STATUS_SUCCESS) {
        (void)bp__cudnn_each_engine(graph, filter, measure_engine, &m);
    }
    end(&m);
    return m.fastest;
}
