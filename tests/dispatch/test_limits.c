/* test_limits.c - tests that no library ends the process, or never returns, if limits leave little memory or no
 * threads.
 *
 * A library is opened and called once in each process, so every case is a child, which limits its own address space.
 * The parent has made the list of libraries and opens none. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "backplane.h"
#include "dispatch/needs.h"
#include "support/child.h"
#include "support/conditions.h"
#include "support/modes.h"

#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define FAKES BP_TEST_BUILD_DIR "/tests/registry-fakes"

enum { SIDE = 300, IMAGE = 40, MIB = 1 << 20 };

#include "limited.h"

/* ---- In a child ---- */

static void limit_space(int64_t mebibytes) {
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%ld", &pages) != 1) {
        _exit(FAILED);
    }
    fclose(file);
    struct rlimit limit;
    getrlimit(RLIMIT_AS, &limit);
    limit.rlim_cur = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + (rlim_t)mebibytes * MIB;
    setrlimit(RLIMIT_AS, &limit);
}

static void lift_limit(void) {
    struct rlimit limit;
    getrlimit(RLIMIT_AS, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_AS, &limit);
}

static void *run_in_thread(void *user) {
    const operation *what = user;
    return (void *)(intptr_t)judge(what, what->run());
}

/* Runs the operation twice, and once more in another thread. Returns the worst end. */
static int run(const operation *what) {
    pthread_t thread;
    void *end = NULL;
    int worst = judge(what, what->run());
    for (int i = 0; i < 2; i++) {
        fill();
        if (i == 0) {
            end = run_in_thread((void *)(uintptr_t)what);
        } else if (pthread_create(&thread, NULL, run_in_thread, (void *)(uintptr_t)what) == 0) {
            pthread_join(thread, &end);
        }
        worst = (int)(intptr_t)end > worst ? (int)(intptr_t)end : worst;
    }
    return worst;
}

enum { TEXT = 128 };

static const char *describe(char text[TEXT], const operation *what, const char *library, int64_t mebibytes) {
    snprintf(text, TEXT, "%s on %s with %lld MiB left", what->name, library ? library : "any library",
             (long long)mebibytes);
    return text;
}

/* Returns how a child ends. */
static int end_of(const operation *what, const char *library, int64_t mebibytes) {
    char text[TEXT];
    const pid_t child = fork();
    if (child == 0) {
        fill();
        prefer(library);
        limit_space(mebibytes);
        _exit(run(what));
    }
    return test_end_of_child(child, "%s", describe(text, what, library, mebibytes));
}

static void check(const operation *what, const char *library, int64_t mebibytes) {
    char text[TEXT];
    expect_good_end(end_of(what, library, mebibytes), describe(text, what, library, mebibytes));
}

/* ---- A fake library that maps a buffer of 64 MiB in its first call, or ends the process ---- */

static void use_fake(void) {
    setenv("BACKPLANE_REGISTRY_SYSTEM", "false", 1);
    setenv("BACKPLANE_REGISTRY_CACHE", "off", 1);
    setenv("BACKPLANE_LIBRARY_PATH", FAKES "/buffered", 1);
    assert_int_equal(bp_reset(), BP_OK);
    bp_library_info info = {.struct_size = sizeof info};
    assert_int_equal(bp_library_at(0, &info), 1);
    assert_int_equal(info.state, BP_LIBRARY_OK);
    assert_in_range(info.space.call, 64 * MIB, 200 * MIB);
    assert_in_range(info.space.caller, 64 * MIB, 300 * MIB); /* the C library may reserve memory for the thread */
    assert_int_equal(info.data.call >> 26, 1);
}

static void test_a_library_is_refused_below_its_need(void **state) {
    (void)state;
    use_fake();
    assert_int_equal(end_of(&operations[0], "blas", 40), NO_MEMORY);
    assert_int_equal(end_of(&operations[0], "blas", 600), COMPUTED);
}

/* The first thread has its buffer, the second one gets none. */
static void test_a_second_thread_needs_its_own(void **state) {
    (void)state;
    use_fake();
    assert_int_equal(end_of(&operations[0], "blas", 130), NO_MEMORY);
}

static void test_another_candidate_runs(void **state) {
    (void)state;
    use_fake();
    assert_int_equal(bp_set("blas.preferred", "blas"), BP_OK);
    assert_int_equal(bp_set("dispatch.fallback", "allow"), BP_OK);
    for (int64_t mebibytes = 30; mebibytes < 400; mebibytes *= 2) {
        assert_int_equal(end_of(&operations[0], NULL, mebibytes), COMPUTED);
    }
    assert_int_equal(bp_set("blas.preferred", ""), BP_OK);
}

