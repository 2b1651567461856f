/* test_load.c - tests what is known of processors that other processes keep busy: readings of artificial /proc/stat
 * files, the limit after sequences of readings, and, on this machine, next to processes that compute. */
#include "machine/available_cpus.h"
#include "machine/internal.h"
#include "machine/load.h"
#include "settings/internal.h"

#include <errno.h>
#include <fenv.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- Readings ---- */

static char root[64];

static int make_root(void **state) {
    (void)state;
    char path[128];
    snprintf(root, sizeof root, "/tmp/backplane-test-XXXXXX");
    if (!mkdtemp(root)) {
        return -1;
    }
    snprintf(path, sizeof path, "%s/proc", root);
    return mkdir(path, 0700);
}

static int remove_root(void **state) {
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -r '%s'", root);
    return system(command);
}

static void put_stat(const char *text) {
    char path[128];
    snprintf(path, sizeof path, "%s/proc/stat", root);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* Returns the busy ticks of processors 1 and 3 in a text; -1 if it cannot be read. */
static int64_t ticks_in(const char *text) {
    bp__cpu_reader reader = {0};
    assert_true(bp__cpu_reader_make(&reader));
    CPU_ZERO_S(reader.set_size, reader.set);
    CPU_SET_S(1, reader.set_size, reader.set);
    CPU_SET_S(3, reader.set_size, reader.set);
    put_stat(text);
    bp__cpu_times times;
    const bool known = bp__cpu_times_read(&times, &reader, root);
    bp__cpu_reader_free(&reader);
    assert_null(reader.set);
    assert_true(times.at > 0 && times.own > 0);
    return known ? times.busy / (1000000000 / sysconf(_SC_CLK_TCK)) : -1;
}

/* The ticks of processes of low priority count if this one has it too. */
static int64_t niced(int64_t ticks) {
    return getpriority(PRIO_PROCESS, 0) > 0 ? ticks : 0;
}

static void test_processors_of_the_mask_count(void **state) {
    (void)state;
    assert_int_equal(ticks_in("cpu  1 1 1 1 1 1 1 1 1 1\n"
                              "cpu0 1000 0 0 0 0 0 0 0 0 0\n"
                              "cpu1 1 1000 20 5000 6000 300 4000 50000 7 8\n" /* idle and waiting time do not */
                              "cpu2 1000 0 0 0 0 0 0 0 0 0\n"
                              "cpu3 600000 0 0 0 0 0 0 0 600000 0\n" /* a guest's time is part of the first number */
                              "cpu10 1000 0 0 0 0 0 0 0 0 0\n"
                              "intr 9\ncpu1 7 0 0 0\n"),
                     654321 + niced(1000));
}

static void test_other_files(void **state) {
    (void)state;
    assert_int_equal(ticks_in("cpu  9 9 9 9\ncpu1 4 2 3 1\n"),
                     7 + niced(2));                  /* of an old kernel; processor 3 is offline */
    assert_int_equal(ticks_in("cpu1 5\ncpu3 6"), 5); /* the last line may have been cut off */
    assert_int_equal(ticks_in("cpu1\ncpu3 \n"), 0);
    assert_int_equal(ticks_in("cpu1 5\ncpu99999999999999999999 6\ncpu1025 7\ncpu-1 8\ncpu 9\n"), 5);
    assert_int_equal(ticks_in("cpu  9 9 9 9\ncpu0 4 2 3 1\n"), -1);
    assert_int_equal(ticks_in(""), -1);
    assert_int_equal(ticks_in("cpu"), -1);
    assert_int_equal(ticks_in("intr 1\ncpu1 5 0 0 0\n"), -1);
    bp__cpu_reader reader = {0};
    bp__cpu_times times;
    assert_true(bp__cpu_reader_make(&reader));
    assert_false(bp__cpu_times_read(&times, &reader, "/proc/none"));
    bp__cpu_reader_free(&reader);
}

/* ---- The limit ---- */

/* Adds a reading after `ms`, in which others used so many processors, and this process `own`. */
static void add(bp__load *load, int64_t ms, double others, double own, int processors, int usable) {
    bp__cpu_times now = load->last.at > 0 ? load->last : (bp__cpu_times){1000000, 5000000, 3000000};
    now.at += ms * 1000000;
    now.own += (int64_t)(own * (double)ms * 1e6);
    now.busy += (int64_t)((own + others) * (double)ms * 1e6);
    bp__load_add(load, &now, processors, usable);
}

static void test_limit_falls_after_two_readings_and_rises_after_one(void **state) {
    (void)state;
    static const struct {
        double others;
        int limit;
    } steps[] = {
        {9, 0},                                          /* nothing is known before the second reading */
        {1, 0},   {1, 1},   {1, 1},   {0.3, 1},          /* between the bounds nothing changes */
        {0.1, 0}, {1, 0},   {0, 0},   {1, 0},            /* a short process does not count */
        {1, 1},   {0, 0},   {0.3, 0}, {0.3, 0},          /* between the bounds nothing changes */
        {0.5, 0}, {0.5, 1}, {2, 1},   {0.2, 0}, {-1, 0}, /* of this process, on processors outside of the mask */
    };
    bp__load load = {0};
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        add(&load, 100, steps[i].others, (double)(i % 2), 2, 2);
        if (load.limit != steps[i].limit) {
            fail_msg("step %zu: limit %d, not %d", i, load.limit, steps[i].limit);
        }
        assert_true(load.others >= 0);
    }
}

