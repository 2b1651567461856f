/* capture.c - captures the commands of a stream into a CUDA graph, and launches graphs.
 *
 * Captures are relaxed: calls that other parts of the process make meanwhile, such as allocations of a framework, do
 * not end them, and any thread may end a capture. */
#include "providers/cuda/runtime.h"

struct bp__cu_graph {
    bp__cu_graph *next; /* in the list of released ones */
    bp__cu_device *device;
    CUgraphExec native;
    bp__cu_event *last; /* behind the last launch; NULL: none */
};

/* The legacy default stream cannot be captured. While another stream of the context is, the driver has no answer for it
 * (STREAM_CAPTURE_IMPLICIT). */
bp_status bp__cu_queue_state(void *opaque, uint32_t *state) {
    const bp__cu_queue *queue = opaque;
    bp__cu_scope scope;
    CUstreamCaptureStatus status = BP__CU_STREAM_CAPTURE_STATUS_NONE;
    *state = 0;
    if (!bp__cu_queue_of_thread(opaque)) {
        return BP_OK; /* the handle would mean another stream */
    }
    CUresult code = bp__cu_enter(queue->device, false, &scope);
    code = code ? code : bp__cu.StreamIsCapturing(queue->native, &status);
    bp__cu_leave(&scope);
    if (code == BP__CU_SUCCESS && status != BP__CU_STREAM_CAPTURE_STATUS_NONE) {
        *state = BP_QUEUE_CAPTURING;
    }
    return BP_OK;
}

bool bp__cu_may_be_captured(CUstream stream) {
    CUstreamCaptureStatus status = BP__CU_STREAM_CAPTURE_STATUS_NONE;
    return bp__cu.StreamIsCapturing(stream, &status) != BP__CU_SUCCESS || status != BP__CU_STREAM_CAPTURE_STATUS_NONE;
}

bp_status bp__cu_capture_begin(void *opaque) {
    const bp__cu_queue *queue = opaque;
    const bp_host *host = queue->device->host;
    bp__cu_scope scope;
    bp_status status = bp__cu_queue_check(queue);
    if (status != BP_OK) {
        return status;
    }
    if (!queue->native || queue->native == BP__CU_STREAM_LEGACY) {
        return host->fail(BP_E_UNSUPPORTED, "cuda: the legacy default stream cannot be captured; use another stream");
    }
    CUresult code = bp__cu_enter(queue->device, false, &scope);
    code = code ? code : bp__cu.StreamBeginCapture(queue->native, BP__CU_STREAM_CAPTURE_MODE_RELAXED);
    bp__cu_leave(&scope);
    return code == BP__CU_SUCCESS ? BP_OK : bp__cu_fail(host, code, "cuStreamBeginCapture");
}

/* Ends the capture, and makes an executable graph. The device was entered. */
static bp_status end_capture(const bp__cu_queue *queue, CUgraphExec *native) {
    const bp_host *host = queue->device->host;
    CUgraph captured = NULL;
    CUresult code = bp__cu.StreamEndCapture(queue->native, &captured);
    if (code != BP__CU_SUCCESS || !captured) {
        return bp__cu_fail(host, code ? code : BP__CU_STREAM_CAPTURE_INVALIDATED, "cuStreamEndCapture");
    }
    code = bp__cu.GraphInstantiate(native, captured, 0);
    bp__cu.GraphDestroy(captured);
    return code == BP__CU_SUCCESS ? BP_OK : bp__cu_fail(host, code, "cuGraphInstantiate");
}

bp_status bp__cu_capture_end(void *opaque, void **graph) {
    const bp__cu_queue *queue = opaque;
    const bp_host *host = queue->device->host;
    bp__cu_scope scope;
    CUgraphExec native = NULL;
    bp_status status = bp__cu_queue_check(queue);
    if (status != BP_OK) {
        return status;
    }
    const CUresult code = bp__cu_enter(queue->device, true, &scope);
    status = code == BP__CU_SUCCESS ? end_capture(queue, &native) : bp__cu_fail(host, code, "cuStreamEndCapture");
    bp__cu_graph *made = status == BP_OK ? host->allocate(sizeof *made) : NULL;
    if (made) {
        *made = (bp__cu_graph){.device = queue->device, .native = native};
        *graph = made;
    } else if (status == BP_OK) {
        bp__cu.GraphExecDestroy(native);
        status = host->fail(BP_E_NO_MEMORY, "cuda: no memory for a graph");
    }
    bp__cu_leave(&scope);
    return status;
}

/* Makes the event the one behind the last launch. The driver runs the launches of a graph in their order. */
static void note_launch(bp__cu_graph *graph, bp__cu_event *event) {
    bp__cu_event_hold(event);
    pthread_mutex_lock(&graph->device->mutex);
    bp__cu_event *before = graph->last;
    graph->last = event;
    pthread_mutex_unlock(&graph->device->mutex);
    if (before) {
        bp__cu_event_release(before);
    }
}

bp_status bp__cu_graph_launch(void *opaque, void *queue_opaque, void **event) {
    const bp__cu_queue *queue = queue_opaque;
    bp__cu_scope scope;
    bp_status status = bp__cu_queue_check(queue);
    if (status != BP_OK) {
        return status;
    }
    bp__cu_graph *graph = opaque;
    CUresult code = bp__cu_enter(queue->device, false, &scope);
    code = code ? code : bp__cu.GraphLaunch(graph->native, queue->native);
    status =
        code == BP__CU_SUCCESS ? bp__cu_mark(queue, event) : bp__cu_fail(queue->device->host, code, "cuGraphLaunch");
    bp__cu_leave(&scope);
    if (status == BP_OK) {
        note_launch(graph, *event);
    }
    return status;
}

static void free_graph(bp__cu_graph *graph) {
    bp__cu.GraphExecDestroy(graph->native);
    if (graph->last) {
        bp__cu_event_release(graph->last);
    }
    graph->device->host->release(graph);
}

/* Takes the released graphs off whose launches have ended, or all. */
static bp__cu_graph *take_retired(bp__cu_device *device, bool all) {
    bp__cu_graph *taken = NULL;
    pthread_mutex_lock(&device->mutex);
    for (bp__cu_graph **link = &device->retired; *link;) {
        bp__cu_graph *graph = *link;
        if (all || !graph->last || bp__cu.EventQuery(graph->last->native) != BP__CU_NOT_READY) {
            *link = graph->next;
            graph->next = taken;
            taken = graph;
        } else {
            link = &graph->next;
        }
    }
    pthread_mutex_unlock(&device->mutex);
    return taken;
}

static void free_retired(bp__cu_device *device, bool all) {
    for (bp__cu_graph *graph = take_retired(device, all); graph;) {
        bp__cu_graph *next = graph->next;
        free_graph(graph);
        graph = next;
    }
}

void bp__cu_graphs_free(bp__cu_device *device) {
    free_retired(device, true);
}

/* A graph whose launches run is freed later: the driver does not say that it waits for them. */
void bp__cu_graph_release(void *opaque) {
    bp__cu_graph *graph = opaque;
    bp__cu_device *device = graph->device;
    bp__cu_scope scope;
    pthread_mutex_lock(&device->mutex);
    graph->next = device->retired;
    device->retired = graph;
    pthread_mutex_unlock(&device->mutex);
    if (bp__cu_enter(device, true, &scope) == BP__CU_SUCCESS) {
        free_retired(device, false);
    }
    bp__cu_leave(&scope);
}
