/* failing.c - implements failing.h. */
#include "support/failing.h"

#include <stdatomic.h>
#include <stdlib.h>

/* Number of allocations that still succeed; negative: all. Threads of the pool allocate, too. */
static atomic_long left = -1;
static atomic_bool only_one_fails, failed;

static bool refused(void) {
    const bool one = atomic_load(&only_one_fails);
    long now = atomic_load(&left);
    while ((now > 0 || (now == 0 && one)) && !atomic_compare_exchange_weak(&left, &now, now - 1)) {
    }
    if (now == 0) {
        atomic_store(&failed, true);
    }
    return now == 0;
}

static void *allocate(void *user, size_t size) {
    (void)user;
    return refused() ? NULL : malloc(size);
}

static void *reallocate(void *user, void *old, size_t size) {
    (void)user;
    return refused() ? NULL : realloc(old, size);
}

static void release(void *user, void *block) {
    (void)user;
    free(block);
}

const bp_allocator test_failing_allocator = {allocate, reallocate, release, NULL};

void test_fail_allocations(long succeed, bool only_one) {
    atomic_store(&failed, false);
    atomic_store(&only_one_fails, only_one);
    atomic_store(&left, succeed);
}

bool test_end_of_failures(void) {
    atomic_store(&left, -1);
    return atomic_load(&failed);
}
