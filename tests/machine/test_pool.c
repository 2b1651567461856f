/* test_pool.c - tests the thread pool: every task runs once, from any caller, also after fork. */
#include "machine/support_pool.h"
#include "support/conditions.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define TASKS 1000
typedef struct tally {
    atomic_int ran[TASKS];
    atomic_int running, most;
    int nested_threads;
} tally;

static void count_task(void *context, int task) {
    tally *t = context;
    int running = atomic_fetch_add(&t->running, 1) + 1, most = atomic_load(&t->most);
    while (running > most && !atomic_compare_exchange_weak(&t->most, &most, running)) {
    }
    atomic_fetch_add(&t->ran[task], 1);
    atomic_fetch_sub(&t->running, 1);
}

static void expect_once(const tally *t, int count) {
    for (int i = 0; i < TASKS; i++) {
        assert_int_equal(atomic_load(&t->ran[i]), i < count);
    }
}

static void test_each_task_runs_once(void **state) {
    (void)state;
    for (int threads = -1; threads <= 9; threads++) {
        for (int count = 0; count <= TASKS; count = count * 3 + 1) {
            tally t;
            memset(&t, 0, sizeof t);
            bp__parallel(threads, count, count_task, &t);
            expect_once(&t, count);
            assert_true(atomic_load(&t.most) <= (threads < 1 ? 1 : threads));
        }
    }
}

/* Two tasks that wait for each other end only if two threads run them. */
static void meet(void *context, int task) {
    atomic_int *arrived = context;
    (void)task;
    atomic_fetch_add(arrived, 1);
    for (int i = 0; i < 20000 && atomic_load(arrived) < 2; i++) {
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    }
}

static void test_threads_are_real(void **state) {
    (void)state;
    for (int round = 0; round < 3; round++) {
        atomic_int arrived = 0;
        bp__parallel(2, 2, meet, &arrived);
        assert_int_equal(atomic_load(&arrived), 2);
        assert_true(bp__pool_threads() >= 2);
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL); /* long enough for the workers to sleep */
    }
}

/* Data of two tasks that wait for each other, and the CPUs that the worker may use. */
typedef struct rendezvous {
    atomic_int arrived;
    pthread_t caller;
    cpu_set_t worker_may;
} rendezvous;

static void meet_and_record(void *context, int task) {
    rendezvous *m = context;
    if (!pthread_equal(pthread_self(), m->caller)) {
        assert_int_equal(sched_getaffinity(0, sizeof m->worker_may, &m->worker_may), 0);
    }
    meet(&m->arrived, task);
}

/* A worker on the core of its busy caller would run at half speed while another core is idle. */
static void test_woken_workers_avoid_the_caller(void **state) {
    (void)state;
    cpu_set_t all;
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    if (CPU_COUNT(&all) < 2) {
        print_message("skipped: this process has one core\n");
        skip();
    }
    bp__pool_stop();
    atomic_int met = 0;
    bp__parallel(2, 2, meet, &met);
    for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET(cpu, &all)) {
            cpu_set_t one, expected = all;
            CPU_ZERO(&one);
            CPU_SET(cpu, &one);
            CPU_CLR(cpu, &expected);
            assert_int_equal(sched_setaffinity(0, sizeof one, &one),
                             0); /* pins the caller to the core that workers must avoid */
            nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
            rendezvous m = {.caller = pthread_self()};
            bp__parallel(2, 2, meet_and_record, &m);
            assert_int_equal(atomic_load(&m.arrived), 2);
            assert_true(CPU_EQUAL(&m.worker_may, &expected));
        }
    }
    bp__pool_stop(); /* workers of a caller with one core use that one */
    for (int round = 0; round < 2; round++) {
        cpu_set_t mine;
        rendezvous m = {.caller = pthread_self()};
        bp__parallel(2, 2, meet_and_record, &m);
        assert_int_equal(sched_getaffinity(0, sizeof mine, &mine), 0);
        assert_true(CPU_EQUAL(&m.worker_may, &mine));
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    }
    bp__pool_stop();
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
}

