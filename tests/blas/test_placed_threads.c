/* test_placed_threads.c - tests that only the listed threads of a library are kept off the caller's processor: not a
 * thread of the program that got the id of one that has ended. */
#define _GNU_SOURCE
#include "providers/driver/placement.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/conditions.h"

enum { NUMBER = 60, MOST_IDS = 1 << 16 };

/* ---- Threads that wait ---- */

typedef struct waiting {
    pthread_t thread;
    int id;
    sem_t started, end;
} waiting;

static void *wait_for_end(void *user) {
    waiting *w = user;
    w->id = (int)syscall(SYS_gettid);
    sem_post(&w->started);
    sem_wait(&w->end);
    return NULL;
}

static void start(waiting *w) {
    assert_int_equal(sem_init(&w->started, 0, 0) | sem_init(&w->end, 0, 0), 0);
    assert_int_equal(pthread_create(&w->thread, NULL, wait_for_end, w), 0);
    sem_wait(&w->started);
}

static void end(waiting *w) {
    sem_post(&w->end);
    pthread_join(w->thread, NULL);
}

static long number_in(const char *path) {
    FILE *file = fopen(path, "r");
    char line[32];
    const long number = file && fgets(line, sizeof line, file) ? strtol(line, NULL, 10) : 0;
    if (file) {
        fclose(file);
    }
    return number;
}

/* Starts threads until one has the id. Ids are given in a cycle; who may write the last one shortens it. */
static bool start_with_id(waiting *w, int id) {
    FILE *last = fopen("/proc/sys/kernel/ns_last_pid", "w");
    if (last) {
        fprintf(last, "%d", id - 1);
        fclose(last);
    }
    const bool few = number_in("/proc/sys/kernel/pid_max") <= MOST_IDS;
    for (int i = 0; i < (few ? 2 * MOST_IDS : 16); i++) {
        start(w);
        if (w->id == id) {
            return true;
        }
        end(w);
    }
    return false;
}

/* ---- Processors ---- */

static int processors_of(int thread) {
    cpu_set_t set;
    assert_int_equal(sched_getaffinity(thread, sizeof set, &set), 0);
    return CPU_COUNT(&set);
}

/* Moves this thread to another processor, without binding it. */
static void change_processor(int from) {
    cpu_set_t all, others;
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    others = all;
    CPU_CLR((size_t)from, &others);
    for (int i = 0; i < 1000 && sched_getcpu() == from; i++) {
        assert_int_equal(sched_setaffinity(0, sizeof others, &others), 0);
        assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
    }
    assert_int_not_equal(sched_getcpu(), from);
}

/* ---- Tests ---- */

static void test_an_id_given_again_is_another_thread(void **state) {
    waiting listed, other;
    (void)state;
    const int processors = processors_of(0);
    if (processors < 2) {
        skip();
    }
    test_start_first_thread();
    bp__placement_origin(NUMBER, true);
    bp__workers *workers = bp__workers_expect(NUMBER, false);
    assert_non_null(workers);
    start(&listed);
    bp__workers_find(workers, 1);
    const int at = sched_getcpu();
    bp__workers_place(workers);
    assert_int_equal(processors_of(listed.id), processors - 1);
    end(&listed);
    nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL); /* times of starts are in ticks */
    if (!start_with_id(&other, listed.id)) {
        print_message("skipped: no thread got an id again\n");
        skip();
    }
    change_processor(at);
    bp__workers_place(workers);
    assert_int_equal(processors_of(other.id), processors);
    end(&other);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_an_id_given_again_is_another_thread)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
