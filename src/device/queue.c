/* queue.c - opens, wraps, shares and closes queues, and waits for them. */
#include "device/private.h"
#include "base/uncancelled.h"

#include <stdio.h>
#include <string.h>

static _Atomic uint64_t numbers;

/* ---- Opening and closing ---- */

static bool init_locks(bp_queue *queue) {
    pthread_mutexattr_t recursive;
    bool done = pthread_mutexattr_init(&recursive) == 0;
    if (done) {
        done = pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE) == 0 &&
               pthread_mutex_init(&queue->run, &recursive) == 0;
        pthread_mutexattr_destroy(&recursive);
    }
    return done && pthread_mutex_init(&queue->mutex, NULL) == 0;
}

/* Frees a queue that is in no list. In a child of fork, the locks may be held by a thread that does not exist there. */
static void free_queue(bp_queue *queue, bool forked) {
    if (!forked) {
        pthread_mutex_destroy(&queue->run);
        pthread_mutex_destroy(&queue->mutex);
        if (queue->handle) {
            queue->device->runtime->queue_close(queue->handle);
        }
    }
    bp__free(queue);
}

bp_status bp__queue_open(bp__device *device, uint32_t flags, void *native, bp_queue **queue) {
    void *handle;
    *queue = NULL;
    BP__TRY(bp__device_handle(device, &handle));
    bp_queue *made = bp__alloc_zero(1, sizeof *made);
    if (!made) {
        return bp__fail_memory(sizeof *made, "a queue");
    }
    if (!init_locks(made)) {
        bp__free(made);
        return bp__fail(BP_E_SYSTEM, "a mutex cannot be made");
    }
    made->device = device;
    made->native = native;
    made->flags = flags;
    made->number = atomic_fetch_add_explicit(&numbers, 1, memory_order_relaxed) + 1;
    atomic_init(&made->users, 1);
    atomic_init(&made->oldest, UINT64_MAX);
    bp_status status = device->runtime->queue_open(handle, flags, native, &made->handle);
    if (status != BP_OK) {
        free_queue(made, false);
        return status;
    }
    pthread_mutex_lock(&device->mutex);
    bp__queues_sweep(device);
    made->next = device->queues;
    device->queues = made;
    pthread_mutex_unlock(&device->mutex);
    *queue = made;
    return BP_OK;
}

void bp__queue_hold(bp_queue *queue) {
    atomic_fetch_add_explicit(&queue->users, 1, memory_order_relaxed);
}

/* Keeps the failure of a queue that is closed, for bp_device_wait(). */
static void inherit_failure(bp__device *device, const bp__failure *failure) {
    if (failure->is_set && device->failure.is_set) {
        device->failure.more += 1 + failure->more;
    } else if (failure->is_set) {
        device->failure = *failure;
    }
}

void bp__queues_sweep(bp__device *device) {
    for (bp_queue **link = &device->queues; *link;) {
        bp_queue *queue = *link;
        bool done = atomic_load_explicit(&queue->users, memory_order_acquire) == 0;
        if (done) {
            pthread_mutex_lock(&queue->mutex);
            bp__commands_look(queue);
            done = !queue->first;
            pthread_mutex_unlock(&queue->mutex);
        }
        if (done) {
            inherit_failure(device, &queue->failure);
            *link = queue->next;
            free_queue(queue, false);
        } else {
            link = &queue->next;
        }
    }
}

void bp__queue_drop(bp_queue *queue) {
    bp__device *device = queue->device;
    if (bp__device_is(device, BP_DEVICE_FORKED)) {
        if (atomic_fetch_sub_explicit(&queue->users, 1, memory_order_acq_rel) == 1) {
            free_queue(queue, true);
        }
        return;
    }
    /* Under the device's mutex, because another thread may close queues without users at any time. */
    pthread_mutex_lock(&device->mutex);
    if (atomic_fetch_sub_explicit(&queue->users, 1, memory_order_acq_rel) == 1) {
        bp__queues_sweep(device);
    }
    pthread_mutex_unlock(&device->mutex);
}

uint64_t bp__queues_oldest(bp__device *device, const bp_queue *except, bool look) {
    uint64_t oldest = UINT64_MAX;
    for (bp_queue *queue = device->queues; queue; queue = queue->next) {
        if (queue == except) {
            continue;
        }
        if (look) {
            pthread_mutex_lock(&queue->mutex);
            bp__commands_look(queue);
            pthread_mutex_unlock(&queue->mutex);
        }
        const uint64_t own = atomic_load_explicit(&queue->oldest, memory_order_acquire);
        oldest = own < oldest ? own : oldest;
    }
    return oldest;
}

