/* fake_queues.c - memory, events, queues and commands of the fake runtimes.
 *
 * Each queue has a thread that runs its commands after random delays. Memory is filled with garbage when it is
 * allocated and released. */
#include "fake_queues.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

pthread_mutex_t fake_mutex = PTHREAD_MUTEX_INITIALIZER; /* guards everything */
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static fake_block *blocks;

/* Threads of the parent may have used them at the moment of the fork; a driver that is first opened in the child would
 * have its own. */
static void after_fork(void) {
    fake_mutex = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    changed = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
}

__attribute__((constructor)) static void watch_forks(void) {
    pthread_atfork(NULL, NULL, after_fork);
}

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

void fake_open_gate(bool open) {
    pthread_mutex_lock(&fake_mutex);
    fake_control.closed = !open;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&fake_mutex);
}

/* ---- Memory ---- */

bp_status fake_allocate(void *device, size_t size, void **base) {
    fake_check_process("allocate in a child");
    const long long most = fake_control.memory;
    if (most > 0 && fake_control.bytes + (long long)size > most) {
        return fake_host->fail(BP_E_NO_MEMORY, "the fake device is full");
    }
    fake_block *made = calloc(1, sizeof *made);
    uint8_t *bytes = made ? malloc(size) : NULL;
    if (!bytes) {
        free(made);
        return fake_host->fail(BP_E_NO_MEMORY, "no memory for a block");
    }
    memset(bytes, 0xA5, size);
    *made = (fake_block){.device = device, .bytes = bytes, .size = size};
    pthread_mutex_lock(&fake_mutex);
    made->next = blocks;
    blocks = made;
    pthread_mutex_unlock(&fake_mutex);
    fake_control.blocks++;
    fake_control.bytes += (long long)size;
    *base = made->device->addresses ? (void *)bytes : (void *)made;
    return BP_OK;
}

/* Returns the block of a base; under the mutex. */
static fake_block *block_of(const void *base) {
    for (fake_block *each = blocks; each; each = each->next) {
        if (base == each || (each->device->addresses && (const uint8_t *)base >= each->bytes &&
                             (const uint8_t *)base < each->bytes + each->size)) {
            return each;
        }
    }
    return NULL;
}

const uint8_t *fake_bytes_of(void *base) {
    pthread_mutex_lock(&fake_mutex);
    const fake_block *block = block_of(base);
    pthread_mutex_unlock(&fake_mutex);
    return block ? block->bytes : NULL;
}

bp_status fake_size(void *device, void *base, size_t *size) {
    (void)device;
    pthread_mutex_lock(&fake_mutex);
    const fake_block *block = block_of(base);
    *size = block ? block->size : 0;
    pthread_mutex_unlock(&fake_mutex);
    return block ? BP_OK : fake_host->fail(BP_E_ARGUMENT, "no such memory");
}

void fake_release(void *device, void *base) {
    fake_check_process("release in a child");
    (void)device;
    pthread_mutex_lock(&fake_mutex);
    fake_block *block = block_of(base);
    for (fake_block **link = &blocks; block && *link; link = &(*link)->next) {
        if (*link == block) {
            *link = block->next;
            break;
        }
    }
    if (!block) {
        fake_violate("released memory that does not exist");
    } else if (block->pending > 0) {
        fake_violate("released memory that a command uses");
    }
    pthread_mutex_unlock(&fake_mutex);
    if (block) {
        fake_control.blocks--;
        fake_control.bytes -= (long long)block->size;
        memset(block->bytes, 0xDD, block->size);
        free(block->bytes);
        free(block);
    }
}

void *fake_device_of(void *base) {
    pthread_mutex_lock(&fake_mutex);
    const fake_block *block = block_of(base);
    pthread_mutex_unlock(&fake_mutex);
    return block ? (void *)(uintptr_t)block->device : NULL;
}

int fake_pending_of(void *base) {
    pthread_mutex_lock(&fake_mutex);
    const fake_block *block = block_of(base);
    const int pending = block ? block->pending : 0;
    pthread_mutex_unlock(&fake_mutex);
    return pending;
}

void *fake_allocate_block(void *device, size_t size) {
    void *base = NULL;
    return fake_allocate(device, size, &base) == BP_OK ? base : NULL;
}

void fake_release_block(void *base) {
    fake_release(NULL, base);
}

/* ---- Events ---- */

static fake_event *new_event(const fake_device *device) {
    fake_event *event = calloc(1, sizeof *event);
    if (event) {
        event->references = 2; /* the host and the command */
        event->device = device;
        fake_control.events++;
    }
    return event;
}

/* Under the mutex. */
void fake_drop_event(fake_event *event) {
    if (--event->references == 0) {
        fake_control.events--;
        free(event);
    }
}

