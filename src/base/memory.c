/* memory.c - the one door to memory, so that a host program's allocator, or a test's failing one, reaches every block.
 *
 * The number of live blocks doubles as the lock of the allocator: bp_set_allocator() swaps the count from 0 to CLOSED,
 * and an allocation that meets a closed count waits for the few instructions until it opens again.
 */
#include "base/base.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#define CLOSED (INT64_MIN / 2)
enum { ALIGNMENT = 64 };

static void *host_allocate(void *user, size_t size) {
    (void)user;
    return malloc(size);
}

static void *host_reallocate(void *user, void *old, size_t size) {
    (void)user;
    return realloc(old, size);
}

static void host_release(void *user, void *block) {
    (void)user;
    free(block);
}

static const bp_allocator host = {host_allocate, host_reallocate, host_release, NULL};
static bp_allocator current = {host_allocate, host_reallocate, host_release, NULL};
static _Atomic int64_t live;

bp_status bp_set_allocator(const bp_allocator *allocator) {
    if (allocator && (!allocator->allocate || !allocator->reallocate || !allocator->release)) {
        return bp__fail(BP_E_ARGUMENT, "allocator: allocate, reallocate and release must all be given");
    }
    int64_t none = 0;
    if (!atomic_compare_exchange_strong_explicit(&live, &none, CLOSED, memory_order_acquire, memory_order_relaxed)) {
        return bp__fail(BP_E_BUSY, "allocator: the library holds %lld blocks; call bp_reset() first",
                        (long long)(none < 0 ? 0 : none));
    }
    current = allocator ? *allocator : host;
    atomic_fetch_sub_explicit(&live, CLOSED, memory_order_release);
    return BP_OK;
}

/* Counts a block before it exists, so that the allocator cannot be replaced while it is in use. */
static void count_block(void) {
    while (BP__UNLIKELY(atomic_fetch_add_explicit(&live, 1, memory_order_acquire) < 0)) {
        atomic_fetch_sub_explicit(&live, 1, memory_order_relaxed);
        sched_yield();
    }
}

static void uncount_block(void) {
    atomic_fetch_sub_explicit(&live, 1, memory_order_release);
}

int64_t bp__live_blocks(void) {
    int64_t count = atomic_load_explicit(&live, memory_order_acquire);
    return count < 0 ? 0 : count;
}

void *bp__alloc(size_t size) {
    count_block();
    void *block = current.allocate(current.user, size ? size : 1);
    if (!block) {
        uncount_block();
    }
    return block;
}

void *bp__alloc_zero(size_t count, size_t size) {
    size_t total;
    if (__builtin_mul_overflow(count, size, &total)) {
        return NULL;
    }
    void *block = bp__alloc(total);
    return block ? memset(block, 0, total) : NULL;
}

void *bp__realloc(void *block, size_t size) {
    if (!block) {
        return bp__alloc(size);
    }
    return current.reallocate(current.user, block, size ? size : 1);
}

void bp__free(void *block) {
    if (block) {
        current.release(current.user, block);
        uncount_block();
    }
}

/* The address that the allocator gave stands right before the aligned block. */
void *bp__alloc_aligned(size_t size) {
    size_t total;
    if (__builtin_add_overflow(size, ALIGNMENT + sizeof(void *), &total)) {
        return NULL;
    }
    char *block = bp__alloc(total);
    if (!block) {
        return NULL;
    }
    char *start = block + sizeof(void *);
    char *aligned = start + (ALIGNMENT - (uintptr_t)start % ALIGNMENT) % ALIGNMENT;
    memcpy(aligned - sizeof(void *), &block, sizeof block);
    return aligned;
}

void bp__free_aligned(void *block) {
    if (block) {
        void *given;
        memcpy(&given, (char *)block - sizeof given, sizeof given);
        bp__free(given);
    }
}

char *bp__strdup(const char *text) {
    size_t size = strlen(text) + 1;
    char *copy = bp__alloc(size);
    return copy ? memcpy(copy, text, size) : NULL;
}
