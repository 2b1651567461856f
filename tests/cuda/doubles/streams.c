/* streams.c - streams and events of the double of libcuda.so.1: each stream has a thread that runs its commands after
 * random delays. */
#include "parts.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static stream *streams; /* they are never freed, since events name them */
static event *events;

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

void double_visit_streams(void (*visit)(stream *each, void *user), void *user) {
    for (stream *each = streams; each; each = each->next) {
        visit(each, user);
    }
}

/* ---- The thread of a stream ---- */

bool double_reached(const point *at) {
    return !at->of || at->of->done >= at->count;
}

static bool may_run(const task *first) {
    if (cuda_double.closed) {
        return false;
    }
    for (int i = 0; i < first->wait_count; i++) {
        if (!double_reached(&first->waits[i])) {
            return false;
        }
    }
    return true;
}

/* Sleeps for a random time, without the mutex. */
static void delay(unsigned *seed) {
    const int longest = cuda_double.longest_delay_us;
    *seed = *seed * 1664525 + 1013904223;
    if (longest > 0) {
        pthread_mutex_unlock(&double_mutex);
        nanosleep(&(struct timespec){.tv_nsec = (long)((*seed >> 8) % (unsigned)longest) * 1000}, NULL);
        pthread_mutex_lock(&double_mutex);
    }
}

static bool is_event(const event *wanted) {
    for (const event *each = events; each; each = each->next) {
        if (each == wanted) {
            return true;
        }
    }
    return false;
}

/* Runs the first command and takes it off. */
static void run_first(stream *own) {
    task *first = own->first;
    CUresult code = own->of->error;
    if (code == BP__CU_SUCCESS) {
        const int fail_at = first->kind == TASK_MARK || first->kind == TASK_WAIT ? 0 : cuda_double.fail_at;
        cuda_double.fail_at -= fail_at > 0;
        cuda_double.commands += first->kind != TASK_MARK && first->kind != TASK_WAIT;
        code = fail_at == 1 ? (CUresult)cuda_double.fail_with : double_run(first);
    }
    if (code != BP__CU_SUCCESS) {
        own->of->error = code;
    }
    own->done++;
    if (first->kind == TASK_MARK && is_event(first->marked) && first->marked->at.of == own &&
        first->marked->at.count == own->done) {
        first->marked->time_ns = now() + cuda_double.spent_ns;
    }
    if (first->kind == TASK_GRAPH) {
        first->graph->pending--;
    }
    own->first = first->next;
    own->last = own->first ? own->last : NULL;
    free(first);
}

static void *run_stream(void *opaque) {
    stream *own = opaque;
    unsigned seed = (unsigned)(uintptr_t)own;
    pthread_mutex_lock(&double_mutex);
    while (!own->destroyed || own->first) {
        if (!own->first || !may_run(own->first)) {
            pthread_cond_wait(&double_changed, &double_mutex);
            continue;
        }
        delay(&seed);
        run_first(own);
        pthread_cond_broadcast(&double_changed);
    }
    pthread_mutex_unlock(&double_mutex);
    return NULL;
}

stream *double_new_stream(context *of, bool blocking) {
    pthread_t thread;
    stream *made = calloc(1, sizeof *made);
    if (!made) {
        return NULL;
    }
    *made = (stream){.next = streams, .of = of, .blocking = blocking};
    if (pthread_create(&thread, NULL, run_stream, made) != 0) {
        free(made);
        return NULL;
    }
    pthread_detach(thread);
    streams = made;
    return made;
}

void double_drain(const context *of) {
    for (stream *each = streams; each; each = each->next) {
        while (each->of == of && each->first) {
            pthread_cond_wait(&double_changed, &double_mutex);
        }
    }
}

/* ---- Handles ---- */

static stream *stream_of_thread(context *current) {
    const pthread_t self = pthread_self();
    for (stream *each = streams; each; each = each->next) {
        if (each->of == current && each->of_thread &&
            (double_has(FAULT_PER_THREAD) || pthread_equal(each->thread, self))) {
            return each;
        }
    }
    stream *made = double_new_stream(current, true);
    if (made) {
        made->thread = self;
        made->of_thread = true;
    }
    return made;
}

stream *double_stream(context *current, CUstream handle) {
    if (!handle || handle == BP__CU_STREAM_LEGACY) {
        return current->legacy;
    }
    if (handle == BP__CU_STREAM_PER_THREAD) {
        return stream_of_thread(current);
    }
    for (stream *each = streams; each; each = each->next) {
        if (each == handle && !each->destroyed) {
            return each->of == current ? each : NULL;
        }
    }
    double_violate("a stream is used that does not exist");
    return NULL;
}