void fake_event_release(void *event) {
    fake_check_process("event_release in a child");
    pthread_mutex_lock(&fake_mutex);
    fake_drop_event(event);
    pthread_mutex_unlock(&fake_mutex);
}

bp_event_state fake_event_state(void *opaque, int64_t *code) {
    const fake_event *event = opaque;
    fake_check_process("event_state in a child");
    pthread_mutex_lock(&fake_mutex);
    fake_check_question(event);
    const bp_event_state state = event->state;
    *code = event->code;
    pthread_mutex_unlock(&fake_mutex);
    return state;
}

bp_event_state fake_event_sync(void *opaque, int64_t timeout_ns, int64_t *code) {
    const fake_event *event = opaque;
    struct timespec until;
    fake_check_process("event_sync in a child");
    clock_gettime(CLOCK_REALTIME, &until);
    if (timeout_ns >= 0) {
        until.tv_sec += timeout_ns / 1000000000;
        until.tv_nsec += timeout_ns % 1000000000;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
    }
    int error = 0;
    pthread_mutex_lock(&fake_mutex);
    fake_check_question(event);
    while (event->state == BP_EVENT_PENDING && error != ETIMEDOUT) {
        error = timeout_ns >= 0 ? pthread_cond_timedwait(&changed, &fake_mutex, &until)
                                : pthread_cond_wait(&changed, &fake_mutex);
    }
    const bp_event_state state = event->state;
    *code = event->code;
    pthread_mutex_unlock(&fake_mutex);
    return state;
}

bp_status fake_event_times(void *opaque, int64_t *start_ns, int64_t *end_ns) {
    const fake_event *event = opaque;
    pthread_mutex_lock(&fake_mutex);
    *start_ns = event->start_ns;
    *end_ns = event->end_ns;
    pthread_mutex_unlock(&fake_mutex);
    return BP_OK;
}

bp_status fake_event_elapsed(void *from, void *to, int64_t *ns) {
    const fake_event *begin = from, *end = to;
    pthread_mutex_lock(&fake_mutex);
    if (begin->state == BP_EVENT_PENDING || end->state == BP_EVENT_PENDING || begin->device != end->device) {
        fake_violate("the time between events that are not reached, or of two devices");
    }
    *ns = end->end_ns - begin->end_ns;
    pthread_mutex_unlock(&fake_mutex);
    fake_control.elapsed++;
    return BP_OK;
}

bp_status fake_event_wrap(void *device, void *native, void **event) {
    fake_event *wrapped = native;
    (void)device;
    pthread_mutex_lock(&fake_mutex);
    wrapped->references++;
    pthread_mutex_unlock(&fake_mutex);
    *event = wrapped;
    return BP_OK;
}

/* ---- Queues ---- */

/* Returns the bytes of an operand; NULL if it is none. Under the mutex. */
static uint8_t *place_of(const bp_operand *operand, bool on_host, uint64_t first, uint64_t count) {
    if (on_host) {
        return (uint8_t *)bp_operand_address(operand) + first;
    }
    const fake_block *block = block_of(operand->base);
    uint64_t offset = operand->offset + first;
    if (block && block->device->addresses) {
        offset += (uint64_t)((uint8_t *)operand->base - block->bytes);
    }
    return block && offset + count <= block->size ? block->bytes + offset : NULL;
}

static void run_copy(const bp_transfer *t, uint64_t dst, uint64_t src, int dim) {
    if (dim == t->ndim) {
        uint8_t *to = place_of(&t->dst, t->kind == BP_TRANSFER_READ, dst, t->run);
        const uint8_t *from = place_of(&t->src, t->kind == BP_TRANSFER_WRITE, src, t->run);
        if (!to || !from) {
            fake_violate("a copy outside of its memory");
        } else {
            memcpy(to, from, t->run);
        }
        return;
    }
    for (int64_t i = 0; i < t->shape[dim]; i++) {
        run_copy(t, dst + (uint64_t)(i * t->dst_stride[dim]), src + (uint64_t)(i * t->src_stride[dim]), dim + 1);
    }
}

void fake_use(const fake_task *task, int change) {
    const bp_operand *operands[] = {&task->transfer.dst, &task->transfer.src};
    for (int i = 0; i < 2; i++) {
        fake_block *block = operands[i]->base ? block_of(operands[i]->base) : NULL;
        if (block) {
            block->pending += change;
        }
    }
}

static void run_task(const fake_task *task) {
    if (task->kind == TASK_COPY) {
        run_copy(&task->transfer, 0, 0, 0);
    } else if (task->kind == TASK_ADD) {
        uint8_t *bytes = place_of(&task->transfer.dst, false, 0, task->count);
        for (size_t i = 0; bytes && i < task->count; i++) {
            bytes[i] = (uint8_t)(bytes[i] + task->value);
        }
    }
}

