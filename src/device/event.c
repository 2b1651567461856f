/* event.c - records events, waits for them on devices and in threads, and reads their times. */
#include "device/private.h"
#include "base/uncancelled.h"

#include <stdio.h>

struct bp_event {
    bp__device *device;
    bp_queue *queue; /* held; NULL: the program's own event */
    bp__command *command;
};

static bp_status make(bp__device *device, bp_queue *queue, bp__command *command, bp_event **event) {
    bp_event *made = bp__alloc_zero(1, sizeof *made);
    if (!made) {
        bp__command_drop(command);
        return bp__fail_memory(sizeof *made, "an event");
    }
    *made = (bp_event){.device = device, .queue = queue, .command = command};
    if (queue) {
        bp__queue_hold(queue);
    }
    atomic_fetch_add_explicit(&bp__device_objects, 1, memory_order_relaxed);
    *event = made;
    return BP_OK;
}

static bp_status check_out(bp_event **event, const char *function) {
    if (!event) {
        return bp__fail(BP_E_ARGUMENT, "%s: argument 'event' is NULL", function);
    }
    *event = NULL;
    return BP_OK;
}

static bp_status check_event(const bp_event *event) {
    if (!event) {
        return bp__fail(BP_E_ARGUMENT, "argument 'event' is NULL");
    }
    return bp__device_is(event->device, BP_DEVICE_FORKED) ? bp__device_usable(event->device) : BP_OK;
}

bp_status bp_event_record(bp_event **event, bp_queue *queue) {
    BP__UNCANCELLED;
    bp__command *command;
    BP__TRY(check_out(event, "bp_event_record"));
    BP__TRY(bp__queue_usable(queue));
    pthread_mutex_lock(&queue->run);
    bp_status status = bp__command_mark(queue, "an event", &command);
    pthread_mutex_unlock(&queue->run);
    return status == BP_OK ? make(queue->device, queue, command, event) : status;
}

bp_status bp_event_wrap(bp_event **event, int32_t place, void *native) {
    BP__UNCANCELLED;
    bp__device *device;
    BP__TRY(check_out(event, "bp_event_wrap"));
    if (!native) {
        return bp__fail(BP_E_ARGUMENT, "bp_event_wrap: argument 'native' is NULL");
    }
    BP__TRY(bp__device_ready(place, &device));
    bp__command *command = bp__alloc_zero(1, sizeof *command);
    if (!command) {
        return bp__fail_memory(sizeof *command, "an event");
    }
    atomic_init(&command->references, 1);
    command->device = device;
    bp__copy_text(command->run, sizeof command->run, "the program's own work");
    bp_status status = device->runtime->event_wrap(atomic_load_explicit(&device->handle, memory_order_acquire), native,
                                                   &command->event);
    if (status != BP_OK) {
        bp__command_drop(command);
        return status;
    }
    return make(device, NULL, command, event);
}

/* ---- Waiting ---- */

/* Reads the state of an event, without waiting. *failure is set if it, or a command before it, has failed. */
static bp_event_state state_of(bp_event *event, bp__failure *failure) {
    bp__command *command = event->command;
    const bp_runtime *runtime = event->device->runtime;
    *failure = (bp__failure){.is_set = false};
    int64_t code = 0;
    bp_event_state state = runtime->event_state(command->event, &code);
    if (event->queue) {
        pthread_mutex_lock(&event->queue->mutex);
        bp__commands_look(event->queue);
        *failure = command->failure;
        state = command->state;
        pthread_mutex_unlock(&event->queue->mutex);
    } else if (state == BP_EVENT_FAILED) {
        int lost = 0;
        const char *name = runtime->error_name(code, &lost);
        *failure = (bp__failure){
            .is_set = true, .found_later = (lost & BP_ERROR_FOUND_LATER) != 0, .status = BP_E_DEVICE, .code = code};
        bp__copy_text(failure->run, sizeof failure->run, command->run);
        bp__copy_text(failure->error, sizeof failure->error, name ? name : "unknown error");
    }
    return failure->is_set ? BP_EVENT_FAILED : state;
}

bp_status bp_event_sync(bp_event *event, int64_t timeout_ns) {
    BP__UNCANCELLED;
    char what[96];
    bp__failure failure;
    BP__TRY(check_event(event));
    snprintf(what, sizeof what, "the wait for an event of device %s", event->device->info.id);
    if (event->queue) {
        BP__TRY(bp__queue_refuse_capture(event->queue, what));
        BP__TRY(bp__commands_wait(event->queue, event->command, timeout_ns, what));
    } else {
        BP__TRY(bp__command_wait(event->command, timeout_ns, what));
    }
    const bp_event_state state = state_of(event, &failure);
    return failure.is_set              ? bp__failure_tell(&failure, event->device)
           : state == BP_EVENT_PENDING ? bp__device_usable(event->device) /* it was lost meanwhile */
                                       : BP_OK;
}

