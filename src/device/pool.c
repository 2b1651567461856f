/* pool.c - keeps freed blocks of a device's memory for reuse.
 *
 * Commands have numbers that increase over all queues of a device. A freed block has the number of the last command
 * that may use it. It may be used again when all queues have passed this number, or at once by the queue that alone has
 * used it, because a queue runs its commands in order. Blocks are as large as their class: there are eight classes for
 * each power of two, so at most an eighth of a block is not used.
 */
#include "device/private.h"
#include "base/uncancelled.h"

#include "settings/internal.h"

#include <inttypes.h>
#include <stdio.h>

enum {
    LEAST_BITS = 9,   /* the smallest class: 512 bytes */
    LOOK_AT_MOST = 64 /* blocks of a class that are examined for one request */
};
#define MOST_BYTES (UINT64_C(1) << 60)

/* Returns the class of a size, and its bytes. */
static int class_of(uint64_t size, uint64_t *bytes) {
    if (size <= (UINT64_C(1) << LEAST_BITS)) {
        *bytes = UINT64_C(1) << LEAST_BITS;
        return 0;
    }
    const int bits = 63 - __builtin_clzll(size - 1); /* 2^bits < size <= 2^(bits+1) */
    const uint64_t step = (UINT64_C(1) << bits) / 8;
    const uint64_t eighth = (size - 1 - (UINT64_C(1) << bits)) / step; /* 0 to 7 */
    *bytes = (UINT64_C(1) << bits) + (eighth + 1) * step;
    return (bits - LEAST_BITS) * 8 + (int)eighth + 1;
}

static uint64_t limit_of(const bp__device *device) {
    const uint64_t own = atomic_load_explicit(&device->limit, memory_order_relaxed);
    return own != BP_DEVICE_LIMIT_DEFAULT ? own : (uint64_t)bp__setting_int(BP_SET_device_memory_limit);
}

/* Returns the most bytes that the pool may hold; 0: no limit. A device with memory of its own has no more than that,
 * though some drivers make buffers of any size, and fail when they are used. */
static uint64_t most_of(const bp__device *device) {
    const uint64_t limit = limit_of(device);
    const uint64_t own = device->info.can & BP_DEVICE_CAN_SHARE_HOST ? 0 : device->info.memory;
    return limit == 0 || (own > 0 && own < limit) ? own : limit;
}

/* ---- Under the device's mutex ---- */

static void put_last(bp__pool *pool, bp__block *block) {
    block->next = NULL;
    if (pool->last[block->class]) {
        pool->last[block->class]->next = block;
    } else {
        pool->first[block->class] = block;
    }
    pool->last[block->class] = block;
    pool->cached += block->size;
    pool->unused++;
}

/* Removes the block after `before` (NULL: the first one). */
static bp__block *remove_after(bp__pool *pool, int class, bp__block *before) {
    bp__block *block = before ? before->next : pool->first[class];
    if (before) {
        before->next = block->next;
    } else {
        pool->first[class] = block->next;
    }
    if (pool->last[class] == block) {
        pool->last[class] = before;
    }
    pool->cached -= block->size;
    pool->unused--;
    return block;
}

/* Finds an unused block for the queue; commands of other queues before `oldest` have ended. */
static bp__block *find_in(bp__pool *pool, int class, uint64_t queue, uint64_t oldest) {
    bp__block *before = NULL, *each = pool->first[class];
    for (int i = 0; each && i < LOOK_AT_MOST; i++) {
        if (each->serial < oldest || (queue != 0 && each->queue == queue)) {
            return remove_after(pool, class, before);
        }
        before = each;
        each = each->next;
    }
    return NULL;
}

static bp__block *find_block(bp__device *device, int class, const bp_queue *queue) {
    bp__pool *pool = &device->pool;
    if (!pool->first[class]) {
        return NULL;
    }
    const uint64_t number = queue ? queue->number : 0;
    bp__block *block = find_in(pool, class, number, bp__queues_oldest(device, queue, false));
    return block ? block : find_in(pool, class, number, bp__queues_oldest(device, queue, true));
}