static void test_limit_of_many_processors(void **state) {
    (void)state;
    bp__load load = {0};
    add(&load, 100, 0, 0, 64, 64);
    add(&load, 100, 20, 40, 64, 64);
    add(&load, 300, 20, 40, 64, 64);
    assert_int_equal(load.limit, 44);
    add(&load, 100, 63.9, 0, 64, 64);
    assert_int_equal(load.limit, 44);
    add(&load, 100, 64, 0, 64, 64);
    assert_int_equal(load.limit, 1); /* at least one */
    add(&load, 100, 10, 1, 64, 64);
    assert_int_equal(load.limit, 52);
    add(&load, 100, 0, 1, 64, 64);
    assert_int_equal(load.limit, 0);
}

/* Each limit needs plans of its own, so that a limit for each number of threads would fill the caches. */
static void test_many_processors_have_few_limits(void **state) {
    (void)state;
    enum { PROCESSORS = 256, MOST = 16 + 15 /* below a sixteenth each number counts */ };
    bool seen[PROCESSORS + 1] = {false};
    int count = 0;
    bp__load load = {0};
    add(&load, 100, 0, 0, PROCESSORS, PROCESSORS);
    for (int i = 0; i < 4 * PROCESSORS; i++) {
        add(&load, 100, i / 4.0, 0, PROCESSORS, PROCESSORS);
        count += !seen[load.limit];
        seen[load.limit] = true;
        assert_true(load.limit < PROCESSORS);
    }
    assert_int_equal(load.limit, 1);
    assert_in_range(count, 16, MOST);
}

static void test_each_limit_ends(void **state) {
    (void)state;
    for (int processors = 1; processors < 100; processors++) {
        bp__load load = {0};
        add(&load, 100, 0, 0, processors, processors);
        add(&load, 100, processors, 0, processors, processors);
        add(&load, 100, processors, 0, processors, processors);
        assert_int_equal(load.limit, processors > 1 ? 1 : 0);
        add(&load, 100, 0.1, 0, processors, processors);
        assert_int_equal(load.limit, 0);
    }
}

/* The lines of a processor that is taken offline vanish. */
static void test_processors_come_and_go(void **state) {
    (void)state;
    bp__load load = {0};
    add(&load, 100, 0, 1, 4, 4);
    add(&load, 100, 1e6, 1, 4, 4);
    assert_true(load.others == 4);
    add(&load, 100, 0, 1, 4, 4);
    assert_int_equal(load.limit, 0);
    add(&load, 100, -1e6, 1, 4, 4);
    assert_true(load.others == 0);
    assert_int_equal(load.limit, 0);
}

/* A quota of 4 processors is less than others leave of 64. */
static void test_limit_beyond_the_quota_is_none(void **state) {
    (void)state;
    bp__load load = {0};
    for (int i = 0; i < 4; i++) {
        add(&load, 100, 50, 3, 64, 4);
        assert_int_equal(load.limit, 0);
    }
    add(&load, 100, 61.5, 1, 64, 4);
    add(&load, 100, 61.5, 1, 64, 4);
    assert_int_equal(load.limit, 2);
}

/* The clock of a child of fork begins again at 0. */
static void test_child_begins_again(void **state) {
    (void)state;
    bp__load load = {0};
    add(&load, 100, 0, 1, 2, 2);
    add(&load, 100, 1, 1, 2, 2);
    bp__cpu_times now = load.last;
    now.at += 100000000;
    now.own = 0;
    now.busy += 100000000;
    bp__load_add(&load, &now, 2, 2);
    assert_int_equal(load.limit, 0);
    add(&load, 100, 1, 0, 2, 2); /* the first reading in a row again */
    assert_int_equal(load.limit, 0);
    add(&load, 100, 1, 0, 2, 2);
    assert_int_equal(load.limit, 1);
}