/* Enqueues a wait for events, which are of the queue's runtime. */
static bp_status wait_on_device(bp_queue *queue, bp_event *const *events, int count) {
    enum { AT_ONCE = 16 };
    void *natives[AT_ONCE];
    for (int done = 0; done < count; done += AT_ONCE) {
        void *reached = NULL;
        const int some = count - done < AT_ONCE ? count - done : AT_ONCE;
        for (int i = 0; i < some; i++) {
            natives[i] = events[done + i]->command->event;
        }
        BP__TRY(queue->device->runtime->wait(queue->handle, some, natives, &reached));
        BP__TRY(bp__command_add(queue, reached, "the wait for an event", NULL, 0, NULL));
    }
    return BP_OK;
}

/* Makes the queue wait for one event: on the device if the runtime can, else in this thread. */
static bp_status wait_for_one(bp_queue *queue, bp_event *event) {
    bp__failure failure;
    const bp_event_state state = state_of(event, &failure);
    if (failure.is_set) {
        return bp__failure_tell(&failure, event->device);
    }
    if (state == BP_EVENT_DONE || (event->queue == queue)) {
        return BP_OK; /* a queue runs its commands in order */
    }
    if (event->device->runtime == queue->device->runtime) {
        bp__held_error held;
        bp__error_hold(&held);
        bp_status status = wait_on_device(queue, &event, 1);
        if (status != BP_E_UNSUPPORTED) {
            return status;
        }
        bp__error_return(&held);
    }
    return bp_event_sync(event, -1);
}

bp_status bp__queue_after(bp_queue *queue, bp_event *const *events, size_t count) {
    if (count > 0 && !events) {
        return bp__fail(BP_E_ARGUMENT, "exec: 'after' is NULL, but 'after_count' is %zu", count);
    }
    for (size_t i = 0; i < count; i++) {
        BP__TRY(check_event(events[i]));
    }
    bp_status status = count > 0 ? bp__queue_refuse_capture(queue, "the wait for an event") : BP_OK;
    pthread_mutex_lock(&queue->run);
    for (size_t i = 0; i < count && status == BP_OK; i++) {
        status = wait_for_one(queue, events[i]);
    }
    pthread_mutex_unlock(&queue->run);
    return status;
}

bp_status bp_event_wait(bp_queue *queue, bp_event *event) {
    BP__UNCANCELLED;
    BP__TRY(bp__queue_usable(queue));
    return bp__queue_after(queue, &event, 1);
}

bp_status bp__queue_follow(bp_queue *later, bp_queue *earlier) {
    bp_event *mark;
    if (later == earlier) {
        return BP_OK;
    }
    BP__TRY(bp_event_record(&mark, earlier));
    bp_status status = bp__queue_after(later, &mark, 1);
    bp_event_release(mark);
    return status;
}

/* ---- Times ---- */

/* Reads the time between the ends of two events from the runtime. */
static bp_status read_elapsed(const bp_runtime *runtime, void *from, void *to, int64_t *ns) {
    int64_t start, begin, end;
    if (BP__RUNTIME_HAS(runtime, event_elapsed)) {
        return runtime->event_elapsed(from, to, ns);
    }
    BP__TRY(runtime->event_times(from, &start, &begin));
    BP__TRY(runtime->event_times(to, &start, &end));
    *ns = end - begin;
    return BP_OK;
}

bp_status bp_event_elapsed(bp_event *from, bp_event *to, int64_t *ns) {
    BP__UNCANCELLED;
    int64_t between;
    bp__failure failure;
    bp_event *const both[] = {from, to};
    if (!ns) {
        return bp__fail(BP_E_ARGUMENT, "bp_event_elapsed: argument 'ns' is NULL");
    }
    for (int i = 0; i < 2; i++) {
        BP__TRY(check_event(both[i]));
    }
    if (from->device != to->device) {
        return bp__fail(BP_E_ARGUMENT, "bp_event_elapsed: the events are of two devices, %s and %s",
                        from->device->info.id, to->device->info.id);
    }
    for (int i = 0; i < 2; i++) {
        if (!both[i]->queue || !(both[i]->queue->flags & BP_QUEUE_TIMED)) {
            return bp__fail(BP_E_UNSUPPORTED,
                            "bp_event_elapsed: event '%s' is not of a queue that was made with "
                            "BP_QUEUE_TIMED",
                            i ? "to" : "from");
        }
    }
    for (int i = 0; i < 2; i++) {
        const bp_event_state state = state_of(both[i], &failure);
        if (failure.is_set) {
            return bp__failure_tell(&failure, both[i]->device);
        }
        if (state == BP_EVENT_PENDING) {
            return bp__fail(BP_E_BUSY, "bp_event_elapsed: event '%s' is not reached yet; call bp_event_sync() first",
                            i ? "to" : "from");
        }
    }
    const bp_status status = read_elapsed(from->device->runtime, from->command->event, to->command->event, &between);
    if (status != BP_OK) { /* the runtime has no host to set a message with */
        return bp__fail(status, "bp_event_elapsed: the driver of device %s tells no times", from->device->info.id);
    }
    *ns = between;
    return BP_OK;
}

void bp_event_release(bp_event *event) {
    BP__UNCANCELLED;
    if (!event) {
        return;
    }
    if (!bp__device_is(event->device, BP_DEVICE_FORKED)) {
        atomic_fetch_sub_explicit(&bp__device_objects, 1, memory_order_relaxed);
    }
    bp__command_drop(event->command);
    if (event->queue) {
        bp__queue_drop(event->queue);
    }
    bp__free(event);
}