static void nested_task(void *context, int task) {
    tally *t = context;
    pthread_t caller = pthread_self();
    tally inner;
    memset(&inner, 0, sizeof inner);
    bp__parallel(4, 50, count_task, &inner);
    expect_once(&inner, 50);
    assert_int_equal(atomic_load(&inner.most), 1);
    assert_true(pthread_equal(caller, pthread_self()));
    atomic_fetch_add(&t->ran[task], 1);
}

static void test_nested_calls_run_in_their_thread(void **state) {
    (void)state;
    tally t;
    memset(&t, 0, sizeof t);
    bp__parallel(3, 20, nested_task, &t);
    expect_once(&t, 20);
    memset(&t, 0, sizeof t);
    bp__parallel(1, 5, nested_task, &t);
    expect_once(&t, 5);
}

static void *call_often(void *unused) {
    (void)unused;
    for (int round = 0; round < 200; round++) {
        tally t;
        memset(&t, 0, sizeof t);
        bp__parallel(1 + round % 4, 100, count_task, &t);
        for (int i = 0; i < 100; i++) {
            if (atomic_load(&t.ran[i]) != 1) {
                return (void *)1;
            }
        }
    }
    return NULL;
}

static void test_many_callers(void **state) {
    (void)state;
    pthread_t callers[6];
    for (int i = 0; i < 6; i++) {
        assert_int_equal(pthread_create(&callers[i], NULL, call_often, NULL), 0);
    }
    for (int i = 0; i < 6; i++) {
        void *wrong;
        pthread_join(callers[i], &wrong);
        assert_null(wrong);
    }
}

static void test_stops_and_starts_again(void **state) {
    (void)state;
    bp__pool_stop();
    for (int round = 0; round < 5; round++) {
        tally t;
        memset(&t, 0, sizeof t);
        bp__parallel(3, 64, count_task, &t);
        expect_once(&t, 64);
        assert_int_equal(bp__pool_threads(), 3);
        bp__pool_stop();
        assert_int_equal(bp__pool_threads(), 1);
    }
}

static void note_mask(void *context, int task) {
    (void)task;
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    if (sigismember(&mask, SIGUSR1) && sigismember(&mask, SIGINT)) {
        atomic_fetch_add((atomic_int *)context, 1);
    }
    nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
}

/* The caller's mask is unchanged, and workers block all signals. */
static void test_workers_take_no_signals(void **state) {
    (void)state;
    atomic_int blocked = 0;
    sigset_t mask;
    bp__parallel(2, 20, note_mask, &blocked);
    assert_true(atomic_load(&blocked) > 0 && atomic_load(&blocked) < 20);
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    assert_false(sigismember(&mask, SIGUSR1));
}

static void test_fork(void **state) {
    (void)state;
    if (!test_child_may_start_threads()) {
        print_message("skipped: neither this sanitizer nor an emulator follows threads that a forked child starts\n");
        skip();
    }
    tally t;
    memset(&t, 0, sizeof t);
    bp__parallel(3, 100, count_task, &t);
    void *scratch = bp__scratch(1000);
    uint32_t forks = *bp__fork_count();
    pid_t child = fork();
    if (child == 0) {
        int wrong = *bp__fork_count() != forks + 1;
        wrong |= (bp__pool_threads() != 1) << 1;
        memset(&t, 0, sizeof t);
        bp__parallel(3, 100, count_task, &t);
        for (int i = 0; i < 100; i++) {
            wrong |= (atomic_load(&t.ran[i]) != 1) << 2;
        }
        wrong |= (bp__pool_threads() != 3) << 3;
        wrong |= (bp__scratch(1000) != scratch) << 4;
        _exit(wrong);
    }
    assert_int_equal(wait_for(child), 0);
    assert_int_equal(*bp__fork_count(), forks);
    memset(&t, 0, sizeof t);
    bp__parallel(3, 100, count_task, &t);
    expect_once(&t, 100);
}

static atomic_bool keep_going;

