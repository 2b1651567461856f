/* test_processes.c - tests the libxsmm of this machine in threads that plan and run at once, in a child of fork, in a
 * process that may not make memory executable, and at the end of a process. */
#include "xsmm/support_xsmm.h"

#include "support/pool.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N = 24, MOST_SHARED = 20 };

typedef struct product {
    double a[N * N], b[N * N], c[N * N];
} product;

static bp_status plan(void *instance, int64_t k, bp_prepared **prepared) {
    test_product p = {.dtype = BP_F64, .m = N, .n = N, .k = k, .alpha = 1, .threads = 1};
    bp_problem problem = test_problem(&p);
    return test_plan_first(&bp_provider_xsmm, instance, &problem, prepared);
}

/* Returns whether accept() refuses a product, with a reason that has this text. */
static bool refuses(void *instance, int64_t k, const char *text) {
    test_product p = {.dtype = BP_F64, .m = N, .n = N, .k = k, .alpha = 1, .threads = 1};
    bp_problem problem = test_problem(&p);
    bp_verdict verdict = test_verdict(&bp_provider_xsmm, instance, &problem);
    return verdict.reason == BP_REASON_OTHER && strstr(verdict.text, text);
}

/* Runs a plan on integers, whose products are exact. */
static bool is_right(const bp_prepared *prepared, int64_t k) {
    static _Thread_local product x;
    for (int64_t i = 0; i < N * N; i++) {
        x.a[i] = (double)(i % 7 - 3);
        x.b[i] = (double)(i % 5 - 2);
        x.c[i] = 1e9;
    }
    if (test_enqueue(prepared, (void *[]){x.a, x.b, x.c}, 3, NULL) != BP_OK) {
        return false;
    }
    for (int64_t i = 0; i < N * N; i++) {
        double sum = 0;
        for (int64_t l = 0; l < k; l++) {
            sum += x.a[i / N * k + l] * x.b[l * N + i % N];
        }
        if (x.c[i] != sum) {
            return false;
        }
    }
    return true;
}

/* ---- Threads ---- */

static void *shared_instance;
static atomic_bool all_right;

/* All threads request the same new kernels at once. */
static void *plan_and_run(void *context) {
    (void)context;
    for (int round = 0; round < 3; round++) {
        for (int64_t k = 1; k <= MOST_SHARED; k++) {
            bp_prepared *prepared;
            if (plan(shared_instance, k, &prepared) != BP_OK || !is_right(prepared, k)) {
                atomic_store(&all_right, false);
                return NULL;
            }
            prepared->destroy(prepared);
        }
    }
    return NULL;
}

static void test_threads_plan_at_once(void **state) {
    (void)state;
    pthread_t threads[4];
    shared_instance = test_open_real();
    atomic_store(&all_right, true);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, plan_and_run, NULL), 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
    }
    assert_true(atomic_load(&all_right));
    bp_provider_xsmm.close(shared_instance);
}

/* ---- Other processes ---- */

/* Runs `work` in a child of fork and returns its result, 0 to 99; 100 if it crashed or hung. */
static int in_child(int (*work)(void *instance, bp_prepared *prepared), void *instance, bp_prepared *prepared) {
    int status;
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(240);
        _exit(work(instance, prepared));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 100;
}

enum { WORKED, WRONG, NOT_PLANNED, SKIPPED };

static int use(void *instance, bp_prepared *prepared) {
    bp_prepared *fresh;
    bool right = is_right(prepared, 5);
    if (plan(instance, 11, &fresh) != BP_OK) {
        return NOT_PLANNED;
    }
    right = right && is_right(fresh, 11);
    fresh->destroy(fresh);
    return right ? WORKED : WRONG;
}

/* A child may run its parent's plans and make new ones. */
static void test_child_of_fork(void **state) {
    (void)state;
    void *instance = test_open_real();
    bp_prepared *prepared;
    assert_int_equal(plan(instance, 5, &prepared), BP_OK);
    assert_int_equal(in_child(use, instance, prepared), WORKED);
    assert_true(is_right(prepared, 5));
    prepared->destroy(prepared);
    bp_provider_xsmm.close(instance);
}

#ifndef PR_SET_MDWE
#define PR_SET_MDWE 65
#endif
#define REFUSE_EXEC_GAIN 1UL

static int plan_without_executable_memory(void *instance, bp_prepared *prepared) {
    if (prctl(PR_SET_MDWE, REFUSE_EXEC_GAIN, 0UL, 0UL, 0UL) != 0) {
        return SKIPPED;
    }
    bp_prepared *fresh;
    bool refused = plan(instance, MOST_SHARED + 1, &fresh) == BP_E_UNSUPPORTED &&
                   strstr(test_error, "may not make memory executable");
    refused = refused && refuses(instance, MOST_SHARED + 1, "may not make memory executable");
    return refused && is_right(prepared, 5) && plan(instance, 5, &fresh) == BP_OK && is_right(fresh, 5) ? WORKED
                                                                                                        : WRONG;
}

/* libxsmm would return a kernel that cannot be executed. Kernels from before keep working. */
static void test_no_executable_memory(void **state) {
    (void)state;
    void *instance = test_open_real();
    bp_prepared *prepared;
    assert_int_equal(plan(instance, 5, &prepared), BP_OK);
    int result = in_child(plan_without_executable_memory, instance, prepared);
    prepared->destroy(prepared);
    bp_provider_xsmm.close(instance);
    if (result == SKIPPED) {
        print_message("skipped: this kernel cannot forbid executable memory\n");
        skip();
    }
    assert_int_equal(result, WORKED);
}

/* A handler that the program registered before libxsmm was opened runs after libxsmm has unmapped its kernels. */
static void *late_instance;
static bp_prepared *late_plan;

static void use_late(void) {
    static double x[N * N];
    bp_status run = test_enqueue(late_plan, (void *[]){x, x, x}, 3, NULL);
    _exit(run == BP_E_UNSUPPORTED && refuses(late_instance, 19, "the process is ending") ? WORKED : WRONG);
}

static int end_with_plan(void *instance, bp_prepared *prepared) {
    (void)instance, (void)prepared;
    if (atexit(use_late) != 0) {
        return SKIPPED;
    }
    late_instance = test_open_real();
    if (plan(late_instance, 7, &late_plan) != BP_OK || !is_right(late_plan, 7)) {
        return WRONG;
    }
    exit(WRONG); /* unless the handler decides otherwise */
}

/* Runs first, because this process must not have opened the library. */
static void test_end_of_process(void **state) {
    (void)state;
    bp_provider_xsmm.close(test_open_real()); /* finds the library, or skips the test */
    assert_int_equal(in_child(end_with_plan, NULL, NULL), WORKED);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_end_of_process),
        cmocka_unit_test(test_threads_plan_at_once),
        cmocka_unit_test(test_child_of_fork),
        cmocka_unit_test(test_no_executable_memory),
    };
    return cmocka_run_group_tests_name("processes", tests, NULL, test_stop_pool);
}
