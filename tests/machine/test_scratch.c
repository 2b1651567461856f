/* test_scratch.c - tests scratch memory: one block for each thread, another one for each waiting operation, none leaked
 * at the end of a thread, at a stop, or in a child of fork. */
#include "machine/pool.h"
#include "machine/support_pool.h"
#include "support/conditions.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

static void *use_scratch(void *unused) {
    (void)unused;
    for (size_t size = 1; size < 1 << 20; size = size * 3 + 1) {
        unsigned char *x = bp__scratch(size);
        if (!x || (uintptr_t)x % 64 != 0) {
            return (void *)1;
        }
        memset(x, 7, size);
        if (bp__scratch(size / 2) != x) {
            return (void *)1;
        }
    }
    return NULL;
}

static void test_scratch(void **state) {
    (void)state;
    bp__pool_stop();
    int64_t before = bp__live_blocks();
    assert_null(use_scratch(NULL));
    assert_int_equal(bp__live_blocks(), before + 1);
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, use_scratch, NULL), 0);
    }
    for (int i = 0; i < 4; i++) {
        void *wrong;
        pthread_join(threads[i], &wrong);
        assert_null(wrong);
    }
    assert_int_equal(bp__live_blocks(), before + 1);
    bp__pool_stop(); /* frees the caller's too */
    assert_int_equal(bp__live_blocks(), before);
    assert_non_null(bp__scratch(10));
    bp__pool_stop();
}

/* AddressSanitizer detects a byte beyond the requested size, however large the block is. */
static void test_fence(void **state) {
    (void)state;
#ifdef __SANITIZE_ADDRESS__
    for (size_t size = 5000; size > 0; size = size * 2 / 3) {
        char *x = bp__scratch(size);
        assert_null(__asan_region_is_poisoned(x, size));
        assert_true(__asan_address_is_poisoned(x + size));
    }
    bp__scratch_held held;
    bp__scratch(100);
    bp__scratch_hold(&held);
    bp__scratch(200);
    bp__scratch_return(&held);
    char *x = bp__scratch(4000);
    assert_null(__asan_region_is_poisoned(x, 4000));
    assert_true(__asan_address_is_poisoned(x + 4000));
    bp__pool_stop();
#else
    skip();
#endif
}

static void *refuse(void *user, size_t size) {
    (void)user, (void)size;
    return NULL;
}

static void *refuse_again(void *user, void *old, size_t size) {
    (void)user, (void)old, (void)size;
    return NULL;
}

static void give_back(void *user, void *block) {
    (void)user;
    free(block);
}

static void test_scratch_without_memory(void **state) {
    (void)state;
    bp__pool_stop();
    const bp_allocator none = {.allocate = refuse, .reallocate = refuse_again, .release = give_back};
    assert_int_equal(bp_set_allocator(&none), BP_OK);
    assert_null(bp__scratch(100));
    assert_null(bp__scratch(100));
    assert_int_equal(bp_set_allocator(NULL), BP_OK);
    assert_non_null(bp__scratch(100));
    bp__pool_stop();
    assert_int_equal(bp__live_blocks(), 0);
}

static void leave_at_once(void) {
    _exit(0);
}

/* The child's only thread is this one: when it ends, the child ends. */
static void *fork_and_end(void *child) {
    bp__scratch(1000);
    bp__pool_stop();
    fflush(NULL);
    pid_t process = fork();
    if (process == 0) {
        signal(SIGSEGV, SIG_DFL); /* a crash ends the child; cmocka must not handle it */
        atexit(leave_at_once);    /* runs before the functions that the parent has registered */
        return NULL;
    }
    *(pid_t *)child = process;
    return NULL;
}

/* A record whose block was freed must still be removed when its thread ends, in a child too. */
static void test_thread_ends_in_a_child_after_a_stop(void **state) {
    (void)state;
    if (!test_child_may_start_threads()) {
        print_message("skipped: neither this sanitizer nor an emulator follows threads that a forked child starts\n");
        skip();
    }
    pthread_t thread;
    pid_t child;
    assert_int_equal(pthread_create(&thread, NULL, fork_and_end, &child), 0);
    pthread_join(thread, NULL);
    assert_int_equal(wait_for(child), 0);
}

static void count_task(void *context, int task) {
    (void)task;
    atomic_fetch_add((atomic_int *)context, 1);
}

static bool all_bytes(const unsigned char *bytes, int value, size_t size) {
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] != value) {
            return false;
        }
    }
    return true;
}

/* Acts like an operation: takes scratch memory, runs tasks, and checks that its memory is unchanged. */
static void operation(int level) {
    size_t size = (size_t)10000 * (size_t)(4 - level);
    unsigned char *mine = bp__scratch(size);
    atomic_int tasks = 0;
    assert_non_null(mine);
    memset(mine, level, size);
    bp__parallel(2, 2, count_task, &tasks);
    assert_int_equal(atomic_load(&tasks), 2);
    assert_true(all_bytes(mine, level, size));
    assert_ptr_equal(bp__scratch(size), mine);
}

