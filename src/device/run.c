/* run.c - runs operations on a queue for dispatch: locks it, notes the commands, lends workspace, copies bytes. */
#include "device/private.h"

#include <string.h>

enum {
    STAGED_MOST = 1 << 20,      /* bytes that are copied for a write that does not wait */
    STAGED_IN_QUEUE = 64 << 20, /* bytes of all such copies of a queue */
};

void *bp__queue_runtime(bp_queue *queue) {
    queue->uncovered = true; /* a provider asks for it before it enqueues */
    return queue->handle;
}

/* Copies a text to `at` of the queue's, cut where that ends. Returns the position after it. */
static size_t note(bp_queue *queue, size_t at, const char *text) {
    const size_t length = strlen(text), most = sizeof queue->text - 1 - at;
    const size_t kept = length < most ? length : most;
    memcpy(queue->text + at, text, kept);
    queue->text[at + kept] = '\0';
    return at + kept;
}

void bp__queue_begin(bp_queue *queue, bp_op op, const char *text) {
    pthread_mutex_lock(&queue->run);
    if (queue->depth++ == 0) {
        size_t used = note(queue, 0, bp_op_name(op));
        if (text && *text) {
            used = note(queue, used, used > 0 ? " " : "");
            note(queue, used, text);
        }
    }
}

/* Notes the commands of a provider that has failed after it had enqueued some. */
static void cover(bp_queue *queue) {
    bp__held_error held;
    if (queue->uncovered) {
        queue->uncovered = false;
        bp__graph_note_failure(queue);
        bp__error_hold(&held);
        (void)bp__command_mark(queue, queue->text, NULL); /* without memory, it has waited */
        bp__error_return(&held);
    }
}

void bp__queue_end(bp_queue *queue) {
    if (--queue->depth == 0) {
        cover(queue);
    }
    pthread_mutex_unlock(&queue->run);
}

bp_status bp__queue_enqueued(bp_queue *queue, void *event) {
    pthread_mutex_lock(&queue->run);
    queue->uncovered = false;
    bp_status status = bp__command_add(queue, event, queue->text, NULL, 0, NULL);
    pthread_mutex_unlock(&queue->run);
    return status;
}

bp_status bp__queue_enqueued_checked(bp_queue *queue, void *event, bp_status (*check)(void *user, int ended),
                                     void *user) {
    pthread_mutex_lock(&queue->run);
    queue->uncovered = false;
    bp_status status = bp__command_add_checked(queue, event, queue->text, check, user);
    pthread_mutex_unlock(&queue->run);
    return status;
}

bp_status bp__queue_take(bp_queue *queue, size_t size, bp_operand *block) {
    bp__block *taken;
    *block = (bp_operand){NULL, 0};
    BP__TRY(bp__queue_captures(queue) ? bp__graph_take(queue, size, &taken)
                                      : bp__pool_take(queue->device, queue, size, &taken));
    pthread_mutex_lock(&queue->run);
    taken->next = queue->taken;
    queue->taken = taken;
    pthread_mutex_unlock(&queue->run);
    block->base = taken->base;
    return BP_OK;
}

void bp__queue_give(bp_queue *queue, const bp_operand *block) {
    bp__block *given = NULL;
    pthread_mutex_lock(&queue->run);
    cover(queue);
    for (bp__block **link = &queue->taken; *link && !given;) {
        if ((*link)->base == block->base) {
            given = *link;
            *link = given->next;
        } else {
            link = &(*link)->next;
        }
    }
    if (given && !bp__graph_give(queue, given)) {
        bp__pool_give(queue->device, given, queue);
    }
    pthread_mutex_unlock(&queue->run);
}

bp_status bp__queue_transfer(bp_queue *queue, const bp_transfer *transfer, const char *run, void *staging,
                             size_t staged, bp__command **command) {
    void *event = NULL;
    if (command) {
        *command = NULL;
    }
    pthread_mutex_lock(&queue->run);
    bp_status status = command || staging ? bp__queue_refuse_capture(queue, run) : BP_OK;
    if (status == BP_OK) {
        status = bp__device_refused(queue->device, queue->device->runtime->copy(queue->handle, transfer, &event));
    }
    if (status == BP_OK) {
        status = bp__command_add(queue, event, run, staging, staged, command);
    } else {
        bp__free(staging);
    }
    pthread_mutex_unlock(&queue->run);
    return status;
}

bp_status bp__queue_transfer_peer(bp_queue *queue, const bp_transfer *transfer, const bp__device *source,
                                  const char *run) {
    void *event = NULL, *handle = atomic_load_explicit(&source->handle, memory_order_acquire);
    pthread_mutex_lock(&queue->run);
    bp_status status = queue->device->runtime->copy_peer(queue->handle, transfer, handle, &event);
    status = status == BP_OK ? bp__command_add(queue, event, run, NULL, 0, NULL) : status;
    pthread_mutex_unlock(&queue->run);
    return status;
}

/* The copy itself is not interrupted, because it uses memory of the caller. */
bp_status bp__queue_transfer_now(bp_queue *queue, const bp_transfer *transfer, const char *run) {
    bp__command *command;
    if (bp__interrupt_is_set()) {
        BP__TRY(bp__queue_finish(queue));
    }
    BP__TRY(bp__queue_transfer(queue, transfer, run, NULL, 0, &command));
    bp_status status = bp__commands_wait(queue, command, -1, NULL);
    bp__command_drop(command);
    return status == BP_OK ? bp__queue_take_failure(queue) : status;
}

bool bp__queue_may_stage(bp_queue *queue, uint64_t size) {
    pthread_mutex_lock(&queue->mutex);
    const uint64_t staged = queue->staged;
    pthread_mutex_unlock(&queue->mutex);
    return size <= STAGED_MOST && staged + size <= STAGED_IN_QUEUE;
}

bp_status bp__queue_read(bp_queue *queue, void *to, const bp_operand *from, size_t size) {
    const bp_transfer transfer = {.kind = BP_TRANSFER_READ, .dst = {to, 0}, .src = *from, .run = size};
    BP__TRY(bp__queue_usable(queue));
    BP__TRY(bp__queue_refuse_capture(queue, "a copy to the host"));
    return size > 0 ? bp__queue_transfer_now(queue, &transfer, "a copy to the host") : bp__queue_finish(queue);
}

bp_status bp__queue_write(bp_queue *queue, const bp_operand *to, const void *from, size_t size) {
    bp_transfer transfer = {.kind = BP_TRANSFER_WRITE, .dst = *to, .src = {(void *)(uintptr_t)from, 0}, .run = size};
    BP__TRY(bp__queue_usable(queue));
    if (size == 0) {
        return BP_OK;
    }
    void *staging = bp__queue_may_stage(queue, size) ? bp__alloc(size) : NULL;
    if (staging) {
        memcpy(staging, from, size);
        transfer.src.base = staging;
        return bp__queue_transfer(queue, &transfer, "a copy from the host", staging, size, NULL);
    }
    return bp__queue_transfer_now(queue, &transfer, "a copy from the host");
}