/* Returns COMPUTED if the fake library does not run at first, and runs some time after the limit is lifted. */
static int run_after_the_limit(void) {
    enum { MOST = 1000 * 1000 };
    bp_plan_info ran = {.struct_size = sizeof ran};
    fill();
    limit_space(40);
    if (operations[0].run() != BP_OK || bp_last_plan(&ran) != BP_OK || strcmp(ran.library, "blas") == 0) {
        return FAILED;
    }
    lift_limit();
    for (int i = 0; i < MOST; i++) {
        if (operations[0].run() != BP_OK || bp_last_plan(&ran) != BP_OK) {
            return FAILED;
        }
        if (strcmp(ran.library, "blas") == 0) {
            return COMPUTED;
        }
    }
    return NOT_OFFERED;
}

static void test_the_library_runs_when_the_limit_is_lifted(void **state) {
    (void)state;
    use_fake();
    assert_int_equal(bp_set("blas.preferred", "blas"), BP_OK);
    assert_int_equal(bp_set("dispatch.fallback", "allow"), BP_OK);
    const pid_t child = fork();
    if (child == 0) {
        _exit(run_after_the_limit());
    }
    assert_int_equal(test_end_of_child(child, "the child"), COMPUTED);
    assert_int_equal(bp_set("blas.preferred", ""), BP_OK);
}

/* ---- Reading the limits ---- */

static _Atomic int limits_read;

/* Replaces the C library's function. */
int getrlimit(__rlimit_resource_t resource, struct rlimit *limit) {
    limits_read++;
    return prlimit(0, (enum __rlimit_resource)resource, NULL, limit);
}

/* Runs a plan that the program holds. Returns COMPUTED if the first run in this thread reads the limits, and later runs
 * do not: reading takes longer than a small product. */
static void *run_plan_often(void *plan) {
    const bp_operand operands[] = {{a, 0}, {b, 0}, {x, 0}};
    const int before = limits_read;
    int failed = bp_execute(plan, operands, NULL) != BP_OK;
    const int first = limits_read;
    for (int i = 0; i < 5; i++) {
        failed += bp_execute(plan, operands, NULL) != BP_OK;
    }
    return (void *)(intptr_t)(failed || !is_product()                  ? WRONG
                              : first > before && limits_read == first ? COMPUTED
                                                                       : FAILED);
}

static int run_plan_in_threads(void) {
    DLTensor s = tensor(a, kDLFloat, 64, 2, square), t = tensor(b, kDLFloat, 64, 2, square),
             u = tensor(x, kDLFloat, 64, 2, square);
    bp_plan *plan;
    pthread_t thread;
    void *end;
    fill();
    prefer("blas");
    limit_space(4000);
    if (bp_matmul_plan(&plan, NULL, &s, &t, &u) != BP_OK) {
        return NOT_OFFERED;
    }
    end = run_plan_often(plan);
    if ((intptr_t)end == COMPUTED &&
        (pthread_create(&thread, NULL, run_plan_often, plan) != 0 || pthread_join(thread, &end) != 0)) {
        return NOT_OPENED;
    }
    return (int)(intptr_t)end;
}

static void test_the_limits_are_read_once_in_a_thread(void **state) {
    (void)state;
    use_fake();
    const pid_t child = fork();
    if (child == 0) {
        _exit(run_plan_in_threads());
    }
    assert_int_equal(test_end_of_child(child, "the child"), COMPUTED);
}

/* A run that has begun, and does not end. */
static void *begin_run(void *plan) {
    bp__memory kept;
    return (void *)(intptr_t)bp__needs_enter(plan, &kept);
}

static int end_of_enter(const bp_plan *plan) {
    bp__memory kept;
    const bp_status status = bp__needs_enter(plan, &kept);
    return status == BP_OK ? COMPUTED : status == BP_E_NO_MEMORY ? NO_MEMORY : FAILED;
}

/* Two runs at once do not fit. Returns how one in a child of fork begins, while another thread's run goes on here. */
static int begin_in_child(int64_t mebibytes) {
    DLTensor s = tensor(a, kDLFloat, 64, 2, square), t = tensor(b, kDLFloat, 64, 2, square),
             u = tensor(x, kDLFloat, 64, 2, square);
    bp_plan *plan;
    pthread_t thread;
    void *begun;
    int status;
    prefer("blas");
    mallopt(M_ARENA_MAX, 1); /* threads reserve memory for arenas */
    if (bp_gemm_plan(&plan, NULL, BP_AS_IS, BP_AS_IS, NULL, &s, &t, NULL, &u) != BP_OK) {
        return FAILED;
    }
    limit_space(mebibytes);
    if (pthread_create(&thread, NULL, begin_run, plan) != 0 || pthread_join(thread, &begun) != 0 || begun) {
        return NOT_OFFERED;
    }
    if (end_of_enter(plan) != NO_MEMORY) {
        return WRONG;
    }
    const pid_t child = fork();
    if (child == 0) {
        _exit(end_of_enter(plan));
    }
    return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : FAILED;
}

