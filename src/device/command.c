/* command.c - keeps what a queue has enqueued until it has ended, and finds failures.
 *
 * Drivers report the failure of a command reliably in one place only: the event of this command. So the event of each
 * command is kept until its state was read. A queue runs its commands in order, so they are examined from the first one
 * on, until one has not ended. The event of a command may come after the events of later ones, if the provider makes it
 * when it has examined a result; a wait for a later command is a wait for it too.
 */
#include "device/private.h"

#include <stdio.h>
#include <string.h>

enum {
    FIRST_LOOK = 32, /* commands that are enqueued before they are examined for the first time */
};
#define SLICE_NS INT64_C(20000000) /* between two interrupt checks */

static const bp_runtime *runtime_of(const bp__command *command) {
    return command->device->runtime;
}

/* Calls the check of the command's result, once. */
static bp_status check_result(bp__command *command, int ended) {
    bp_status (*check)(void *, int) = command->check;
    command->check = NULL;
    return check ? check(command->checked, ended) : BP_OK;
}

void bp__command_drop(bp__command *command) {
    if (command && atomic_fetch_sub_explicit(&command->references, 1, memory_order_acq_rel) == 1) {
        if (command->event && !bp__device_is(command->device, BP_DEVICE_FORKED)) {
            runtime_of(command)->event_release(command->event);
        }
        bp__free(command->staging);
        bp__free(command);
    }
}

/* ---- Failures ---- */

bp_status bp__failure_tell(const bp__failure *failure, const bp__device *device) {
    char more[64] = "";
    if (failure->of_check) { /* later results are not affected by it */
        return failure->status == BP_E_DEVICE
                   ? bp__fail(BP_E_DEVICE, "%s failed on device %s: %s", failure->run, device->info.id, failure->error)
                   : bp__fail(failure->status, "%s", failure->error);
    }
    if (failure->more > 0) {
        snprintf(more, sizeof more, "; %llu later command%s failed too", (unsigned long long)failure->more,
                 failure->more == 1 ? "" : "s");
    }
    return bp__fail(BP_E_DEVICE, "%s%s %s device %s: %s (%lld)%s%s%s",
                    failure->found_later ? "an error was found at " : "", failure->run,
                    failure->found_later ? "on" : "failed on", device->info.id, failure->error,
                    (long long)failure->code, more, bp__device_is(device, BP_DEVICE_LOST) ? "; the device is lost" : "",
                    "; results of it and of later operations are not valid");
}

/* Notes the failure of a command in its queue. */
static void note_failure(bp_queue *queue, const bp__command *command) {
    bp__failure *failure = &queue->failure;
    int lost = 0;
    /* A command without an error of its own was given up, because the device is lost. */
    const bool given_up = command->code == 0 && bp__device_is(queue->device, BP_DEVICE_LOST);
    const char *name = given_up ? atomic_load_explicit(&queue->device->reason, memory_order_relaxed)
                                : runtime_of(command)->error_name(command->code, &lost);
    name = name ? name : "unknown error";
    if (lost & BP_ERROR_LOST) {
        bp__device_lose(queue->device, name);
    }
    if (failure->is_set && !failure->of_check) {
        failure->more++;
        return;
    }
    *failure = (bp__failure){.is_set = true, /* in place of a failed check, which does not make results invalid */
                             .found_later = (lost & BP_ERROR_FOUND_LATER) != 0,
                             .status = BP_E_DEVICE,
                             .code = command->code};
    bp__copy_text(failure->run, sizeof failure->run, command->run);
    bp__copy_text(failure->error, sizeof failure->error, name);
}

