/* capture.c - captures and graphs of the double of libcuda.so.1. */
#include "parts.h"

#include <stdlib.h>

/* ---- Rules ---- */

static void invalidate_blocking(stream *each, void *user) {
    const stream *to = user;
    if (each->of == to->of && each->capture && each->blocking) {
        each->invalidated = true;
    }
}

typedef struct question {
    const stream *of;
    bool found;
} question;

static void find_blocking(stream *each, void *user) {
    question *asked = user;
    asked->found = asked->found || (each->of == asked->of->of && each->capture && each->blocking);
}

/* Returns whether the stream is the default one, and a stream is captured that it would wait for. */
static bool would_wait(const stream *to) {
    question asked = {to, false};
    if (to == to->of->legacy) {
        double_visit_streams(find_blocking, &asked);
    }
    return asked.found;
}

CUresult double_note(stream *to, const task *filled) {
    if (would_wait(to)) {
        double_visit_streams(invalidate_blocking, to);
        return BP__CU_STREAM_CAPTURE_IMPLICIT;
    }
    if (!to->capture) {
        return BP__CU_SUCCESS;
    }
    if (to->invalidated) {
        return BP__CU_STREAM_CAPTURE_INVALIDATED;
    }
    if (filled->kind == TASK_WAIT) {
        to->invalidated = true;
        return 905; /* STREAM_CAPTURE_ISOLATION: the event is of work outside the capture */
    }
    if (filled->kind == TASK_MARK) {
        return BP__CU_SUCCESS;
    }
    task *made = malloc(sizeof *made);
    if (!made) {
        return BP__CU_OUT_OF_MEMORY;
    }
    *made = *filled;
    made->next = NULL;
    if (to->capture->last) {
        to->capture->last->next = made;
    } else {
        to->capture->first = made;
    }
    to->capture->last = made;
    return BP__CU_SUCCESS;
}

static void find_forbidding(stream *each, void *user) {
    const unsigned mode = double_thread_mode();
    const bool own = pthread_equal(each->capturer, pthread_self());
    const bool forbids =
        (mode == BP__CU_STREAM_CAPTURE_MODE_GLOBAL && each->mode == BP__CU_STREAM_CAPTURE_MODE_GLOBAL) ||
        (mode != BP__CU_STREAM_CAPTURE_MODE_RELAXED && own && each->mode != BP__CU_STREAM_CAPTURE_MODE_RELAXED);
    if (each->capture && forbids) {
        each->invalidated = true;
        *(bool *)user = true;
    }
}

CUresult double_unsafe(void) {
    bool forbidden = false;
    double_visit_streams(find_forbidding, &forbidden);
    return forbidden ? BP__CU_STREAM_CAPTURE_UNSUPPORTED : BP__CU_SUCCESS;
}

/* ---- The driver's functions ---- */

static void free_tasks(task *first) {
    while (first) {
        task *next = first->next;
        free(first);
        first = next;
    }
}

CUresult cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus *status) {
    context *current;
    CUresult code = double_enter(&current);
    if (code != BP__CU_SUCCESS) {
        return code;
    }
    pthread_mutex_lock(&double_mutex);
    const stream *own = double_stream(current, handle);
    code = !own ? BP__CU_INVALID_HANDLE : would_wait(own) ? BP__CU_STREAM_CAPTURE_IMPLICIT : BP__CU_SUCCESS;
    if (code == BP__CU_SUCCESS) {
        *status = !own->capture      ? BP__CU_STREAM_CAPTURE_STATUS_NONE
                  : own->invalidated ? BP__CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                     : BP__CU_STREAM_CAPTURE_STATUS_ACTIVE;
    }
    pthread_mutex_unlock(&double_mutex);
    return code;
}