static void *keep_busy(void *unused) {
    (void)unused;
    while (atomic_load(&keep_going)) {
        tally t;
        memset(&t, 0, sizeof t);
        bp__parallel(2, 8, count_task, &t);
        bp__scratch((size_t)(1000 + rand() % 100000));
    }
    return NULL;
}

/* A child can work, whatever the other threads were doing. */
static void test_fork_while_busy(void **state) {
    (void)state;
    if (!test_child_may_start_threads()) {
        print_message("skipped: neither this sanitizer nor an emulator follows threads that a forked child starts\n");
        skip();
    }
    atomic_store(&keep_going, true);
    pthread_t busy[2];
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_create(&busy[i], NULL, keep_busy, NULL), 0);
    }
    for (int round = 0; round < 20; round++) {
        pid_t child = fork();
        if (child == 0) {
            tally t;
            memset(&t, 0, sizeof t);
            bp__parallel(3, 100, count_task, &t);
            int wrong = 0;
            for (int i = 0; i < 100; i++) {
                wrong |= atomic_load(&t.ran[i]) != 1;
            }
            wrong |= (bp__scratch(5000) == NULL) << 1;
            _exit(wrong);
        }
        assert_int_equal(wait_for(child), 0);
    }
    atomic_store(&keep_going, false);
    for (int i = 0; i < 2; i++) {
        pthread_join(busy[i], NULL);
    }
}

static int executor_calls;
static void backwards(void *user, int threads, int count, bp_task task, void *context) {
    assert_string_equal(user, "user");
    assert_int_equal(threads, 4);
    executor_calls++;
    for (int i = count - 1; i >= 0; i--) {
        task(context, i);
    }
}

static void test_executor(void **state) {
    (void)state;
    tally t;
    memset(&t, 0, sizeof t);
    assert_int_equal(bp__pool_set_executor(backwards, "user"), BP_OK);
    bp__parallel(4, 30, count_task, &t);
    expect_once(&t, 30);
    assert_int_equal(executor_calls, 1);
    memset(&t, 0, sizeof t);
    bp__parallel(4, 10, nested_task, &t); /* calls from its tasks do not use it again */
    expect_once(&t, 10);
    assert_int_equal(executor_calls, 2);
    assert_int_equal(bp__pool_set_executor(NULL, NULL), BP_OK);
    bp__parallel(4, 10, count_task, &t);
    assert_int_equal(executor_calls, 2);
}

static void replace_executor(void *context, int task) {
    (void)task;
    if (bp__pool_set_executor(NULL, NULL) == BP_E_BUSY && bp_last_error()[0]) {
        atomic_fetch_add((atomic_int *)context, 1);
    }
}

static void test_executor_refused_while_running(void **state) {
    (void)state;
    atomic_int refused = 0;
    bp__parallel(2, 10, replace_executor, &refused);
    assert_int_equal(atomic_load(&refused), 10);
}

static int pair_of_first;
static atomic_int mixed_pairs;
static atomic_int refusals;

static void in_order(int count, bp_task task, void *context) {
    for (int i = 0; i < count; i++) {
        task(context, i);
    }
}

static void *replace_elsewhere(void *unused) {
    (void)unused;
    atomic_fetch_add(&refusals, bp__pool_set_executor(NULL, NULL) == BP_E_BUSY);
    return NULL;
}

/* Replacing the executor is refused during its own work, in the same thread and in another one. */
static void replaced_while_running(void *user, int threads, int count, bp_task task, void *context) {
    (void)user, (void)threads;
    pthread_t thread;
    assert_true(bp__executor_awaited());
    replace_elsewhere(NULL);
    assert_int_equal(pthread_create(&thread, NULL, replace_elsewhere, NULL), 0);
    pthread_join(thread, NULL);
    in_order(count, task, context);
}