bp_status bp__queue_usable(const bp_queue *queue) {
    if (!queue) {
        return bp__fail(BP_E_ARGUMENT, "argument 'queue' is NULL");
    }
    return bp__device_usable(queue->device);
}

/* ---- Waiting ---- */

/* Returns the last command with a reference; NULL: all have ended. */
static bp__command *last_of(bp_queue *queue) {
    pthread_mutex_lock(&queue->mutex);
    bp__commands_look(queue);
    bp__command *last = queue->last;
    if (last) {
        atomic_fetch_add_explicit(&last->references, 1, memory_order_relaxed);
    }
    pthread_mutex_unlock(&queue->mutex);
    return last;
}

/* Waits for the commands that the queue has now. */
static bp_status wait_for(bp_queue *queue) {
    char what[96];
    BP__TRY(bp__queue_refuse_capture(queue, "the wait for a queue"));
    bp__command *last = last_of(queue);
    if (!last) {
        return BP_OK;
    }
    snprintf(what, sizeof what, "the wait for a queue of device %s", queue->device->info.id);
    bp_status status = bp__commands_wait(queue, last, -1, what);
    bp__command_drop(last);
    return status;
}

bp_status bp__queue_take_failure(bp_queue *queue) {
    pthread_mutex_lock(&queue->mutex);
    bp__commands_look(queue);
    const bp__failure failure = queue->failure;
    queue->failure = (bp__failure){.is_set = false};
    pthread_mutex_unlock(&queue->mutex);
    return failure.is_set ? bp__failure_tell(&failure, queue->device) : BP_OK;
}

bp_status bp__queue_finish(bp_queue *queue) {
    BP__TRY(wait_for(queue));
    return bp__queue_take_failure(queue);
}

bp_status bp_queue_wait(bp_queue *queue) {
    BP__UNCANCELLED;
    if (!queue || bp__device_is(queue->device, BP_DEVICE_FORKED)) {
        return bp__queue_usable(queue);
    }
    BP__TRY(bp__queue_finish(queue));
    return bp__queue_usable(queue); /* the device may have been lost by another queue */
}

bp_status bp_queue_error(bp_queue *queue) {
    BP__UNCANCELLED;
    if (!queue || bp__device_is(queue->device, BP_DEVICE_FORKED)) {
        return bp__queue_usable(queue);
    }
    pthread_mutex_lock(&queue->mutex);
    bp__commands_look(queue);
    const bp__failure failure = queue->failure;
    pthread_mutex_unlock(&queue->mutex);
    return failure.is_set ? bp__failure_tell(&failure, queue->device) : bp__queue_usable(queue);
}

/* Calls `visit` for each queue of the device, without locks. Returns the first error, after all were visited. */
static bp_status visit_all(bp__device *device, bp_status (*visit)(bp_queue *queue)) {
    int count = 0, held = 0;
    pthread_mutex_lock(&device->mutex);
    for (const bp_queue *each = device->queues; each; each = each->next) {
        count++;
    }
    bp_queue **queues = bp__alloc((size_t)(count + 1) * sizeof *queues);
    for (bp_queue *each = queues ? device->queues : NULL; each; each = each->next) {
        bp__queue_hold(each);
        queues[held++] = each;
    }
    pthread_mutex_unlock(&device->mutex);
    if (!queues) {
        return bp__fail_memory((size_t)count * sizeof *queues, "the list of a device's queues");
    }
    bp_status status = BP_OK;
    bp__held_error error;
    for (int i = 0; i < held; i++) {
        if (status == BP_OK) {
            status = visit(queues[i]);
        } else {
            bp__error_hold(&error);
            (void)visit(queues[i]);
            bp__error_return(&error);
        }
        bp__queue_drop(queues[i]);
    }
    bp__free(queues);
    return status;
}

bp_status bp__device_quiesce(bp__device *device) {
    return visit_all(device, wait_for);
}

bp_status bp_device_wait(int32_t place) {
    BP__UNCANCELLED;
    bp__device *device;
    if (place == 0) {
        return BP_OK; /* operations on the host have ended when they return */
    }
    BP__TRY(bp__device_named_by_place(place, &device));
    if (bp__device_is(device, BP_DEVICE_FORKED) || !atomic_load_explicit(&device->handle, memory_order_acquire)) {
        return bp__device_usable(device);
    }
    BP__TRY(visit_all(device, bp__queue_finish));
    pthread_mutex_lock(&device->mutex);
    bp__queues_sweep(device);
    const bp__failure failure = device->failure;
    device->failure = (bp__failure){.is_set = false};
    pthread_mutex_unlock(&device->mutex);
    return failure.is_set ? bp__failure_tell(&failure, device) : bp__device_usable(device);
}