CUresult cuStreamBeginCapture_v2(CUstream handle, CUstreamCaptureMode mode) {
    context *current;
    CUresult code = double_enter(&current);
    graph *made = code ? NULL : calloc(1, sizeof *made);
    if (!made) {
        return code ? code : BP__CU_OUT_OF_MEMORY;
    }
    pthread_mutex_lock(&double_mutex);
    stream *own = double_stream(current, handle);
    code = !own                                     ? BP__CU_INVALID_HANDLE
           : own == current->legacy || own->capture ? BP__CU_STREAM_CAPTURE_UNSUPPORTED
                                                    : BP__CU_SUCCESS;
    if (code == BP__CU_SUCCESS) {
        made->of = current;
        own->capture = made;
        own->mode = mode;
        own->capturer = pthread_self();
        own->invalidated = false;
        cuda_double.graphs++;
    } else {
        free(made);
    }
    pthread_mutex_unlock(&double_mutex);
    return code;
}

CUresult cuStreamEndCapture(CUstream handle, CUgraph *captured) {
    context *current;
    CUresult code = double_enter(&current);
    if (code != BP__CU_SUCCESS) {
        return code;
    }
    *captured = NULL;
    pthread_mutex_lock(&double_mutex);
    stream *own = double_stream(current, handle);
    graph *made = own ? own->capture : NULL;
    const bool wrong =
        made && own->mode != BP__CU_STREAM_CAPTURE_MODE_RELAXED && !pthread_equal(own->capturer, pthread_self());
    if (!made || wrong) {
        code = wrong ? 908 : BP__CU_INVALID_VALUE;
    } else {
        own->capture = NULL;
        code = own->invalidated ? BP__CU_STREAM_CAPTURE_INVALIDATED : BP__CU_SUCCESS;
        *captured = code == BP__CU_SUCCESS ? made : NULL;
    }
    if (made && code == BP__CU_STREAM_CAPTURE_INVALIDATED) {
        free_tasks(made->first);
        free(made);
        cuda_double.graphs--;
    }
    pthread_mutex_unlock(&double_mutex);
    return code;
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec *made, CUgraph from, unsigned long long flags) {
    context *current;
    const CUresult code = double_enter(&current);
    graph_exec *fresh = code || flags ? NULL : calloc(1, sizeof *fresh);
    if (!fresh) {
        return code ? code : BP__CU_OUT_OF_MEMORY;
    }
    fresh->of = from->of;
    task **link = &fresh->first;
    for (const task *each = from->first; each && !double_has(FAULT_GRAPHS); each = each->next) {
        *link = malloc(sizeof **link);
        if (!*link) {
            break;
        }
        **link = *each;
        (*link)->next = NULL;
        link = &(*link)->next;
    }
    cuda_double.graphs++;
    *made = fresh;
    return BP__CU_SUCCESS;
}

CUresult cuGraphDestroy(CUgraph gone) {
    free_tasks(gone->first);
    free(gone);
    cuda_double.graphs--;
    return double_ready();
}

/* A launch runs after the graph's earlier launches. */
CUresult cuGraphLaunch(CUgraphExec run, CUstream handle) {
    context *current;
    CUresult code = double_enter(&current);
    if (code != BP__CU_SUCCESS) {
        return code;
    }
    pthread_mutex_lock(&double_mutex);
    stream *own = double_stream(current, handle);
    const task launch = {.kind = TASK_GRAPH, .graph = run, .wait_count = 1, .waits = {run->last}};
    code = own ? double_enqueue(own, &launch) : BP__CU_INVALID_HANDLE;
    if (code == BP__CU_SUCCESS) {
        run->pending++;
        run->last = (point){own, own->enqueued};
        cuda_double.graph_launches++;
    }
    pthread_mutex_unlock(&double_mutex);
    return code;
}

CUresult cuGraphExecDestroy(CUgraphExec gone) {
    const CUresult code = double_ready();
    pthread_mutex_lock(&double_mutex);
    if (gone->pending > 0 && gone->of->error == BP__CU_SUCCESS) {
        double_violate("a graph is destroyed that runs");
    }
    if (gone->pending == 0) {
        free_tasks(gone->first);
        free(gone);
    }
    cuda_double.graphs--;
    pthread_mutex_unlock(&double_mutex);
    return code;
}
