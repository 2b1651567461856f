/* test_placement.c - threads that a library starts in our calls are kept off the caller's processor; threads of a
 * runtime that the program had are not moved. And the parts of one einsum run on the threads of one library.
 *
 * Each test has a process of its own, because a library and its threads stay. */
#include "backplane.h"

#include <dirent.h>
#include <dlfcn.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/child.h"
#include "support/conditions.h"
#include "support/no_leak_check.h"
#include "support/require.h"

enum { N = 600, MOST = 256, SKIPPED = 2, SIDE = 24 };

/* ---- The threads of the process ---- */

typedef struct threads {
    int count, id[MOST];
} threads;

static threads existing(void) {
    threads found = {0};
    DIR *folder = opendir("/proc/self/task");
    REQUIRE(folder);
    for (struct dirent *entry; (entry = readdir(folder)) && found.count < MOST;) {
        const int id = (int)strtol(entry->d_name, NULL, 10);
        if (id > 0) {
            found.id[found.count++] = id;
        }
    }
    closedir(folder);
    return found;
}

static bool is_in(const threads *list, int id) {
    for (int i = 0; i < list->count; i++) {
        if (list->id[i] == id) {
            return true;
        }
    }
    return false;
}

/* ---- Products ---- */

static bp_status multiply(const char *library) {
    static double values[3][N * N];
    char settings[256];
    bp_view a, b, c;
    bp_scope *scope;
    bp_view_matrix(&a, values[0], BP_F64, N, N);
    bp_view_matrix(&b, values[1], BP_F64, N, N);
    bp_view_matrix(&c, values[2], BP_F64, N, N);
    snprintf(settings, sizeof settings, "blas.preferred=%s, dispatch.fallback=strict, num_threads=2, calibration=off",
             library);
    REQUIRE(bp_scope_enter(&scope, settings) == BP_OK);
    const bp_status status = bp_matmul(&a.tensor, &b.tensor, &c.tensor);
    REQUIRE(bp_scope_leave(&scope) == BP_OK);
    return status;
}

static bool has_threads(const bp_library_info *library) {
    return library->state == BP_LIBRARY_OK && (library->kinds & BP_LIB_BLAS) &&
           (strcmp(library->threading, "pthread") == 0 || strcmp(library->threading, "libgomp") == 0 ||
            strcmp(library->threading, "libiomp5") == 0);
}

/* Compares the affinity of the threads that have started with the affinity of this one. Returns how many there are. */
static int check_started(const threads *before, const char *library, bool moved) {
    cpu_set_t own, its, both;
    int started = 0;
    const threads now = existing();
    REQUIRE(sched_getaffinity(0, sizeof own, &own) == 0);
    for (int i = 0; i < now.count; i++) {
        if (is_in(before, now.id[i]) || sched_getaffinity(now.id[i], sizeof its, &its) != 0) {
            continue;
        }
        CPU_AND(&both, &own, &its);
        const int expected = CPU_COUNT(&own) - moved;
        started++;
        if (CPU_COUNT(&its) != expected || !CPU_EQUAL(&both, &its)) {
            fprintf(stderr, "%s: a thread may run on %d processors of %d, not on %d\n", library, CPU_COUNT(&its),
                    CPU_COUNT(&own), expected);
            _exit(1);
        }
    }
    return started;
}

/* ---- Processes ---- */

static void in_child(int (*test)(void)) {
    cpu_set_t own;
    if (sched_getaffinity(0, sizeof own, &own) != 0 || CPU_COUNT(&own) < 2) {
        print_message("skipped: one processor\n");
        skip();
    }
    fflush(NULL);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        test_start_first_thread();
        _exit(test());
    }
    const int end = test_end_of_child(child, "a process with libraries");
    if (end == SKIPPED) {
        print_message("skipped: no library with threads of its own\n");
        skip();
    }
    assert_int_equal(end, 0);
}

/* Threads of BLIS on pthreads end with the call. */
static int each_library(void) {
    bp_library_info library = {.struct_size = sizeof library};
    int checked = 0;
    for (int i = 0; bp_library_at(i, &library); i++) {
        const threads before = existing();
        if (has_threads(&library) && multiply(library.id) == BP_OK && multiply(library.id) == BP_OK) {
            checked += check_started(&before, library.id, true);
        }
    }
    return checked > 0 ? 0 : SKIPPED;
}