static void test_a_child_of_fork_keeps_nothing_for_other_threads(void **state) {
    bp_library_info info = {.struct_size = sizeof info};
    (void)state;
    use_fake();
    assert_int_equal(bp_library_at(0, &info), 1);
    const pid_t child = fork();
    if (child == 0) {
        _exit(begin_in_child(info.space.call / MIB * 3 / 2));
    }
    assert_int_equal(test_end_of_child(child, "the child"), COMPUTED);
}

/* Returns NO_REASON unless the explanation has the reason. */
static int explain(void) {
    DLTensor s = tensor(a, kDLFloat, 64, 2, square), t = tensor(b, kDLFloat, 64, 2, square),
             u = tensor(x, kDLFloat, 64, 2, square);
    bp_explanation *explanation;
    bp_candidate_info one = {.struct_size = sizeof one};
    int end = NO_REASON;
    if (bp_gemm_explain(&explanation, NULL, BP_AS_IS, BP_AS_IS, NULL, &s, &t, NULL, &u) != BP_OK) {
        return FAILED;
    }
    for (int i = 0; bp_explanation_at(explanation, i, &one); i++) {
        end =
            one.reason == BP_REASON_MEMORY && strstr(one.text, "RLIMIT_AS") && strstr(one.text, "MiB") ? COMPUTED : end;
    }
    bp_explanation_release(explanation);
    return end;
}

static void test_explain_tells_the_reason(void **state) {
    (void)state;
    use_fake();
    const pid_t child = fork();
    if (child == 0) {
        limit_space(40);
        _exit(explain());
    }
    assert_int_equal(test_end_of_child(child, "the child"), COMPUTED);
}

/* ---- The libraries of this machine ---- */

static void use_machine(void) {
    unsetenv("BACKPLANE_REGISTRY_SYSTEM");
    unsetenv("BACKPLANE_REGISTRY_CACHE");
    unsetenv("BACKPLANE_LIBRARY_PATH");
    assert_int_equal(bp_reset(), BP_OK);
}

static const int64_t steps[] = {5, 10, 20, 30, 50, 100, 200, 300, 400, 800};
enum { STEPS = sizeof steps / sizeof *steps };

static void test_any_library(void **state) {
    int count;
    (void)state;
    use_machine();
    assert_int_equal(bp_library_count(&count), BP_OK);
    for (int i = 0; i < OPERATIONS * STEPS; i++) {
        if (!test_leaves_out(i / STEPS + i % STEPS, 2)) {
            check(&operations[i / STEPS], NULL, steps[i % STEPS]);
        }
    }
}

static void test_each_library(void **state) {
    int count, number = 0;
    bp_library_info info = {.struct_size = sizeof info};
    (void)state;
    use_machine();
    assert_int_equal(bp_library_count(&count), BP_OK);
    for (int l = 0; l < count; l++) {
        assert_int_equal(bp_library_at(l, &info), 1);
        const unsigned kinds = BP_LIB_BLAS | BP_LIB_CBLAS | BP_LIB_LAPACK | BP_LIB_FFT | BP_LIB_SMM | BP_LIB_DNN;
        for (int i = 0; info.state == BP_LIBRARY_OK && info.kinds & kinds && i < OPERATIONS * STEPS; i++) {
            if (!test_leaves_out(number++, 8)) {
                check(&operations[i / STEPS], info.id, steps[i % STEPS]);
            }
        }
    }
}

/* Returns whether the library is accepted for a product. */
static bool is_accepted(const bp_explanation *explanation, const char *library, bool *alone) {
    bp_candidate_info one = {.struct_size = sizeof one};
    bool accepted = false;
    for (int i = 0; bp_explanation_at(explanation, i, &one); i++) {
        accepted |= one.accepted && strcmp(one.library, library) == 0;
        *alone |= one.accepted && strstr(one.text, "too little memory for more threads");
    }
    return accepted;
}

