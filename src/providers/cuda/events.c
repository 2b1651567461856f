/* events.c - marks, waits, and the states and times of events.
 *
 * Each command has an event, and making one takes the driver longer than recording it. So events are used again. */
#include "providers/cuda/runtime.h"

#include <time.h>

/* ---- Unused events ---- */

static bp__cu_event *take_unused(bp__cu_device *device, bool timed) {
    pthread_mutex_lock(&device->mutex);
    bp__cu_event *event = device->unused[timed];
    if (event) {
        device->unused[timed] = event->next;
    }
    pthread_mutex_unlock(&device->mutex);
    return event;
}

static void put_unused(bp__cu_event *event) {
    bp__cu_device *device = event->device;
    pthread_mutex_lock(&device->mutex);
    event->next = device->unused[event->timed];
    device->unused[event->timed] = event;
    pthread_mutex_unlock(&device->mutex);
}

/* Makes the object of an event, with one reference. NULL with a message without memory. */
static bp__cu_event *new_object(bp__cu_device *device) {
    bp__cu_event *event = device->host->allocate(sizeof *event);
    if (event) {
        *event = (bp__cu_event){.device = device};
        atomic_init(&event->references, 1);
    } else {
        device->host->fail(BP_E_NO_MEMORY, "cuda: no memory for an event");
    }
    return event;
}

static bp_status new_event(bp__cu_device *device, bool timed, bp__cu_event **event) {
    *event = new_object(device);
    if (!*event) {
        return BP_E_NO_MEMORY;
    }
    (*event)->owned = true;
    (*event)->timed = timed;
    const CUresult code = bp__cu.EventCreate(&(*event)->native, timed ? 0 : BP__CU_EVENT_DISABLE_TIMING);
    if (code != BP__CU_SUCCESS) {
        device->host->release(*event);
        return bp__cu_fail(device->host, code, "cuEventCreate");
    }
    return BP_OK;
}

int64_t bp__cu_device_error(void *opaque) {
    bp__cu_device *device = opaque;
    bp__cu_scope scope;
    CUresult code = bp__cu_enter(device, true, &scope);
    pthread_mutex_lock(&device->mutex);
    if (code == BP__CU_SUCCESS && !device->never) {
        code = bp__cu.EventCreate(&device->never, BP__CU_EVENT_DISABLE_TIMING);
    }
    code = code ? code : bp__cu.EventQuery(device->never);
    pthread_mutex_unlock(&device->mutex);
    bp__cu_leave(&scope);
    return bp__cu_ends_use((int64_t)code) ? (int64_t)code : 0;
}

void bp__cu_events_free(bp__cu_device *device) {
    if (device->never) {
        bp__cu.EventDestroy(device->never);
    }
    for (int timed = 0; timed < 2; timed++) {
        while (device->unused[timed]) {
            bp__cu_event *event = device->unused[timed];
            device->unused[timed] = event->next;
            bp__cu.EventDestroy(event->native);
            device->host->release(event);
        }
    }
}

/* ---- Marks and waits ---- */

bp_status bp__cu_mark(const bp__cu_queue *queue, void **event) {
    bp__cu_device *device = queue->device;
    bp__cu_event *taken = take_unused(device, queue->timed);
    const bp_status status = taken ? BP_OK : new_event(device, queue->timed, &taken);
    if (status != BP_OK) {
        return status;
    }
    atomic_store_explicit(&taken->references, 1, memory_order_relaxed);
    const CUresult code = bp__cu.EventRecord(taken->native, queue->native);
    if (code != BP__CU_SUCCESS) {
        put_unused(taken);
        return bp__cu_fail(device->host, code, "cuEventRecord");
    }
    *event = taken;
    return BP_OK;
}

