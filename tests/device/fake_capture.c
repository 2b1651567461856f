/* fake_capture.c - captures commands of the fake runtimes into graphs, and launches them. */
#include "fake_queues.h"

#include <stdlib.h>

typedef struct fake_graph {
    fake_task *first, *last;
    fake_event *launched; /* the end of the last launch; NULL: none */
} fake_graph;

enum { CAPTURES_MOST = 8 };
static const fake_queue *captured[CAPTURES_MOST]; /* queues that are captured now */

static void list_queue(const fake_queue *from, const fake_queue *to) {
    for (int i = 0; i < CAPTURES_MOST; i++) {
        if (captured[i] == from) {
            captured[i] = to;
            return;
        }
    }
}

void fake_note_task(fake_queue *queue, fake_task *task) {
    fake_graph *graph = queue->capture;
    if (task->wait_count > 0) {
        fake_violate("a wait for an event of another queue in a capture");
    }
    if (graph->last) {
        graph->last->next = task;
    } else {
        graph->first = task;
    }
    graph->last = task;
    task->event->captured = true;
    fake_drop_event(task->event);
    task->event = NULL;
}

void fake_check_question(const fake_event *event) {
    bool asked = event->captured;
    for (int i = 0; i < CAPTURES_MOST; i++) {
        asked = asked || (captured[i] && captured[i] == event->queue);
    }
    if (asked) {
        fake_violate("asked for an event of a queue that is captured");
    }
}

bp_status fake_queue_state(void *opaque, uint32_t *state) {
    const fake_queue *queue = opaque;
    pthread_mutex_lock(&fake_mutex);
    *state = queue->capture ? BP_QUEUE_CAPTURING : 0;
    pthread_mutex_unlock(&fake_mutex);
    return BP_OK;
}

bp_status fake_capture_begin(void *opaque) {
    fake_queue *queue = opaque;
    fake_graph *graph = calloc(1, sizeof *graph);
    if (!graph || fake_control.refuse_captures) {
        free(graph);
        return fake_host->fail(BP_E_NO_MEMORY, "no memory for a graph");
    }
    pthread_mutex_lock(&fake_mutex);
    if (queue->capture) {
        fake_violate("a capture in a capture");
    }
    queue->capture = graph;
    list_queue(NULL, queue);
    pthread_mutex_unlock(&fake_mutex);
    fake_control.graphs++;
    return BP_OK;
}

bp_status fake_capture_end(void *opaque, void **graph) {
    fake_queue *queue = opaque;
    pthread_mutex_lock(&fake_mutex);
    *graph = queue->capture;
    queue->capture = NULL;
    list_queue(queue, NULL);
    pthread_mutex_unlock(&fake_mutex);
    return BP_OK;
}

/* Enqueues one command; its event is not kept. */
static bp_status launch_task(fake_queue *queue, const fake_task *task) {
    void *event;
    const bp_status status = fake_enqueue(queue, task, &event);
    if (status == BP_OK) {
        fake_event_release(event);
    }
    return status;
}

bp_status fake_graph_launch(void *opaque, void *queue, void **event) {
    fake_graph *graph = opaque;
    fake_task wait = {.kind = TASK_MARK}, end = {.kind = TASK_MARK};
    pthread_mutex_lock(&fake_mutex);
    if (graph->launched) {
        wait.wait_count = 1; /* the reference goes to the command */
        wait.waits[0] = graph->launched;
        graph->launched = NULL;
    }
    pthread_mutex_unlock(&fake_mutex);
    bp_status status = launch_task(queue, &wait);
    for (const fake_task *each = graph->first; each && status == BP_OK; each = each->next) {
        status = launch_task(queue, each);
    }
    status = status == BP_OK ? fake_enqueue(queue, &end, event) : status;
    if (status == BP_OK) {
        pthread_mutex_lock(&fake_mutex);
        graph->launched = *event;
        graph->launched->references++;
        pthread_mutex_unlock(&fake_mutex);
    }
    return status;
}

void fake_graph_release(void *opaque) {
    fake_graph *graph = opaque;
    fake_check_process("graph_release in a child");
    pthread_mutex_lock(&fake_mutex);
    for (fake_task *task = graph->first; task;) {
        fake_task *next = task->next;
        fake_use(task, -1);
        free(task);
        task = next;
    }
    if (graph->launched) {
        fake_drop_event(graph->launched);
    }
    pthread_mutex_unlock(&fake_mutex);
    free(graph);
    fake_control.graphs--;
}