static void note_use(bp__pool *pool, uint64_t bytes) {
    pool->used += bytes;
    pool->peak = pool->used > pool->peak ? pool->used : pool->peak;
}

/* Removes blocks that no command uses until at most `keep` bytes are unused. Returns them as a list. */
static bp__block *remove_unused(bp__device *device, uint64_t keep) {
    bp__pool *pool = &device->pool;
    bp__block *removed = NULL;
    const uint64_t oldest = pool->unused > 0 ? bp__queues_oldest(device, NULL, true) : 0;
    for (int class = BP__POOL_CLASSES - 1; class >= 0 && pool->cached > keep; class --) {
        bp__block *before = NULL;
        for (bp__block *each = pool->first[class]; each && pool->cached > keep;) {
            bp__block *next = each->next;
            if (each->serial < oldest) {
                remove_after(pool, class, before);
                each->next = removed;
                removed = each;
            } else {
                before = each;
            }
            each = next;
        }
    }
    return removed;
}

/* ---- Without the mutex ---- */

/* Gives memory back to where it came from: the program's allocator changes only while there is none. */
static void release_memory(const bp__device *device, const bp__block *block) {
    if (device->allocator.release) {
        device->allocator.release(device->allocator.user, block->base, (size_t)block->size);
    } else {
        device->runtime->release(atomic_load_explicit(&device->handle, memory_order_acquire), block->base);
    }
}

static void release_all(bp__device *device, bp__block *blocks) {
    while (blocks) {
        bp__block *next = blocks->next;
        release_memory(device, blocks);
        bp__free(blocks);
        blocks = next;
    }
}

static void trim(bp__device *device, uint64_t keep) {
    pthread_mutex_lock(&device->mutex);
    bp__block *removed = remove_unused(device, keep);
    pthread_mutex_unlock(&device->mutex);
    release_all(device, removed);
}

/* Reserves bytes within the limit. */
static bool reserve(bp__device *device, uint64_t bytes) {
    const uint64_t most = most_of(device);
    bp__block *removed = NULL;
    bp__pool *pool = &device->pool;
    pthread_mutex_lock(&device->mutex);
    if (most > 0 && pool->used + pool->cached + bytes > most) {
        removed = remove_unused(device, pool->used + bytes <= most ? most - pool->used - bytes : 0);
    }
    const bool fits = most == 0 || pool->used + pool->cached + bytes <= most;
    if (fits) {
        note_use(pool, bytes);
    }
    pthread_mutex_unlock(&device->mutex);
    release_all(device, removed);
    return fits;
}

/* Takes memory of the program's allocator for commands of the queue; NULL: of any queue, so that it must be free now.
 */
static bp_status allocate_of_program(bp__device *device, const bp_queue *queue, uint64_t bytes, void **base) {
    bp_queue *first = (bp_queue *)(uintptr_t)queue;
    bp__command *mark = NULL;
    if (!queue) {
        BP__TRY(bp__thread_queue(device, &first));
    }
    void *native = device->runtime->queue_native(first->handle);
    *base = device->allocator.allocate(device->allocator.user, (size_t)bytes, native);
    if (!*base) {
        return bp__fail(BP_E_NO_MEMORY, "the program's allocator has none");
    }
    bp_status status = queue ? BP_OK : bp__command_mark(first, "an allocation", &mark);
    status = status == BP_OK && mark ? bp__command_wait(mark, -1, NULL) : status;
    bp__command_drop(mark);
    if (status != BP_OK) {
        device->allocator.release(device->allocator.user, *base, (size_t)bytes);
    }
    return status;
}

