/* test_stack.c - tests that no library is called in a thread whose stack is too small for it.
 *
 * A library is opened and called first in a thread with a small stack, so every case of a real library is a child. The
 * parent has made the list of libraries and opens none. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "backplane.h"
#include "support/child.h"
#include "support/conditions.h"
#include "support/modes.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FAKES BP_TEST_BUILD_DIR "/tests/registry-fakes"

enum { SIDE = 300, IMAGE = 40, KIB = 1 << 10 };

#include "limited.h"

/* Calls the function in a thread with a stack of that size, and returns its result. */
static void *in_thread(size_t stack, void *(*function)(void *user), void *user) {
    pthread_attr_t attributes;
    pthread_t thread;
    void *returned;
    assert_int_equal(pthread_attr_init(&attributes), 0);
    assert_int_equal(pthread_attr_setstacksize(&attributes, stack), 0);
    assert_int_equal(pthread_create(&thread, &attributes, function, user), 0);
    assert_int_equal(pthread_join(thread, &returned), 0);
    pthread_attr_destroy(&attributes);
    return returned;
}

/* ---- A fake library that takes 100 KiB of stack ---- */

static int set_up(void **state) {
    (void)state;
    setenv("BACKPLANE_REGISTRY_SYSTEM", "false", 1);
    setenv("BACKPLANE_REGISTRY_CACHE", "off", 1);
    setenv("BACKPLANE_LIBRARY_PATH", FAKES "/deep", 1);
    fill();
    return bp_reset() == BP_OK && bp_set("blas.preferred", "blas") == BP_OK ? 0 : -1;
}

static int tear_down(void **state) {
    (void)state;
    unsetenv("BACKPLANE_REGISTRY_SYSTEM");
    unsetenv("BACKPLANE_REGISTRY_CACHE");
    unsetenv("BACKPLANE_LIBRARY_PATH");
    return bp_unset("blas.preferred") == BP_OK && bp_unset("dispatch.fallback") == BP_OK && bp_reset() == BP_OK ? 0
                                                                                                                : -1;
}

static void test_the_probe_measures_it(void **state) {
    bp_library_info info = {.struct_size = sizeof info};
    (void)state;
    assert_int_equal(bp_library_at(0, &info), 1);
    assert_int_equal(info.state, BP_LIBRARY_OK);
    assert_in_range(info.stack, 100 * KIB, 140 * KIB);
}

/* Writes the library that has run. */
static void *multiply_once(void *library) {
    bp_plan_info ran = {.struct_size = sizeof ran};
    const int end = judge(&operations[0], multiply());
    if (end == COMPUTED && bp_last_plan(&ran) == BP_OK) {
        strcpy(library, ran.library);
    }
    return (void *)(intptr_t)end;
}

static void check_choice(size_t stack, const char *expected) {
    char library[64] = "";
    fill();
    assert_int_equal((intptr_t)in_thread(stack, multiply_once, library), COMPUTED);
    assert_string_equal(library, expected);
}

/* Each kind of thread has a choice of its own, whichever calls first. */
static void test_another_candidate_runs(void **state) {
    static const size_t sizes[] = {8192 * KIB, 64 * KIB, 150 * KIB, 400 * KIB, 64 * KIB, 8192 * KIB};
    (void)state;
    assert_int_equal(bp_set("dispatch.fallback", "allow"), BP_OK);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        check_choice(sizes[i], sizes[i] > 200 * KIB ? "blas" : "native");
    }
}

static void *explain_refusal(void *user) {
    DLTensor s = tensor(a, kDLFloat, 64, 2, square), t = tensor(b, kDLFloat, 64, 2, square),
             u = tensor(x, kDLFloat, 64, 2, square);
    bp_explanation *explanation;
    bp_candidate_info one = {.struct_size = sizeof one};
    int found = 0;
    (void)user;
    if (bp_matmul_explain(&explanation, NULL, &s, &t, &u) != BP_OK) {
        return NULL;
    }
    for (int i = 0; bp_explanation_at(explanation, i, &one); i++) {
        found += one.reason == BP_REASON_MEMORY && strstr(one.text, "KiB of stack, and the thread has a small one");
    }
    bp_explanation_release(explanation);
    return (void *)(intptr_t)found;
}