/* ---- Enqueueing ---- */

/* Adds the waits of the default stream for the blocking ones, and of these for it. */
static void add_default_waits(const stream *to, task *made) {
    stream *legacy = to->of->legacy;
    if (double_has(FAULT_LEGACY) || !to->blocking) {
        return;
    }
    for (stream *each = streams; each; each = each->next) {
        const bool waited_for = to == legacy ? each != to && each->blocking : each == legacy;
        if (each->of == to->of && waited_for && each->first && made->wait_count < WAITS_MOST) {
            made->waits[made->wait_count++] = (point){each, each->enqueued};
        }
    }
}

CUresult double_enqueue(stream *to, const task *filled) {
    const int refused = cuda_double.refuse;
    if (refused) {
        return (CUresult)refused;
    }
    CUresult code = double_note(to, filled);
    if (code != BP__CU_SUCCESS || to->capture) {
        return code;
    }
    task *made = malloc(sizeof *made);
    if (!made) {
        return BP__CU_OUT_OF_MEMORY;
    }
    *made = *filled;
    made->next = NULL;
    add_default_waits(to, made);
    if (to->last) {
        to->last->next = made;
    } else {
        to->first = made;
    }
    to->last = made;
    to->enqueued++;
    pthread_cond_broadcast(&double_changed);
    return BP__CU_SUCCESS;
}

/* ---- The driver's functions for streams ---- */

CUresult cuStreamCreate(CUstream *made, unsigned flags) {
    context *current;
    CUresult code = double_enter(&current);
    if (code != BP__CU_SUCCESS) {
        return code;
    }
    pthread_mutex_lock(&double_mutex);
    *made = double_new_stream(current, !(flags & BP__CU_STREAM_NON_BLOCKING));
    cuda_double.streams += *made != NULL;
    pthread_mutex_unlock(&double_mutex);
    return *made ? BP__CU_SUCCESS : BP__CU_OUT_OF_MEMORY;
}

CUresult cuStreamDestroy_v2(CUstream handle) {
    context *current;
    const CUresult code = double_enter(&current);
    pthread_mutex_lock(&double_mutex);
    stream *own = current ? double_stream(current, handle) : NULL;
    if (own && own != current->legacy && !own->of_thread) {
        if (own->capture) {
            double_violate("a stream is destroyed that is captured");
        }
        own->destroyed = true;
        cuda_double.streams--;
        pthread_cond_broadcast(&double_changed);
    }
    pthread_mutex_unlock(&double_mutex);
    return code ? code : own ? BP__CU_SUCCESS : BP__CU_INVALID_HANDLE;
}

CUresult cuStreamGetCtx(CUstream handle, CUcontext *of) {
    context *current;
    const CUresult code = double_enter(&current);
    CUresult found = BP__CU_INVALID_HANDLE;
    pthread_mutex_lock(&double_mutex);
    for (stream *each = streams; each; each = each->next) {
        if (each == handle && !each->destroyed) {
            *of = each->of;
            found = BP__CU_SUCCESS;
        }
    }
    pthread_mutex_unlock(&double_mutex);
    return code ? code : found;
}

/* Asks for a stream, or waits for it. */
static CUresult ask_stream(CUstream handle, bool wait) {
    context *current;
    CUresult code = double_enter(&current);
    if (code != BP__CU_SUCCESS) {
        return code;
    }
    pthread_mutex_lock(&double_mutex);
    stream *own = double_stream(current, handle);
    code = own ? double_unsafe() : BP__CU_INVALID_HANDLE;
    if (code == BP__CU_SUCCESS && own->capture) {
        own->invalidated = true;
        code = BP__CU_STREAM_CAPTURE_UNSUPPORTED;
    }
    while (code == BP__CU_SUCCESS && own->first) {
        if (!wait) {
            code = BP__CU_NOT_READY;
        } else {
            pthread_cond_wait(&double_changed, &double_mutex);
        }
    }
    code = code ? code : current->error;
    pthread_mutex_unlock(&double_mutex);
    return code;
}

CUresult cuStreamSynchronize(CUstream handle) {
    return ask_stream(handle, true);
}

CUresult cuStreamQuery(CUstream handle) {
    return ask_stream(handle, false);
}