/* Examines the result of a command that has ended, and notes what its check says. */
static void note_check(bp_queue *queue, bp__command *command) {
    bp__failure *failure = &queue->failure;
    bp__held_error held;
    if (!command->check) {
        return;
    }
    bp__error_hold(&held);
    const bp_status status = check_result(command, command->state == BP_EVENT_DONE);
    if (command->state == BP_EVENT_DONE && status != BP_OK) {
        if (failure->is_set) {
            failure->more++;
        } else {
            *failure = (bp__failure){.is_set = true, .of_check = true, .status = status};
            bp__copy_text(failure->run, sizeof failure->run, command->run);
            bp__copy_text(failure->error, sizeof failure->error, bp_last_error());
        }
    }
    bp__error_return(&held);
}

/* ---- The list of a queue ---- */

/* Takes the first command off, which has ended. */
static void end_first(bp_queue *queue) {
    bp__command *command = queue->first;
    if (command->state == BP_EVENT_FAILED) {
        note_failure(queue, command);
    }
    note_check(queue, command);
    if (queue->failure.is_set) {
        command->failure = queue->failure; /* events tell the failure of a command before them, too */
    }
    queue->first = command->next;
    if (!queue->first) {
        queue->last = NULL;
    }
    command->next = NULL;
    queue->pending--;
    queue->staged -= command->staged;
    bp__free(command->staging);
    command->staging = NULL;
    bp__command_drop(command);
}

void bp__commands_look(bp_queue *queue) {
    const bp_runtime *runtime = queue->device->runtime;
    if (bp__queue_captures(queue)) {
        return; /* a question for an event could end the capture */
    }
    while (queue->first) {
        bp__command *first = queue->first;
        first->state = runtime->event_state(first->event, &first->code);
        if (first->state == BP_EVENT_PENDING && bp__device_is(queue->device, BP_DEVICE_LOST)) {
            first->state = BP_EVENT_FAILED; /* it may never end */
            first->code = 0;
        }
        if (first->state == BP_EVENT_PENDING) {
            break;
        }
        end_first(queue);
    }
    queue->look_at = 2 * queue->pending > FIRST_LOOK ? 2 * queue->pending : FIRST_LOOK;
    atomic_store_explicit(&queue->oldest, queue->first ? queue->first->serial : UINT64_MAX, memory_order_release);
}

static void append(bp_queue *queue, bp__command *command) {
    pthread_mutex_lock(&queue->mutex);
    command->serial = atomic_fetch_add_explicit(&queue->device->serial, 1, memory_order_acq_rel) + 1;
    if (queue->last) {
        queue->last->next = command;
    } else {
        queue->first = command;
        atomic_store_explicit(&queue->oldest, command->serial, memory_order_release);
    }
    queue->last = command;
    queue->staged += command->staged;
    if (++queue->pending >= queue->look_at) {
        bp__commands_look(queue);
    }
    pthread_mutex_unlock(&queue->mutex);
}

/* Without memory for a command, waits until it has ended, so that nothing is left of it. */
static bp_status end_now(bp_queue *queue, void *event, void *staging) {
    const bp_runtime *runtime = queue->device->runtime;
    int64_t code = 0;
    bp_event_state state = runtime->event_sync(event, -1, &code);
    runtime->event_release(event);
    bp__free(staging);
    (void)state;
    return bp__fail_memory(sizeof(bp__command), "a command of a queue");
}

/* Makes a command, which takes the event. NULL without memory. */
static bp__command *make(const bp_queue *queue, void *event, const char *run, int references) {
    bp__command *made = bp__alloc_zero(1, sizeof *made);
    if (made) {
        atomic_init(&made->references, references);
        made->device = queue->device;
        made->event = event;
        bp__copy_text(made->run, sizeof made->run, run);
    }
    return made;
}

bp_status bp__command_add(bp_queue *queue, void *event, const char *run, void *staging, size_t staged,
                          bp__command **command) {
    if (bp__queue_captures(queue)) { /* it runs in launches of the graph only */
        queue->device->runtime->event_release(event);
        return BP_OK;
    }
    bp__command *made = make(queue, event, run, command ? 2 : 1);
    if (command) {
        *command = made;
    }
    if (!made) {
        return end_now(queue, event, staging);
    }
    made->staging = staging;
    made->staged = staged;
    append(queue, made);
    return BP_OK;
}