/* ---- This machine ---- */

enum { MOST_PROCESSES = 64, LIMIT_S = 60 };

static void pause_reading(void) {
    nanosleep(&(struct timespec){.tv_nsec = 110000000}, NULL);
}

/* Returns the number of processors in this process's mask; 0 if it cannot keep them all busy, with the reason. */
static int processors_to_fill(void) {
    size_t size;
    cpu_set_t *set = bp__affinity(&size);
    const int count = set ? CPU_COUNT_S(size, set) : 0;
    bp__free(set);
    const bool limited = bp__cgroup_cpus("") > 0;
    if (limited || count < 2 || count > MOST_PROCESSES) {
        print_message("skipped: %d processors%s\n", count, limited ? ", and a quota" : "");
        return 0;
    }
    return count;
}

/* Returns the limit of this thread after it polled in a scope that has no limit. The limit must be as before. */
static int limit_after_scope(void) {
    bp_scope *scope;
    pause_reading();
    assert_int_equal(bp_scope_enter(&scope, "threads.adapt=false"), BP_OK);
    const int inside = bp_load_limit(NULL);
    assert_int_equal(bp_scope_leave(&scope), BP_OK);
    return inside == 0 ? atomic_load(&bp__load_limit) : -1;
}

/* Returns the limit while no file can be opened. A limit would otherwise stay for ever, for example after chroot(). */
static int limit_without_files(void) {
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    pause_reading();
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &(struct rlimit){0, before.rlim_max}), 0);
    const int limit = bp_load_limit(NULL);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    return limit;
}

/* As many processes as there are processors leave one thread. */
static void test_busy_machine(void **state) {
    (void)state;
    const int count = processors_to_fill();
    if (count == 0) {
        skip();
    }
    pid_t busy[MOST_PROCESSES];
    for (int i = 0; i < count; i++) {
        busy[i] = fork();
        if (busy[i] == 0) {
            alarm(2 * LIMIT_S);
            for (volatile unsigned n = 0;; n++) {
            }
        }
    }
    double others = 0;
    int limit = 0;
    errno = EDOM;
    for (int i = 0; i < LIMIT_S * 9 && limit != 1; i++) {
        pause_reading();
        limit = bp_load_limit(&others);
    }
    assert_int_equal(errno, EDOM);
    const int scoped = limit_after_scope(), unreadable = limit_without_files();
    for (int i = 0; i < count; i++) {
        kill(busy[i], SIGKILL);
        waitpid(busy[i], NULL, 0);
    }
    assert_int_equal(limit, 1);
    assert_true(others > 0 && others < count + 0.5); /* niced processes take from it, and are not in it */
    assert_int_equal(scoped, 1);
    assert_int_equal(unreadable, 0);
    bp__load_reset();
    assert_int_equal(bp_load_limit(NULL), 0);
}

static void test_setting_takes_the_limit_away(void **state) {
    (void)state;
    atomic_store(&bp__load_limit, 1);
    assert_int_equal(bp_set("threads.adapt", "false"), BP_OK);
    bp__load_poll();
    pause_reading();
    assert_int_equal(bp_load_limit(NULL), 0);
    assert_int_equal(bp_set("threads.adapt", "true"), BP_OK);
}

/* Numbers of processors are not whole. */
static void test_readings_raise_no_exceptions(void **state) {
    (void)state;
    bp__load_reset();
    assert_int_equal(feclearexcept(FE_ALL_EXCEPT), 0);
    for (int i = 0; i < 5; i++) {
        bp__load_poll();
        pause_reading();
    }
    assert_int_equal(fetestexcept(FE_ALL_EXCEPT), 0);
}

static int adapt(void **state) {
    (void)state;
    return bp_set("threads.adapt", "true") == BP_OK ? 0 : -1;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_processors_of_the_mask_count, make_root, remove_root),
        cmocka_unit_test_setup_teardown(test_other_files, make_root, remove_root),
        cmocka_unit_test(test_limit_falls_after_two_readings_and_rises_after_one),
        cmocka_unit_test(test_limit_of_many_processors),
        cmocka_unit_test(test_many_processors_have_few_limits),
        cmocka_unit_test(test_each_limit_ends),
        cmocka_unit_test(test_processors_come_and_go),
        cmocka_unit_test(test_limit_beyond_the_quota_is_none),
        cmocka_unit_test(test_child_begins_again),
        cmocka_unit_test(test_busy_machine),
        cmocka_unit_test(test_setting_takes_the_limit_away),
        cmocka_unit_test(test_readings_raise_no_exceptions),
    };
    return cmocka_run_group_tests(tests, adapt, NULL);
}