static int nesting;

/* Runs other work of the program while its tasks run, in the thread that waits for them. */
static void runs_other_work(void *user, int threads, int count, bp_task task, void *context) {
    (void)user, (void)threads;
    for (int i = 0; i < count; i++) {
        if (nesting < 3) {
            nesting++;
            operation(3 - nesting);
            nesting--;
        }
        task(context, i);
    }
}

static void test_scratch_of_operations_that_wait(void **state) {
    (void)state;
    bp__pool_stop();
    assert_int_equal(bp__pool_set_executor(runs_other_work, NULL), BP_OK);
    operation(3);
    assert_int_equal(bp__pool_set_executor(NULL, NULL), BP_OK);
    assert_int_equal(bp__live_blocks(), 1);
    bp__pool_stop();
    assert_int_equal(bp__live_blocks(), 0);
}

/* Exits with the number of blocks that remain in a child with only this new thread. */
static void *count_in_child(void *child) {
    *(pid_t *)child = fork();
    if (*(pid_t *)child == 0) {
        _exit((int)bp__live_blocks());
    }
    return NULL;
}

static int blocks_in_a_child_of_another_thread(void) {
    pthread_t thread;
    pid_t child;
    assert_int_equal(pthread_create(&thread, NULL, count_in_child, &child), 0);
    pthread_join(thread, NULL);
    return wait_for(child);
}

/* An executor with coroutines may continue an older operation while a younger one of the same thread waits. */
static void test_scratch_comes_back_in_any_order(void **state) {
    (void)state;
    bp__pool_stop();
    bp__scratch_held nothing, first, second, third;
    bp__scratch_hold(&nothing);
    void *of_first = bp__scratch(100);
    bp__scratch_hold(&first);
    void *of_second = bp__scratch(200);
    bp__scratch_hold(&second);
    void *of_third = bp__scratch(300);
    bp__scratch_hold(&third);
    assert_true(of_first != of_second && of_second != of_third && of_first != of_third);
    bp__scratch_return(&second);
    assert_ptr_equal(bp__scratch(200), of_second);
    assert_int_equal(blocks_in_a_child_of_another_thread(), 0); /* all held blocks are recorded */
    bp__scratch_return(&first);
    assert_ptr_equal(bp__scratch(100), of_first);
    assert_int_equal(blocks_in_a_child_of_another_thread(), 0);
    bp__scratch_return(&third);
    assert_ptr_equal(bp__scratch(300), of_third);
    bp__scratch_return(&nothing);
    assert_ptr_equal(bp__scratch(300), of_third);
    assert_int_equal(bp__live_blocks(), 1);
    bp__pool_stop();
    assert_int_equal(bp__live_blocks(), 0);
}

static atomic_int holding;

static void *hold_scratch(void *unused) {
    (void)unused;
    bp__scratch_held outer, inner;
    bp__scratch(1000);
    bp__scratch_hold(&outer);
    bp__scratch(1000);
    bp__scratch_hold(&inner);
    bp__scratch(1000);
    atomic_store(&holding, 1);
    while (atomic_load(&holding) == 1) {
        sched_yield();
    }
    bp__scratch_return(&inner);
    bp__scratch_return(&outer);
    return NULL;
}

/* The child keeps what its own thread holds, and frees what the others held. */
static void test_held_scratch_and_fork(void **state) {
    (void)state;
    bp__pool_stop();
    pthread_t thread;
    bp__scratch_held held;
    atomic_store(&holding, 0);
    assert_int_equal(pthread_create(&thread, NULL, hold_scratch, NULL), 0);
    while (atomic_load(&holding) == 0) {
        sched_yield();
    }
    unsigned char *mine = bp__scratch(1000);
    memset(mine, 5, 1000);
    bp__scratch_hold(&held);
    pid_t child = fork();
    if (child == 0) {
        int wrong = bp__live_blocks() != 1;
        wrong |= (bp__scratch(1000) == mine) << 1;
        bp__scratch_return(&held);
        wrong |= (bp__scratch(1000) != mine || !all_bytes(mine, 5, 1000)) << 2;
        bp__pool_stop();
        wrong |= (bp__live_blocks() != 0) << 3;
        _exit(wrong);
    }
    assert_int_equal(wait_for(child), 0);
    bp__scratch_return(&held);
    atomic_store(&holding, 2);
    pthread_join(thread, NULL);
    bp__pool_stop();
    assert_int_equal(bp__live_blocks(), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scratch),
        cmocka_unit_test(test_fence),
        cmocka_unit_test(test_scratch_without_memory),
        cmocka_unit_test(test_thread_ends_in_a_child_after_a_stop),
        cmocka_unit_test(test_scratch_of_operations_that_wait),
        cmocka_unit_test(test_scratch_comes_back_in_any_order),
        cmocka_unit_test(test_held_scratch_and_fork),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