static void test_executor_is_not_replaced_while_it_runs(void **state) {
    (void)state;
    tally t;
    memset(&t, 0, sizeof t);
    atomic_store(&refusals, 0);
    assert_int_equal(bp__pool_set_executor(replaced_while_running, NULL), BP_OK);
    bp__parallel(2, 30, count_task, &t);
    expect_once(&t, 30);
    assert_int_equal(atomic_load(&refusals), 2);
    assert_false(bp__executor_awaited());
    assert_int_equal(bp__pool_set_executor(NULL, NULL), BP_OK);
}

static void first_of_two(void *user, int threads, int count, bp_task task, void *context) {
    (void)threads;
    atomic_fetch_add(&mixed_pairs, user != &pair_of_first);
    in_order(count, task, context);
}

static void second_of_two(void *user, int threads, int count, bp_task task, void *context) {
    (void)threads;
    atomic_fetch_add(&mixed_pairs, user != NULL);
    in_order(count, task, context);
}

static void nothing(void *context, int task) {
    (void)context, (void)task;
}

static void *call_without_pause(void *unused) {
    (void)unused;
    while (atomic_load(&keep_going)) {
        bp__parallel(2, 2, nothing, NULL);
    }
    return NULL;
}

/* No executor gets the pointer of another. */
static void test_executors_take_turns(void **state) {
    (void)state;
    pthread_t caller;
    atomic_store(&keep_going, true);
    assert_int_equal(pthread_create(&caller, NULL, call_without_pause, NULL), 0);
    for (int taken = 0; taken < 2000;) {
        bool first = taken % 2;
        taken += bp__pool_set_executor(first ? first_of_two : second_of_two, first ? &pair_of_first : NULL) == BP_OK;
    }
    atomic_store(&keep_going, false);
    pthread_join(caller, NULL);
    assert_int_equal(atomic_load(&mixed_pairs), 0);
    assert_int_equal(bp__pool_set_executor(NULL, NULL), BP_OK);
}

static atomic_int arrived_at_executor;

static void waits_for_more(void *user, int threads, int count, bp_task task, void *context) {
    (void)user, (void)threads;
    atomic_fetch_add(&arrived_at_executor, 1);
    while (atomic_load(&arrived_at_executor) < 2) {
        sched_yield();
    }
    in_order(count, task, context);
}

static void *call_once(void *unused) {
    (void)unused;
    bp__parallel(2, 2, nothing, NULL);
    return NULL;
}

/* Operations of threads that do not exist in the child do not block it. */
static void test_fork_while_another_thread_waits_for_the_executor(void **state) {
    (void)state;
    pthread_t caller;
    atomic_store(&arrived_at_executor, 0);
    assert_int_equal(bp__pool_set_executor(waits_for_more, NULL), BP_OK);
    assert_int_equal(pthread_create(&caller, NULL, call_once, NULL), 0);
    while (atomic_load(&arrived_at_executor) == 0) {
        sched_yield();
    }
    pid_t child = fork();
    if (child == 0) {
        _exit(bp__pool_set_executor(NULL, NULL) != BP_OK);
    }
    assert_int_equal(wait_for(child), 0);
    assert_int_equal(bp__pool_set_executor(NULL, NULL), BP_E_BUSY);
    atomic_fetch_add(&arrived_at_executor, 1);
    pthread_join(caller, NULL);
    assert_int_equal(bp__pool_set_executor(NULL, NULL), BP_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_task_runs_once),
        cmocka_unit_test(test_threads_are_real),
        cmocka_unit_test(test_woken_workers_avoid_the_caller),
        cmocka_unit_test(test_nested_calls_run_in_their_thread),
        cmocka_unit_test(test_many_callers),
        cmocka_unit_test(test_stops_and_starts_again),
        cmocka_unit_test(test_workers_take_no_signals),
        cmocka_unit_test(test_fork),
        cmocka_unit_test(test_fork_while_busy),
        cmocka_unit_test(test_executor),
        cmocka_unit_test(test_executor_refused_while_running),
        cmocka_unit_test(test_executor_is_not_replaced_while_it_runs),
        cmocka_unit_test(test_executors_take_turns),
        cmocka_unit_test(test_fork_while_another_thread_waits_for_the_executor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