/* Allocates a block from the driver, or from the program's allocator. */
static bp_status allocate(bp__device *device, const bp_queue *queue, uint64_t bytes, bp__block *block) {
    if (!reserve(device, bytes)) {
        return bp__fail(BP_E_NO_MEMORY,
                        limit_of(device) == most_of(device) ? "the limit is reached" : "its memory is used");
    }
    void *handle = atomic_load_explicit(&device->handle, memory_order_acquire);
    bp_status status = device->allocator.allocate ? allocate_of_program(device, queue, bytes, &block->base)
                                                  : device->runtime->allocate(handle, (size_t)bytes, &block->base);
    status = bp__device_refused(device, status);
    pthread_mutex_lock(&device->mutex);
    if (status == BP_OK) {
        device->pool.allocations++;
    } else {
        device->pool.used -= bytes;
    }
    pthread_mutex_unlock(&device->mutex);
    return status;
}

/* Tries again after all unused blocks were freed, also those that commands still use, after these. */
static bp_status allocate_again(bp__device *device, const bp_queue *queue, uint64_t bytes, bp__block *block) {
    trim(device, 0);
    bp_status status = allocate(device, queue, bytes, block);
    pthread_mutex_lock(&device->mutex);
    const bool more = device->pool.unused > 0;
    pthread_mutex_unlock(&device->mutex);
    if (status == BP_E_NO_MEMORY && more) {
        BP__TRY(bp__device_quiesce(device));
        trim(device, 0);
        status = allocate(device, queue, bytes, block);
    }
    return status;
}

static bp_status fail_memory(bp__device *device, uint64_t size) {
    char reason[256], most[64] = "no limit";
    const uint64_t limit = limit_of(device);
    bp__copy_text(reason, sizeof reason, bp_last_error());
    if (limit > 0) {
        snprintf(most, sizeof most, "the limit is %" PRIu64, limit);
    }
    pthread_mutex_lock(&device->mutex);
    device->pool.failures++;
    const uint64_t used = device->pool.used, cached = device->pool.cached;
    pthread_mutex_unlock(&device->mutex);
    return bp__fail(BP_E_NO_MEMORY,
                    "device %s has no memory for %" PRIu64 " bytes: %s (%" PRIu64 " bytes are used, %" PRIu64
                    " kept for reuse; %s)",
                    device->info.id, size, reason, used, cached, most);
}

bp_status bp__pool_take(bp__device *device, const bp_queue *queue, uint64_t size, bp__block **block) {
    uint64_t bytes;
    if (size > MOST_BYTES) {
        return bp__fail(BP_E_OVERFLOW, "no device has %" PRIu64 " bytes", size);
    }
    const int class = class_of(size, &bytes);
    pthread_mutex_lock(&device->mutex);
    *block = find_block(device, class, queue);
    if (*block) {
        note_use(&device->pool, bytes);
        device->pool.reuses++;
    }
    pthread_mutex_unlock(&device->mutex);
    if (*block) {
        return BP_OK;
    }
    bp__block *made = bp__alloc_zero(1, sizeof *made);
    if (!made) {
        return bp__fail_memory(sizeof *made, "a block of a device's memory");
    }
    made->class = class;
    made->size = bytes;
    bp_status status = allocate(device, queue, bytes, made);
    if (status == BP_E_NO_MEMORY) {
        status = allocate_again(device, queue, bytes, made);
    }
    if (status == BP_E_NO_MEMORY) {
        status = fail_memory(device, size);
    }
    if (status != BP_OK) {
        bp__free(made);
        return status;
    }
    *block = made;
    return BP_OK;
}

void bp__pool_give(bp__device *device, bp__block *block, const bp_queue *queue) {
    pthread_mutex_lock(&device->mutex);
    block->queue = queue ? queue->number : 0;
    block->serial = atomic_load_explicit(&device->serial, memory_order_acquire);
    device->pool.used -= block->size;
    put_last(&device->pool, block);
    pthread_mutex_unlock(&device->mutex);
}

void bp__pool_drop(bp__device *device, bp__block *block) {
    pthread_mutex_lock(&device->mutex);
    device->pool.used -= block->size;
    pthread_mutex_unlock(&device->mutex);
    block->next = NULL;
    release_all(device, block);
}