/* ---- For the program ---- */

static bp_status check_out(bp_queue **queue, const char *function) {
    if (!queue) {
        return bp__fail(BP_E_ARGUMENT, "%s: argument 'queue' is NULL", function);
    }
    *queue = NULL;
    return BP_OK;
}

/* Counts a reference of the program. */
static void lend(void) {
    atomic_fetch_add_explicit(&bp__device_objects, 1, memory_order_relaxed);
}

bp_status bp_queue_new(bp_queue **queue, int32_t place, uint32_t flags) {
    BP__UNCANCELLED;
    bp__device *device;
    BP__TRY(check_out(queue, "bp_queue_new"));
    if (flags & ~BP_QUEUE_TIMED) {
        return bp__fail(BP_E_ARGUMENT, "bp_queue_new: argument 'flags' is %u; it must be 0 or BP_QUEUE_TIMED",
                        (unsigned)flags);
    }
    BP__TRY(bp__device_ready(place, &device));
    BP__TRY(bp__queue_open(device, flags, NULL, queue));
    lend();
    return BP_OK;
}

/* Returns whether the handle of a wrapped queue means the same queue in this thread. */
static bool is_of_thread(const bp_queue *queue) {
    const bp_runtime *runtime = queue->device->runtime;
    return !BP__RUNTIME_HAS(runtime, queue_of_thread) || runtime->queue_of_thread(queue->handle);
}

/* Returns the object of a queue that was wrapped before, with a further user, or NULL. The library's own queues have no
 * handle of the program, as the queue 0 has none; the flag tells them apart. */
static bp_queue *find_wrapped(bp__device *device, const void *native, uint32_t flags) {
    bp_queue *found = NULL;
    pthread_mutex_lock(&device->mutex);
    for (bp_queue *each = device->queues; each && !found; each = each->next) {
        if (each->native == native && (each->flags & BP_QUEUE_NATIVE_ZERO) == flags && is_of_thread(each)) {
            bp__queue_hold(each);
            found = each;
        }
    }
    pthread_mutex_unlock(&device->mutex);
    return found;
}

bp_status bp_queue_wrap(bp_queue **queue, int32_t place, void *native) {
    BP__UNCANCELLED;
    bp__device *device;
    BP__TRY(check_out(queue, "bp_queue_wrap"));
    BP__TRY(bp__device_ready(place, &device));
    const bp_runtime *runtime = device->runtime;
    const uint32_t flags = native ? 0 : BP_QUEUE_NATIVE_ZERO;
    if (!native && !(BP__RUNTIME_HAS(runtime, queue_flags) && (runtime->queue_flags & flags))) {
        return bp__fail(BP_E_ARGUMENT, "bp_queue_wrap: argument 'native' is NULL, which is no queue of %s",
                        runtime->name);
    }
    pthread_mutex_lock(&device->wrapping); /* so that two threads do not make two objects of one queue */
    *queue = find_wrapped(device, native, flags);
    bp_status status = *queue ? BP_OK : bp__queue_open(device, flags, native, queue);
    pthread_mutex_unlock(&device->wrapping);
    if (status == BP_OK) {
        lend();
    }
    return status;
}

bp_status bp_queue_current(bp_queue **queue, int32_t place) {
    BP__UNCANCELLED;
    bp__device *device;
    BP__TRY(check_out(queue, "bp_queue_current"));
    BP__TRY(bp__device_ready(place, &device));
    BP__TRY(bp__thread_queue(device, queue));
    bp__queue_hold(*queue);
    lend();
    return BP_OK;
}

void *bp_queue_native(bp_queue *queue) {
    BP__UNCANCELLED;
    if (!queue || bp__device_is(queue->device, BP_DEVICE_FORKED)) {
        return NULL;
    }
    return queue->device->runtime->queue_native(queue->handle);
}

int32_t bp_queue_place(const bp_queue *queue) {
    return queue ? queue->device->info.place : -1;
}

void bp_queue_release(bp_queue *queue) {
    BP__UNCANCELLED;
    if (queue) {
        if (!bp__device_is(queue->device, BP_DEVICE_FORKED)) {
            atomic_fetch_sub_explicit(&bp__device_objects, 1, memory_order_relaxed);
        }
        bp__queue_drop(queue);
    }
}