static bool may_begin(const fake_task *task) {
    for (int i = 0; i < task->wait_count; i++) {
        if (task->waits[i]->state == BP_EVENT_PENDING) {
            return false;
        }
    }
    return true;
}

static int64_t code_for(fake_queue *queue, const fake_task *task) {
    for (int i = 0; i < task->wait_count; i++) {
        if (task->waits[i]->state == BP_EVENT_FAILED) {
            return FAKE_AFTER_FAULT;
        }
    }
    if (queue->device->lost) {
        return FAKE_LOST;
    }
    if (queue->failed && fake_control.chain) {
        return FAKE_AFTER_FAULT;
    }
    const bool marked = task->kind == TASK_ADD && task->value != 0 && task->value == fake_control.fail_value;
    if (marked || (fake_control.fail_at > 0 && --fake_control.fail_at == 0)) {
        queue->device->lost = fake_control.fail_with == FAKE_LOST;
        return fake_control.fail_with;
    }
    return 0;
}

static void end_task(fake_queue *queue, fake_task *task, int64_t code) {
    queue->first = task->next;
    if (!queue->first) {
        queue->last = NULL;
    }
    fake_use(task, -1);
    queue->failed = queue->failed || code != 0;
    task->event->state = code ? BP_EVENT_FAILED : BP_EVENT_DONE;
    task->event->code = code;
    task->event->end_ns = now();
    for (int i = 0; i < task->wait_count; i++) {
        fake_drop_event(task->waits[i]);
    }
    fake_drop_event(task->event);
    fake_control.commands++;
    free(task);
    pthread_cond_broadcast(&changed);
}

static void *work(void *opaque) {
    fake_queue *queue = opaque;
    unsigned seed = (unsigned)(uintptr_t)queue;
    pthread_mutex_lock(&fake_mutex);
    for (;;) {
        fake_task *task = queue->first;
        if (!task && queue->ending) {
            break; /* its device may be closed already */
        }
        if (!task || (!queue->device->lost && (fake_control.closed || !may_begin(task)))) {
            pthread_cond_wait(&changed, &fake_mutex);
            continue;
        }
        const int delay = fake_control.longest_delay_us;
        if (delay > 0) {
            pthread_mutex_unlock(&fake_mutex);
            usleep((unsigned)rand_r(&seed) % (unsigned)delay);
            pthread_mutex_lock(&fake_mutex);
        }
        task->event->start_ns = now();
        const int64_t code = code_for(queue, task);
        if (code == 0) {
            run_task(task);
        }
        end_task(queue, task, code);
    }
    const bool last = --queue->users == 0;
    pthread_mutex_unlock(&fake_mutex);
    if (last) {
        free(queue);
    }
    return NULL;
}

static fake_queue *new_queue(fake_device *device) {
    fake_queue *queue = calloc(1, sizeof *queue);
    if (queue) {
        queue->device = device;
        queue->users = 2; /* the thread and the owner */
        if (pthread_create(&queue->thread, NULL, work, queue) != 0) {
            free(queue);
            return NULL;
        }
        pthread_detach(queue->thread);
        fake_control.queues++;
    }
    return queue;
}

static void end_queue(fake_queue *queue) {
    pthread_mutex_lock(&fake_mutex);
    queue->ending = true;
    const bool last = --queue->users == 0;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&fake_mutex);
    if (last) {
        free(queue);
    }
    fake_control.queues--;
}

void *fake_native_queue(void *device) {
    fake_queue *queue = new_queue(device);
    if (queue) {
        queue->of_program = true;
    }
    return queue;
}

void fake_free_native_queue(void *native) {
    end_queue(native);
}

bp_status fake_queue_open(void *device, uint32_t flags, void *native, void **queue) {
    fake_device *on = device;
    fake_check_process("queue_open in a child");
    if (flags & BP_QUEUE_NATIVE_ZERO) {
        pthread_mutex_lock(&fake_mutex);
        on->zero = on->zero ? on->zero : fake_native_queue(device);
        native = on->zero;
        pthread_mutex_unlock(&fake_mutex);
    }
    *queue = native ? native : new_queue(device);
    return *queue ? BP_OK : fake_host->fail(BP_E_NO_MEMORY, "no memory for a queue");
}

void fake_queue_close(void *queue) {
    fake_check_process("queue_close in a child");
    if (!((fake_queue *)queue)->of_program) {
        end_queue(queue);
    }
}

void *fake_queue_native(void *queue) {
    return queue == ((fake_queue *)queue)->device->zero ? NULL : queue;
}