static void test_a_strict_preference_is_refused_with_the_reason(void **state) {
    char library[64] = "";
    (void)state;
    assert_int_equal(bp_set("dispatch.fallback", "strict"), BP_OK);
    assert_int_equal((intptr_t)in_thread(100 * KIB, multiply_once, library), NO_MEMORY);
    assert_true((intptr_t)in_thread(100 * KIB, explain_refusal, NULL) > 0);
    assert_int_equal((intptr_t)in_thread(400 * KIB, multiply_once, library), COMPUTED);
    assert_string_equal(library, "blas");
}

static void *execute(void *plan) {
    const bp_operand operands[] = {{.base = a}, {.base = b}, {.base = x}};
    return (void *)(intptr_t)judge(&operations[0], bp_execute(plan, operands, NULL));
}

/* A plan keeps its library, also where other threads have run it already. */
static void test_a_held_plan_is_refused(void **state) {
    DLTensor s = tensor(a, kDLFloat, 64, 2, square), t = tensor(b, kDLFloat, 64, 2, square),
             u = tensor(x, kDLFloat, 64, 2, square);
    bp_plan *plan;
    (void)state;
    assert_int_equal(bp_matmul_plan(&plan, NULL, &s, &t, &u), BP_OK);
    assert_int_equal((intptr_t)execute(plan), COMPUTED);
    fill();
    assert_int_equal((intptr_t)in_thread(64 * KIB, execute, plan), NO_MEMORY);
    assert_int_equal((intptr_t)in_thread(400 * KIB, execute, plan), COMPUTED);
    bp_plan_release(plan);
}

/* ---- The libraries of this machine ---- */

static void *run_twice(void *user) {
    const operation *what = user;
    const int first = judge(what, what->run());
    fill();
    const int second = judge(what, what->run());
    return (void *)(intptr_t)(second > first ? second : first);
}

static void check(const operation *what, const char *library, size_t stack) {
    char text[128];
    snprintf(text, sizeof text, "%s on %s with a stack of %zu KiB", what->name, library ? library : "any library",
             stack / KIB);
    const pid_t child = fork();
    if (child == 0) {
        fill();
        prefer(library);
        _exit((int)(intptr_t)in_thread(stack, run_twice, (void *)(uintptr_t)what));
    }
    expect_good_end(test_end_of_child(child, "%s", text), text);
}

static const size_t stacks[] = {48, 64, 80, 100, 130, 200, 260, 400};
enum { STACKS = sizeof stacks / sizeof *stacks };

static void test_each_library(void **state) {
    int count;
    bp_library_info info = {.struct_size = sizeof info};
    (void)state;
    assert_int_equal(bp_library_count(&count), BP_OK);
    for (int l = -1; l < count; l++) {
        const unsigned kinds = BP_LIB_BLAS | BP_LIB_CBLAS | BP_LIB_LAPACK | BP_LIB_FFT | BP_LIB_SMM | BP_LIB_DNN;
        assert_true(l < 0 || bp_library_at(l, &info) == 1);
        for (int i = 0; (l < 0 || (info.state == BP_LIBRARY_OK && info.kinds & kinds)) && i < OPERATIONS * STACKS;
             i++) {
            if (l < 0 || !test_leaves_out(l + i / STACKS + i % STACKS, 12)) {
                check(&operations[i / STACKS], l < 0 ? NULL : info.id, stacks[i % STACKS] * KIB);
            }
        }
    }
}

int main(void) {
    if (test_emulated() || test_sanitized()) {
        return 77; /* these need more stack than the library itself is allowed */
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_the_probe_measures_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_another_candidate_runs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_strict_preference_is_refused_with_the_reason, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_held_plan_is_refused, set_up, tear_down),
        cmocka_unit_test(test_each_library),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