bp_status bp__cu_wait(void *opaque, int count, void *const *events, void **event) {
    const bp__cu_queue *queue = opaque;
    bp__cu_scope scope;
    bp_status status = bp__cu_queue_check(queue);
    if (status != BP_OK) {
        return status;
    }
    CUresult code = bp__cu_enter(queue->device, false, &scope);
    for (int i = 0; i < count && code == BP__CU_SUCCESS; i++) {
        code = bp__cu.StreamWaitEvent(queue->native, ((const bp__cu_event *)events[i])->native, 0);
    }
    status = code == BP__CU_SUCCESS ? bp__cu_mark(queue, event)
                                    : bp__cu_fail(queue->device->host, code, "cuStreamWaitEvent");
    bp__cu_leave(&scope);
    return status;
}

/* ---- States and times ---- */

static bp_event_state state_of(CUresult code, int64_t *number) {
    if (code == BP__CU_NOT_READY) {
        return BP_EVENT_PENDING;
    }
    *number = (int64_t)code;
    return code == BP__CU_SUCCESS ? BP_EVENT_DONE : BP_EVENT_FAILED;
}

/* Asks for, or waits for, an event by a function of the driver. */
static bp_event_state ask(const bp__cu_event *event, CUresult (*function)(CUevent), int64_t *number) {
    bp__cu_scope scope;
    CUresult code = bp__cu_enter(event->device, true, &scope);
    code = code ? code : function(event->native);
    bp__cu_leave(&scope);
    return state_of(code, number);
}

bp_event_state bp__cu_event_state(void *event, int64_t *code) {
    return ask(event, bp__cu.EventQuery, code);
}

int64_t bp__cu_now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

/* The driver has no wait with a time limit, so the event is asked for its state again and again. */
bp_event_state bp__cu_event_sync(void *event, int64_t timeout_ns, int64_t *code) {
    enum { FIRST_NS = 10000, LONGEST_NS = 1000000 };
    if (timeout_ns < 0) {
        return ask(event, bp__cu.EventSynchronize, code);
    }
    const int64_t start = bp__cu_now();
    for (int64_t pause = FIRST_NS;; pause = 2 * pause < LONGEST_NS ? 2 * pause : LONGEST_NS) {
        const bp_event_state state = bp__cu_event_state(event, code);
        const int64_t left = timeout_ns - (bp__cu_now() - start);
        if (state != BP_EVENT_PENDING || left <= 0) {
            return state;
        }
        nanosleep(&(struct timespec){.tv_nsec = (long)(pause < left ? pause : left)}, NULL);
    }
}

/* The driver tells the time between two events only, in ms as a float: with a resolution of about 0.5 us, and less if
 * they are more than some seconds apart. */
bp_status bp__cu_event_elapsed(void *from, void *to, int64_t *ns) {
    const bp__cu_event *first = from, *last = to;
    bp__cu_scope scope;
    float ms = 0;
    CUresult code = bp__cu_enter(first->device, true, &scope);
    code = code ? code : bp__cu.EventElapsedTime(&ms, first->native, last->native);
    bp__cu_leave(&scope);
    if (code != BP__CU_SUCCESS) {
        return code == BP__CU_INVALID_HANDLE ? bp__cu_host->fail(BP_E_UNSUPPORTED, "cuda: the events have no times")
                                             : bp__cu_fail(bp__cu_host, code, "cuEventElapsedTime");
    }
    const double exact = (double)ms * 1e6;
    *ns = (int64_t)(exact < 0 ? exact - 0.5 : exact + 0.5);
    return BP_OK;
}

/* ---- References ---- */

/* CUDA's events have no references: the program keeps its own ones. */
bp_status bp__cu_event_wrap(void *opaque, void *native, void **event) {
    bp__cu_event *wrapped = new_object(opaque);
    if (!wrapped) {
        return BP_E_NO_MEMORY;
    }
    wrapped->native = native;
    *event = wrapped;
    return BP_OK;
}

void bp__cu_event_hold(bp__cu_event *event) {
    atomic_fetch_add_explicit(&event->references, 1, memory_order_relaxed);
}

void bp__cu_event_release(void *opaque) {
    bp__cu_event *event = opaque;
    if (atomic_fetch_sub_explicit(&event->references, 1, memory_order_acq_rel) > 1) {
        return;
    }
    if (event->owned) {
        put_unused(event);
    } else {
        event->device->host->release(event);
    }
}