void bp__pool_close(bp__device *device) {
    for (int class = 0; class < BP__POOL_CLASSES; class ++) {
        release_all(device, device->pool.first[class]);
        device->pool.first[class] = device->pool.last[class] = NULL;
    }
    release_all(device, device->withheld);
    device->withheld = NULL;
    device->pool = (bp__pool){.used = 0};
    device->allocator = (bp_device_allocator){.allocate = NULL};
}

/* ---- Public ---- */

/* Returns the device whose pool there is: an open one. Others have an empty pool, *device is NULL then. */
static bp_status pool_of(int32_t place, bp__device **device) {
    BP__TRY(bp__device_named_by_place(place, device));
    if (place == 0) {
        return bp__fail(BP_E_DEVICE, "the host has no pool of memory; give the place of another device");
    }
    if (bp__device_is(*device, BP_DEVICE_FORKED)) {
        return bp__device_usable(*device);
    }
    return BP_OK;
}

bp_status bp_device_memory(int32_t place, bp_device_memory_info *info) {
    BP__UNCANCELLED;
    bp__device *device;
    BP__TRY(bp__struct_check(info, sizeof *info, "info"));
    BP__TRY(pool_of(place, &device));
    bp_device_memory_info own = {.limit = limit_of(device)};
    if (atomic_load_explicit(&device->handle, memory_order_acquire)) {
        pthread_mutex_lock(&device->mutex);
        const bp__pool *pool = &device->pool;
        own.used = pool->used;
        own.cached = pool->cached;
        own.peak = pool->peak;
        own.allocations = pool->allocations;
        own.reuses = pool->reuses;
        own.failures = pool->failures;
        pthread_mutex_unlock(&device->mutex);
    }
    bp__struct_write(info, &own, sizeof own);
    return BP_OK;
}

bp_status bp_device_trim(int32_t place, uint64_t keep) {
    BP__UNCANCELLED;
    bp__device *device;
    BP__TRY(pool_of(place, &device));
    if (atomic_load_explicit(&device->handle, memory_order_acquire)) {
        trim(device, keep);
    }
    return BP_OK;
}

bp_status bp_device_set_memory_limit(int32_t place, uint64_t bytes) {
    BP__UNCANCELLED;
    bp__device *device;
    BP__TRY(pool_of(place, &device));
    atomic_store_explicit(&device->limit, bytes, memory_order_relaxed);
    const uint64_t limit = limit_of(device);
    if (limit > 0 && atomic_load_explicit(&device->handle, memory_order_acquire)) {
        pthread_mutex_lock(&device->mutex);
        const uint64_t used = device->pool.used;
        pthread_mutex_unlock(&device->mutex);
        trim(device, limit > used ? limit - used : 0);
    }
    return BP_OK;
}

bp_status bp_device_use_allocator(int32_t place, const bp_device_allocator *allocator) {
    BP__UNCANCELLED;
    bp__device *device;
    if (allocator && (!allocator->allocate || !allocator->release)) {
        return bp__fail(BP_E_ARGUMENT, "bp_device_use_allocator: function '%s' of the allocator is NULL",
                        allocator->allocate ? "release" : "allocate");
    }
    BP__TRY(bp__device_ready(place, &device));
    trim(device, 0);
    pthread_mutex_lock(&device->mutex);
    const uint64_t used = device->pool.used, cached = device->pool.cached;
    if (used + cached == 0) {
        device->allocator = allocator ? *allocator : (bp_device_allocator){.allocate = NULL};
    }
    pthread_mutex_unlock(&device->mutex);
    return used + cached == 0 ? BP_OK
                              : bp__fail(BP_E_BUSY,
                                         "bp_device_use_allocator: device %s has %" PRIu64
                                         " bytes of tensors and workspaces, and %" PRIu64
                                         " that commands may still use; free them and call bp_device_wait() first",
                                         device->info.id, used, cached);
}