/* An event that a capture has recorded belongs to it: other streams would join it, which we never do. */
CUresult cuStreamWaitEvent(CUstream handle, CUevent waited, unsigned flags) {
    context *current;
    CUresult code = double_enter(&current);
    if (code != BP__CU_SUCCESS) {
        return code;
    }
    pthread_mutex_lock(&double_mutex);
    stream *own = double_stream(current, handle);
    const bool known = is_event(waited);
    code = !own || !known     ? BP__CU_INVALID_HANDLE
           : flags            ? BP__CU_INVALID_VALUE
           : waited->captured ? BP__CU_CAPTURED_EVENT
                              : BP__CU_SUCCESS;
    if (code == BP__CU_SUCCESS && waited->at.of && !double_has(FAULT_WAITS)) {
        const task wait = {.kind = TASK_WAIT, .wait_count = 1, .waits = {waited->at}};
        code = double_enqueue(own, &wait);
    }
    if (!known) {
        double_violate("a wait for an event that does not exist");
    }
    pthread_mutex_unlock(&double_mutex);
    return code;
}

/* ---- Events ---- */

CUresult cuEventCreate(CUevent *made, unsigned flags) {
    context *current;
    const CUresult code = double_enter(&current);
    event *fresh = code ? NULL : calloc(1, sizeof *fresh);
    if (!fresh) {
        return code ? code : BP__CU_OUT_OF_MEMORY;
    }
    pthread_mutex_lock(&double_mutex);
    *fresh = (event){.next = events, .of = current, .timed = !(flags & BP__CU_EVENT_DISABLE_TIMING)};
    events = fresh;
    cuda_double.events++;
    cuda_double.event_creations++;
    pthread_mutex_unlock(&double_mutex);
    *made = fresh;
    return BP__CU_SUCCESS;
}

CUresult cuEventDestroy_v2(CUevent gone) {
    const CUresult code = double_ready();
    pthread_mutex_lock(&double_mutex);
    for (event **link = &events; *link; link = &(*link)->next) {
        if (*link == gone) {
            *link = gone->next;
            free(gone);
            cuda_double.events--;
            break;
        }
    }
    pthread_mutex_unlock(&double_mutex);
    return code;
}

CUresult cuEventRecord(CUevent marked, CUstream handle) {
    context *current;
    CUresult code = double_enter(&current);
    if (code != BP__CU_SUCCESS) {
        return code;
    }
    pthread_mutex_lock(&double_mutex);
    stream *own = double_stream(current, handle);
    code = !own || !is_event(marked) || marked->of != own->of ? BP__CU_INVALID_HANDLE : BP__CU_SUCCESS;
    if (code == BP__CU_SUCCESS) {
        const task mark = {.kind = TASK_MARK, .marked = marked};
        code = double_enqueue(own, &mark);
    }
    if (code == BP__CU_SUCCESS) {
        marked->captured = own->capture != NULL;
        const bool at_once = double_has(FAULT_EVENTS) && cuda_double.closed;
        marked->at = marked->captured || at_once ? (point){NULL, 0} : (point){own, own->enqueued};
        marked->time_ns = 0;
    }
    pthread_mutex_unlock(&double_mutex);
    return code;
}

/* Asks for an event, or waits for it. */
static CUresult ask_event(event *asked, bool wait) {
    context *current;
    CUresult code = double_enter(&current);
    if (code != BP__CU_SUCCESS) {
        return code;
    }
    pthread_mutex_lock(&double_mutex);
    code = is_event(asked) ? double_unsafe() : BP__CU_INVALID_HANDLE;
    code = code == BP__CU_SUCCESS && asked->captured ? BP__CU_CAPTURED_EVENT : code;
    while (code == BP__CU_SUCCESS && !double_reached(&asked->at)) {
        if (!wait) {
            code = BP__CU_NOT_READY;
        } else {
            pthread_cond_wait(&double_changed, &double_mutex);
        }
    }
    if ((code == BP__CU_SUCCESS || code == BP__CU_NOT_READY) && current->error && !double_has(FAULT_STICKY)) {
        code = current->error;
    }
    pthread_mutex_unlock(&double_mutex);
    return code;
}

CUresult cuEventQuery(CUevent asked) {
    return ask_event(asked, false);
}

CUresult cuEventSynchronize(CUevent asked) {
    return ask_event(asked, true);
}

CUresult cuEventElapsedTime(float *ms, CUevent from, CUevent to) {
    context *current;
    CUresult code = double_enter(&current);
    if (code != BP__CU_SUCCESS) {
        return code;
    }
    pthread_mutex_lock(&double_mutex);
    code = !is_event(from) || !is_event(to) || !from->timed || !to->timed ? BP__CU_INVALID_HANDLE
           : !double_reached(&from->at) || !double_reached(&to->at)       ? BP__CU_NOT_READY
                                                                          : BP__CU_SUCCESS;
    if (code == BP__CU_SUCCESS) {
        *ms = double_has(FAULT_TIMES) ? 0 : (float)((double)(to->time_ns - from->time_ns) / 1e6);
    }
    pthread_mutex_unlock(&double_mutex);
    return code;
}
