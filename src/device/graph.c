/* graph.c - captures the commands of a queue into a graph, and launches graphs.
 *
 * Commands that are captured run in launches only, so their events have no state and nothing is known of their end.
 * Memory that they use must outlive the graph: workspaces, and tensors that are freed during the capture, are blocks of
 * the graph until it is released. One queue of a device is captured at a time, so that such a tensor has one graph.
 */
#include "device/private.h"
#include "base/uncancelled.h"

struct bp_queue_graph {
    bp__device *device;
    void *handle;      /* what capture_end() made */
    bp__block *blocks; /* under the device's mutex: that its commands use */
    bp__block *unused; /* under `run` of the captured queue: workspaces that later commands of the capture may use */
    bool failed;       /* under `run`, too: an operation failed after it had enqueued commands */
};

/* ---- States ---- */

static bool is_capturing(const bp_queue *queue) {
    const bp_runtime *runtime = queue->device->runtime;
    uint32_t state = 0;
    return atomic_load_explicit(&queue->graph, memory_order_acquire) ||
           (BP__RUNTIME_HAS(runtime, queue_state) && runtime->queue_state(queue->handle, &state) == BP_OK &&
            (state & BP_QUEUE_CAPTURING));
}

bool bp__queue_captures(const bp_queue *queue) {
    return BP__RUNTIME_HAS(queue->device->runtime, queue_state) && is_capturing(queue);
}

bool bp__device_captures(const bp__device *device) {
    bool captures = false;
    if (BP__RUNTIME_HAS(device->runtime, queue_state)) {
        for (const bp_queue *each = device->queues; each && !captures; each = each->next) {
            captures = is_capturing(each);
        }
    }
    return captures;
}

bp_status bp__queue_refuse_capture(const bp_queue *queue, const char *what) {
    return !bp__queue_captures(queue) ? BP_OK
                                      : bp__fail(BP_E_UNSUPPORTED, "%s: the queue of device %s is being captured; %s",
                                                 what, queue->device->info.id, "do it before the capture or after it");
}

void bp__graph_note_failure(bp_queue *queue) {
    bp_queue_graph *graph = atomic_load_explicit(&queue->graph, memory_order_acquire);
    if (graph) {
        graph->failed = true;
    }
}

/* ---- Memory ---- */

static bp__block *take_unused(bp_queue_graph *graph, uint64_t size) {
    for (bp__block **link = &graph->unused; *link; link = &(*link)->next) {
        if ((*link)->size >= size) {
            bp__block *found = *link;
            *link = found->next;
            return found;
        }
    }
    return NULL;
}

bp_status bp__graph_take(bp_queue *queue, uint64_t size, bp__block **block) {
    bp_queue_graph *graph = atomic_load_explicit(&queue->graph, memory_order_acquire);
    if (!graph) {
        return bp__fail(BP_E_UNSUPPORTED,
                        "the program captures a queue of device %s, and the operation needs a workspace that the graph "
                        "would use; give one (bp_exec.workspace), or capture with bp_queue_capture_begin()",
                        queue->device->info.id);
    }
    *block = take_unused(graph, size);
    return *block ? BP_OK : bp__pool_take(queue->device, NULL, size, block);
}

bool bp__graph_give(bp_queue *queue, bp__block *block) {
    bp_queue_graph *graph = atomic_load_explicit(&queue->graph, memory_order_acquire);
    if (graph) {
        block->next = graph->unused;
        graph->unused = block;
    }
    return graph != NULL;
}

bool bp__graph_keep(bp__device *device, bp__block *block) {
    pthread_mutex_lock(&device->mutex);
    bp__block **list = device->captured              ? &device->captured->blocks
                       : bp__device_captures(device) ? &device->withheld
                                                     : NULL;
    if (list) {
        block->next = *list;
        *list = block;
    }
    pthread_mutex_unlock(&device->mutex);
    return list != NULL;
}

/* Gives blocks back: launches so far may still use them. In a child of fork they are the parent's. */
static void give_blocks(bp__device *device, bp__block *blocks) {
    while (blocks) {
        bp__block *next = blocks->next;
        if (bp__device_is(device, BP_DEVICE_FORKED)) {
            bp__free(blocks);
        } else {
            bp__pool_give(device, blocks, NULL);
        }
        blocks = next;
    }
}

static void free_graph(bp_queue_graph *graph) {
    if (graph->handle && !bp__device_is(graph->device, BP_DEVICE_FORKED)) {
        graph->device->runtime->graph_release(graph->handle);
    }
    give_blocks(graph->device, graph->blocks);
    give_blocks(graph->device, graph->unused);
    bp__free(graph);
}

/* ---- Capture ---- */

static bool can_capture(const bp_runtime *runtime) {
    return BP__RUNTIME_HAS(runtime, queue_state) && BP__RUNTIME_HAS(runtime, capture_begin) &&
           BP__RUNTIME_HAS(runtime, capture_end) && BP__RUNTIME_HAS(runtime, graph_launch) &&
           BP__RUNTIME_HAS(runtime, graph_release);
}