bp_status bp__command_add_checked(bp_queue *queue, void *event, const char *run, bp_status (*check)(void *, int),
                                  void *user) {
    const bp_status refused = bp__queue_refuse_capture(queue, "the check of a result");
    if (refused != BP_OK) {
        bp__graph_note_failure(queue);
        queue->device->runtime->event_release(event);
        (void)check(user, 0);
        return refused;
    }
    bp__command *made = make(queue, event, run, 1);
    if (!made) {
        const bp_status ended = end_now(queue, event, NULL);
        (void)check(user, 0); /* it may free what the command has used */
        return ended;
    }
    made->check = check;
    made->checked = user;
    append(queue, made);
    return BP_OK;
}

bp_status bp__command_mark(bp_queue *queue, const char *run, bp__command **command) {
    void *event = NULL;
    if (command) {
        *command = NULL;
    }
    if (bp__queue_captures(queue)) {
        return command ? bp__queue_refuse_capture(queue, run) : BP_OK;
    }
    BP__TRY(bp__device_refused(queue->device, queue->device->runtime->wait(queue->handle, 0, NULL, &event)));
    return bp__command_add(queue, event, run, NULL, 0, command);
}

/* ---- Waiting ---- */

static bool is_over(const bp__command *command) {
    return !bp__device_is(command->device, BP_DEVICE_READY);
}

/* The end of a wait; `until` is 0 without a limit. */
typedef struct limit {
    int64_t given, until; /* nanoseconds */
} limit;

static limit limit_of(int64_t timeout_ns) {
    const int64_t most = timeout_ns < INT64_MAX / 2 ? timeout_ns : INT64_MAX / 2;
    return (limit){timeout_ns, timeout_ns >= 0 ? bp__now_ns() + most : 0};
}

static bp_status wait_within(bp__command *command, limit end, const char *what) {
    const bp_runtime *runtime = runtime_of(command);
    int64_t code;
    for (;;) {
        const int64_t rest = end.until > 0 ? end.until - bp__now_ns() : -1, left = end.until > 0 && rest < 0 ? 0 : rest;
        const int64_t most = what && bp__interrupt_is_set() ? SLICE_NS : -1;
        const int64_t slice = left < 0 ? most : most < 0 || left < most ? left : most;
        if (runtime->event_sync(command->event, slice, &code) != BP_EVENT_PENDING || is_over(command)) {
            return BP_OK;
        }
        if (what && bp__interrupted()) {
            return bp__fail_cancelled(what);
        }
        if (left == 0) {
            return bp__fail(BP_E_TIMEOUT, "%s: the time of %lld ns is over", what ? what : "a wait",
                            (long long)end.given);
        }
    }
}

bp_status bp__command_wait(bp__command *command, int64_t timeout_ns, const char *what) {
    return wait_within(command, limit_of(timeout_ns), what);
}

/* Returns the first command, with a reference, if it is before another one; else NULL. The events of a queue that
 * captures are not asked for. */
static bp__command *first_before(bp_queue *queue, const bp__command *other) {
    pthread_mutex_lock(&queue->mutex);
    bp__commands_look(queue);
    const bool before = queue->first && queue->first->serial < other->serial && !bp__queue_captures(queue);
    bp__command *first = before ? queue->first : NULL;
    if (first) {
        atomic_fetch_add_explicit(&first->references, 1, memory_order_relaxed);
    }
    pthread_mutex_unlock(&queue->mutex);
    return first;
}

bp_status bp__commands_wait(bp_queue *queue, bp__command *last, int64_t timeout_ns, const char *what) {
    const limit end = limit_of(timeout_ns);
    bp_status status = wait_within(last, end, what);
    bp__command *first;
    while (status == BP_OK && (first = first_before(queue, last))) {
        status = wait_within(first, end, what);
        bp__command_drop(first);
    }
    return status;
}