static void threads_leave_the_caller_alone(void **state) {
    (void)state;
    in_child(each_library);
}

/* The program has the runtime before we open a library that uses it. */
static int runtime_of_program(void) {
    bp_library_info library = {.struct_size = sizeof library};
    int checked = 0;
    REQUIRE(dlopen("libgomp.so.1", RTLD_NOW | RTLD_GLOBAL));
    for (int i = 0; bp_library_at(i, &library); i++) {
        const threads before = existing();
        if (has_threads(&library) && strcmp(library.threading, "libgomp") == 0 && multiply(library.id) == BP_OK &&
            multiply(library.id) == BP_OK) {
            checked += check_started(&before, library.id, false);
        }
    }
    return checked > 0 ? 0 : SKIPPED;
}

static void threads_of_the_program_are_not_moved(void **state) {
    (void)state;
    in_child(runtime_of_program);
}

/* ---- Einsum ---- */

/* Returns whether the part's threads are native's: its own ones, or those on which it calls a library without any. */
static bool is_on_native(const bp_plan_info *part) {
    bp_library_info library = {.struct_size = sizeof library};
    return strcmp(part->library, "native") == 0 ||
           (bp_library_find(part->library, &library) == BP_OK && strcmp(library.threading, "serial") == 0);
}

static int check_parts(const char *expression, const char *settings) {
    static float values[3][SIDE * SIDE * SIDE * SIDE];
    const int64_t sides[] = {SIDE, SIDE, SIDE, SIDE};
    bp_view a, b, c;
    bp_options *options;
    bp_plan *plan;
    bp_view_init(&a, values[0], BP_F32, 4, sides, NULL);
    bp_view_init(&b, values[1], BP_F32, 2, sides, NULL);
    bp_view_init(&c, values[2], BP_F32, 4, sides, NULL);
    const DLTensor *operands[] = {&a.tensor, &b.tensor};
    const bp_einsum_call call = {
        .struct_size = sizeof call, .expression = expression, .count = 2, .operands = operands};
    REQUIRE(bp_options_new(&options, settings) == BP_OK);
    REQUIRE(bp_einsum_plan(&plan, options, &call, &c.tensor) == BP_OK);
    bp_einsum_part part = {.struct_size = sizeof part};
    bp_plan_info info = {.struct_size = sizeof info};
    int native = 0, others = 0;
    for (int i = 0; bp_einsum_part_at(plan, i, &part); i++) {
        REQUIRE(bp_plan_describe(part.plan, &info) == BP_OK);
        native += info.threads != 1 && is_on_native(&info);
        others += info.threads != 1 && !is_on_native(&info);
    }
    bp_plan_release(plan);
    bp_options_release(options);
    if (native && others) {
        fprintf(stderr, "%s with %s: %d parts on native's threads, %d on others\n", expression, settings, native,
                others);
    }
    return native && others ? -1 : others;
}

static int each_expression(void) {
    static const char *const expressions[] = {"dabe,ec->dcba", "aebd,ce->dcba", "abed,ce->dcba", "eabd,ec->cbad"};
    bp_library_info library = {.struct_size = sizeof library};
    int of_others = 0;
    for (int i = 0; bp_library_at(i, &library); i++) {
        for (unsigned e = 0; has_threads(&library) && e < sizeof expressions / sizeof *expressions; e++) {
            char settings[256];
            snprintf(settings, sizeof settings, "blas.preferred=%s, num_threads=2, calibration=off", library.id);
            const int found = check_parts(expressions[e], settings);
            REQUIRE(found >= 0);
            REQUIRE(check_parts(expressions[e], "num_threads=2, calibration=off") >= 0);
            of_others += found;
        }
    }
    return of_others > 0 ? 0 : SKIPPED;
}

static void parts_run_on_threads_of_one_library(void **state) {
    (void)state;
    in_child(each_expression);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_leave_the_caller_alone),
        cmocka_unit_test(threads_of_the_program_are_not_moved),
        cmocka_unit_test(parts_run_on_threads_of_one_library),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