static void set_captured(bp_queue *queue, bp_queue_graph *graph) {
    pthread_mutex_lock(&queue->device->mutex);
    atomic_store_explicit(&queue->graph, graph, memory_order_release);
    queue->device->captured = graph;
    pthread_mutex_unlock(&queue->device->mutex);
}

/* Under `run`. */
static bp_status begin(bp_queue *queue, bp_queue_graph *graph) {
    bp__device *device = queue->device;
    pthread_mutex_lock(&device->mutex);
    const bool busy = bp__device_captures(device);
    pthread_mutex_unlock(&device->mutex);
    if (busy) {
        return bp__fail(BP_E_BUSY, "bp_queue_capture_begin: a queue of device %s is being captured already",
                        device->info.id);
    }
    set_captured(queue, graph);
    const bp_status status = device->runtime->capture_begin(queue->handle);
    if (status != BP_OK) {
        set_captured(queue, NULL);
    }
    return status;
}

bp_status bp_queue_capture_begin(bp_queue *queue) {
    BP__UNCANCELLED;
    BP__TRY(bp__queue_usable(queue));
    if (!can_capture(queue->device->runtime)) {
        return bp__fail(BP_E_UNSUPPORTED, "bp_queue_capture_begin: runtime %s cannot capture the commands of a queue",
                        queue->device->runtime->name);
    }
    bp_queue_graph *graph = bp__alloc_zero(1, sizeof *graph);
    if (!graph) {
        return bp__fail_memory(sizeof *graph, "a graph");
    }
    graph->device = queue->device;
    pthread_mutex_lock(&queue->run);
    const bp_status status = begin(queue, graph);
    pthread_mutex_unlock(&queue->run);
    if (status != BP_OK) {
        bp__free(graph);
        return status;
    }
    bp__queue_hold(queue); /* until the end of the capture */
    atomic_fetch_add_explicit(&bp__device_objects, 1, memory_order_relaxed);
    return BP_OK;
}

/* Ends the queue's capture; under `run`. */
static bp_status end(bp_queue *queue, bp_queue_graph *graph) {
    const bp_status status = queue->device->runtime->capture_end(queue->handle, &graph->handle);
    set_captured(queue, NULL);
    BP__TRY(status);
    return !graph->failed ? BP_OK
                          : bp__fail(BP_E_UNSUPPORTED, "bp_queue_capture_end: an operation failed during the capture "
                                                       "after it had enqueued commands; the graph is not complete");
}

bp_status bp_queue_capture_end(bp_queue_graph **graph, bp_queue *queue) {
    BP__UNCANCELLED;
    if (!graph) {
        return bp__fail(BP_E_ARGUMENT, "bp_queue_capture_end: argument 'graph' is NULL");
    }
    *graph = NULL;
    BP__TRY(bp__queue_usable(queue));
    pthread_mutex_lock(&queue->run);
    bp_queue_graph *made = atomic_load_explicit(&queue->graph, memory_order_acquire);
    const bp_status status =
        made ? end(queue, made) : bp__fail(BP_E_ARGUMENT, "bp_queue_capture_end: no capture was begun on this queue");
    pthread_mutex_unlock(&queue->run);
    if (!made) {
        return status;
    }
    bp__queue_drop(queue);
    if (status != BP_OK) {
        atomic_fetch_sub_explicit(&bp__device_objects, 1, memory_order_relaxed);
        free_graph(made);
        return status;
    }
    *graph = made;
    return BP_OK;
}

/* ---- Launches ---- */

bp_status bp_queue_graph_launch(bp_queue_graph *graph, bp_queue *queue) {
    BP__UNCANCELLED;
    void *event = NULL;
    if (!graph) {
        return bp__fail(BP_E_ARGUMENT, "bp_queue_graph_launch: argument 'graph' is NULL");
    }
    BP__TRY(bp__queue_usable(queue));
    if (graph->device != queue->device) {
        return bp__fail(BP_E_ARGUMENT, "bp_queue_graph_launch: the graph is of device %s, the queue of %s",
                        graph->device->info.id, queue->device->info.id);
    }
    BP__TRY(bp__queue_refuse_capture(queue, "bp_queue_graph_launch"));
    pthread_mutex_lock(&queue->run);
    bp_status status = queue->device->runtime->graph_launch(graph->handle, queue->handle, &event);
    status = status == BP_OK ? bp__command_add(queue, event, "a graph", NULL, 0, NULL) : status;
    pthread_mutex_unlock(&queue->run);
    return status;
}

void bp_queue_graph_release(bp_queue_graph *graph) {
    BP__UNCANCELLED;
    if (!graph) {
        return;
    }
    if (!bp__device_is(graph->device, BP_DEVICE_FORKED)) {
        atomic_fetch_sub_explicit(&bp__device_objects, 1, memory_order_relaxed);
    }
    free_graph(graph);
}