/* ---- Commands ---- */

/* Memory of another device cannot be used by a queue. */
static void check_operands(const fake_queue *queue, const fake_task *task) {
    const bp_operand *operands[] = {&task->transfer.dst, &task->transfer.src};
    for (int i = 0; i < 2; i++) {
        const fake_block *block = operands[i]->base ? block_of(operands[i]->base) : NULL;
        const fake_device *right = i == 1 && task->source ? task->source : queue->device;
        if (block && block->device != right) {
            fake_violate("a command with memory of another device");
        }
    }
}

bp_status fake_enqueue(fake_queue *queue, const fake_task *filled, void **event) {
    fake_check_process("a command in a child");
    fake_task *task = malloc(sizeof *task);
    fake_event *made = task ? new_event(queue->device) : NULL;
    if (!made) {
        free(task);
        return fake_host->fail(BP_E_NO_MEMORY, "no memory for a command");
    }
    *task = *filled;
    task->next = NULL;
    task->event = made;
    made->queue = queue;
    pthread_mutex_lock(&fake_mutex);
    if (queue->capture) {
        fake_note_task(queue, task);
    } else if (queue->last) {
        queue->last->next = task;
        queue->last = task;
    } else {
        queue->first = queue->last = task;
    }
    fake_use(task, 1);
    check_operands(queue, task);
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&fake_mutex);
    *event = made;
    return BP_OK;
}

bp_status fake_copy(void *queue, const bp_transfer *transfer, void **event) {
    fake_task task = {.kind = TASK_COPY, .transfer = *transfer};
    if (fake_control.refuse_copies) {
        return fake_host->fail(BP_E_DEVICE, "the fake runtime refuses to copy");
    }
    if (transfer->ndim > BP_TRANSFER_MAX_NDIM || transfer->run == 0) {
        fake_violate("a transfer with too many dimensions or without bytes");
    }
    if (transfer->kind == BP_TRANSFER_WRITE) {
        task.transfer.src = transfer->src;
    }
    return fake_enqueue(queue, &task, event);
}

bp_status fake_wait(void *opaque, int count, void *const *events, void **event) {
    fake_queue *queue = opaque;
    fake_task task = {.kind = TASK_MARK, .wait_count = count};
    if (count > WAITS_MOST) {
        return fake_host->fail(BP_E_INTERNAL, "too many events");
    }
    pthread_mutex_lock(&fake_mutex);
    bool foreign = false;
    for (int i = 0; i < count; i++) {
        task.waits[i] = events[i];
        foreign = foreign || task.waits[i]->device != queue->device;
    }
    if (!foreign || !fake_control.refuse_foreign) {
        for (int i = 0; i < count; i++) {
            task.waits[i]->references++;
        }
        foreign = false;
    }
    pthread_mutex_unlock(&fake_mutex);
    return foreign ? fake_host->fail(BP_E_UNSUPPORTED, "an event of another device")
                   : fake_enqueue(queue, &task, event);
}

bp_status fake_copy_peer(void *queue, const bp_transfer *transfer, void *source, void **event) {
    fake_task task = {.kind = TASK_COPY, .transfer = *transfer, .source = source};
    if (fake_control.refuse_peers) {
        return fake_host->fail(BP_E_UNSUPPORTED, "the devices are not peers");
    }
    if (transfer->kind != BP_TRANSFER_DEVICE) {
        fake_violate("a copy between devices with memory of the host");
    }
    fake_control.peer_copies++;
    return fake_enqueue(queue, &task, event);
}

void *fake_add(void *queue, void *base, uint64_t offset, size_t count, uint8_t value) {
    fake_task task = {.kind = TASK_ADD, .transfer.dst = {base, offset}, .count = count, .value = value};
    void *event = NULL;
    return fake_enqueue(queue, &task, &event) == BP_OK ? event : NULL;
}

bp_status fake_map(void *queue, const bp_operand *start, size_t size, uint32_t flags, void **address) {
    (void)queue, (void)flags;
    pthread_mutex_lock(&fake_mutex);
    *address = place_of(start, false, 0, size);
    pthread_mutex_unlock(&fake_mutex);
    return *address ? BP_OK : fake_host->fail(BP_E_ARGUMENT, "no such memory");
}

bp_status fake_unmap(void *queue, const bp_operand *start, void *address, void **event) {
    fake_task task = {.kind = TASK_MARK};
    pthread_mutex_lock(&fake_mutex);
    if (place_of(start, false, 0, 1) != address) {
        fake_violate("unmapped another address than was mapped");
    }
    pthread_mutex_unlock(&fake_mutex);
    return fake_enqueue(queue, &task, event);
}