static bp_explanation *explain_on(const char *threads) {
    DLTensor s = tensor(a, kDLFloat, 64, 2, square), t = tensor(b, kDLFloat, 64, 2, square),
             u = tensor(x, kDLFloat, 64, 2, square);
    bp_explanation *explanation = NULL;
    return bp_set("num_threads", threads) == BP_OK &&
                   bp_gemm_explain(&explanation, NULL, BP_AS_IS, BP_AS_IS, NULL, &s, &t, NULL, &u) == BP_OK
               ? explanation
               : NULL;
}

/* Returns WRONG if a library that is accepted on one thread is refused where many are allowed, and TOUCHED if there was
 * one that is accepted on one thread only. */
static int explain_on_many(void) {
    bp_explanation *many = explain_on("64"), *one = explain_on("1"); /* memory only becomes less */
    bp_candidate_info candidate = {.struct_size = sizeof candidate};
    bool alone = false;
    for (int i = 0; many && one && bp_explanation_at(one, i, &candidate); i++) {
        if (candidate.accepted && !is_accepted(many, candidate.library, &alone)) {
            return WRONG;
        }
    }
    return !many || !one ? FAILED : alone ? TOUCHED : COMPUTED;
}

static void test_threads_are_no_reason_to_refuse_a_library(void **state) {
    int alone = 0, threaded = 0, count;
    bp_library_info info = {.struct_size = sizeof info};
    (void)state;
    use_machine();
    assert_int_equal(bp_library_count(&count), BP_OK);
    for (int l = 0; l < count; l++) {
        assert_int_equal(bp_library_at(l, &info), 1);
        threaded += info.state == BP_LIBRARY_OK && info.kinds & BP_LIB_BLAS && info.space.thread > 0;
    }
    for (int64_t mebibytes = 20; mebibytes < 1000; mebibytes += 35) {
        const pid_t child = fork();
        if (child == 0) {
            limit_space(mebibytes);
            _exit(explain_on_many());
        }
        const int end = test_end_of_child(child, "%lld MiB left", (long long)mebibytes);
        assert_true(end == COMPUTED || end == TOUCHED);
        alone += end == TOUCHED;
    }
    assert_true(alone > 0 || threaded == 0);
}

/* ---- No threads: OpenMP runtimes end the process when they cannot start them. ---- */

static int end_without_threads(const operation *what, const char *library) {
    const pid_t child = fork();
    if (child == 0) {
        fill();
        prefer(library);
        if (!give_up_threads()) {
            _exit(UNLIMITED);
        }
        const bp_status got = what->run();
        _exit(got == BP_E_LOAD ? NOT_OPENED : judge(what, got));
    }
    return test_end_of_child(child, "%s on %s without threads", what->name, library);
}

static void test_each_library_without_threads(void **state) {
    int count, refused = 0, threaded = 0;
    bp_library_info info = {.struct_size = sizeof info};
    (void)state;
    use_machine();
    assert_int_equal(bp_library_count(&count), BP_OK);
    for (int l = 0; l < count; l++) {
        assert_int_equal(bp_library_at(l, &info), 1);
        const unsigned kinds = BP_LIB_BLAS | BP_LIB_CBLAS | BP_LIB_LAPACK | BP_LIB_FFT | BP_LIB_DNN;
        for (int i = 0; info.state == BP_LIBRARY_OK && info.kinds & kinds && i < OPERATIONS; i++) {
            const int end = end_without_threads(&operations[i], info.id);
            if (end == UNLIMITED) {
                skip();
            }
            if (end != COMPUTED && end != NOT_OFFERED && end != NOT_OPENED) {
                fail_msg("%s on %s without threads: end %d", operations[i].name, info.id, end);
            }
            threaded += end != NOT_OFFERED && strcmp(info.threading, "serial") != 0;
            refused += end == NOT_OPENED;
        }
    }
    assert_true(refused > 0 || threaded == 0 || sysconf(_SC_NPROCESSORS_ONLN) == 1 || getenv("OMP_NUM_THREADS"));
}

int main(void) {
    if (test_emulated() || test_sanitized()) {
        return 77; /* these need more address space than the limits */
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_library_is_refused_below_its_need),
        cmocka_unit_test(test_a_second_thread_needs_its_own),
        cmocka_unit_test(test_another_candidate_runs),
        cmocka_unit_test(test_the_library_runs_when_the_limit_is_lifted),
        cmocka_unit_test(test_explain_tells_the_reason),
        cmocka_unit_test(test_the_limits_are_read_once_in_a_thread),
        cmocka_unit_test(test_a_child_of_fork_keeps_nothing_for_other_threads),
        cmocka_unit_test(test_any_library),
        cmocka_unit_test(test_each_library),
        cmocka_unit_test(test_threads_are_no_reason_to_refuse_a_library),
        cmocka_unit_test(test_each_library_without_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
