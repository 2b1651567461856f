/* test_cache.c - the plan cache: it is limited, evicts the least recently used plan, and can be listed and cleared.
 * Plans outlive it. */
#include "backplane.h"
#include "ops/gemm/gemm.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static double memory[3][64 * 64];

static bp_status multiply(int64_t n) {
    bp_view a, b, c;
    bp_view_matrix(&a, memory[0], BP_F64, n, n);
    bp_view_matrix(&b, memory[1], BP_F64, n, n);
    bp_view_matrix(&c, memory[2], BP_F64, n, n);
    return bp_matmul(&a.tensor, &b.tensor, &c.tensor);
}

static bp_plan_cache_info stats(void) {
    bp_plan_cache_info info = {.struct_size = sizeof info};
    assert_int_equal(bp_plan_cache_stats(&info), BP_OK);
    return info;
}

/* Returns the n of the problem at a position, read from its text. */
static int size_at(int index) {
    bp_plan *plan;
    if (!bp_plan_cache_at(&plan, index)) {
        return -1;
    }
    bp_plan_info info = {.struct_size = sizeof info};
    int n = 0;
    assert_int_equal(bp_plan_describe(plan, &info), BP_OK);
    assert_int_equal(sscanf(info.problem, "f64 %d", &n), 1);
    bp_plan_release(plan);
    return n;
}

static void grows_to_its_limit_and_evicts_the_oldest(void **state) {
    (void)state;
    assert_int_equal(bp_set_plan_cache_max_size(3), BP_OK);
    for (int n = 2; n <= 6; n++) {
        assert_int_equal(multiply(n), BP_OK);
    }
    bp_plan_cache_info info = stats();
    assert_int_equal(info.size, 3);
    assert_int_equal(info.max_size, 3);
    assert_int_equal(info.misses, 5);
    assert_int_equal(info.evictions, 2);
    assert_int_equal(size_at(0), 6);
    assert_int_equal(size_at(1), 5);
    assert_int_equal(size_at(2), 4);
    assert_int_equal(size_at(3), -1);
    assert_int_equal(size_at(-1), -1);
}

static void use_moves_to_the_front(void **state) {
    (void)state;
    bp_view a, b, c;
    for (int n = 2; n <= 4; n++) {
        assert_int_equal(multiply(n), BP_OK);
    }
    /* Planning always looks in the process-wide cache. */
    bp_view_matrix(&a, memory[0], BP_F64, 2, 2);
    bp_view_matrix(&b, memory[1], BP_F64, 2, 2);
    bp_view_matrix(&c, memory[2], BP_F64, 2, 2);
    bp_plan *plan;
    assert_int_equal(bp_matmul_plan(&plan, NULL, &a.tensor, &b.tensor, &c.tensor), BP_OK);
    assert_int_equal(size_at(0), 2);
    assert_int_equal(stats().hits, 1);
    bp_plan_release(plan);
}

static void size_zero_caches_nothing(void **state) {
    (void)state;
    assert_int_equal(bp_set_plan_cache_max_size(0), BP_OK);
    uint64_t before = stats().misses;
    assert_int_equal(multiply(5), BP_OK);
    assert_int_equal(multiply(5), BP_OK); /* the thread cache is off as well */
    assert_int_equal(stats().misses - before, 2);
    assert_int_equal(stats().size, 0);
    assert_int_equal(bp_set("plan_cache.max_size", "-1"), BP_E_BAD_VALUE);
    assert_int_equal(stats().max_size, 0);
    assert_int_equal(bp_set_plan_cache_max_size(10), BP_OK);
    assert_int_equal(multiply(6), BP_OK);
    assert_int_equal(multiply(7), BP_OK);
    assert_int_equal(stats().size, 2);
    assert_int_equal(bp_set_plan_cache_max_size(0), BP_OK);
    assert_int_equal(stats().size, 0); /* plans cached before are gone */
    before = stats().misses;
    assert_int_equal(multiply(7), BP_OK);
    assert_int_equal(stats().misses - before, 1);
}

static void clearing_keeps_plans_of_the_program(void **state) {
    (void)state;
    bp_view a, b, c;
    bp_view_matrix(&a, memory[0], BP_F64, 7, 7);
    bp_view_matrix(&b, memory[1], BP_F64, 7, 7);
    bp_view_matrix(&c, memory[2], BP_F64, 7, 7);
    bp_plan *plan;
    assert_int_equal(bp_matmul_plan(&plan, NULL, &a.tensor, &b.tensor, &c.tensor), BP_OK);
    assert_int_equal(bp_plan_cache_clear(), BP_OK);
    assert_int_equal(stats().size, 0);
    for (int i = 0; i < 49; i++) {
        memory[0][i] = memory[1][i] = i % 8 == 0;
    }
    assert_int_equal(bp_execute(plan, (bp_operand[]){{memory[0], 0}, {memory[1], 0}, {memory[2], 0}}, NULL), BP_OK);
    assert_true(memory[2][0] == 1 && memory[2][8] == 1 && memory[2][1] == 0);
    assert_int_equal(bp_reset(), BP_E_BUSY);
    assert_non_null(strstr(bp_last_error(), "1 plan"));
    bp_plan_release(plan);
    assert_int_equal(bp_reset(), BP_OK);
}

static void options_prevent_a_reset(void **state) {
    (void)state;
    bp_options *options;
    assert_int_equal(bp_options_new(&options, "blas.preferred=native"), BP_OK);
    assert_int_equal(bp_reset(), BP_E_BUSY);
    bp_options_release(options);
    assert_int_equal(bp_reset(), BP_OK);
}

static void calls_are_counted(void **state) {
    (void)state;
    for (int i = 0; i < 10; i++) {
        assert_int_equal(multiply(9), BP_OK);
    }
    bp_plan *plan;
    bp_plan_info info = {.struct_size = sizeof info};
    assert_int_equal(bp_plan_cache_at(&plan, 0), 1);
    assert_int_equal(bp_plan_describe(plan, &info), BP_OK);
    assert_int_equal(info.runs, 10);
    assert_int_equal(stats().misses, 1);
    bp_plan_release(plan);
    info.struct_size = 1;
    assert_int_equal(bp_last_plan(&info), BP_E_ARGUMENT);
    assert_int_equal(bp_plan_cache_stats(NULL), BP_E_ARGUMENT);
}

/* Repeats more problems than a thread cache has slots; the results must stay right. */
static void results_are_right_when_the_thread_cache_evicts(void **state) {
    (void)state;
    for (int i = 0; i < 64 * 64; i++) {
        memory[0][i] = memory[1][i] = 1;
    }
    for (int round = 0; round < 3; round++) {
        for (int n = 1; n <= 64; n++) {
            for (int k = 1; k <= 8; k++) {
                bp_view a, b, c;
                bp_view_matrix(&a, memory[0], BP_F64, n, k);
                bp_view_matrix(&b, memory[1], BP_F64, k, n);
                bp_view_matrix(&c, memory[2], BP_F64, n, n);
                assert_int_equal(bp_matmul(&a.tensor, &b.tensor, &c.tensor), BP_OK);
                assert_true(memory[2][0] == k && memory[2][n * n - 1] == k);
            }
        }
    }
    assert_int_equal(stats().size, 64 * 8);
}

/* Another thread may change a setting while a call has made its key but not its problem. The plan then follows the new
 * settings. It must not be found under the old ones after they are restored. */
static void a_setting_changed_during_a_call_is_not_cached(void **state) {
    (void)state;
    bp_view a, b, c;
    bp_problem problem;
    bp_plan_info info = {.struct_size = sizeof info};
    bp_view_matrix(&a, memory[0], BP_F64, 3, 3);
    bp_view_matrix(&b, memory[1], BP_F64, 3, 3);
    bp_view_matrix(&c, memory[2], BP_F64, 3, 3);
    const bp__matmul_arguments arguments = {sizeof arguments, &a.tensor, &b.tensor, &c.tensor};
    const bp__call_request request = {.call = &arguments, .described = &bp__matmul_call};
    bp__call call = {.tensors = {&a.tensor, &b.tensor, &c.tensor}};
    assert_int_equal(multiply(4), BP_OK); /* the thread has a cache */
    assert_null(bp__call_find(&call, bp__tag(BP_OP_GEMM, 0)));
    assert_int_equal(bp_set("blas.preferred", "native:packed"), BP_OK);
    assert_int_equal(bp__problem_make(&problem, &bp__family_gemm, &request), BP_OK);
    assert_int_equal(bp__call_plan_and_run(&call, &problem, bp__plain_scalars), BP_OK);
    assert_int_equal(bp_plan_cache_clear(), BP_OK);
    assert_int_equal(bp_last_plan(&info), BP_OK); /* which keeps it even if the plan cache is off */
    assert_non_null(strstr(info.reason, "blas.preferred=native:packed"));
    assert_int_equal(bp_unset("blas.preferred"), BP_OK);
    assert_int_equal(multiply(3), BP_OK);
    assert_int_equal(bp_last_plan(&info), BP_OK);
    assert_null(strstr(info.reason, "native:packed"));
}

/* A call that has no slot in the thread cache still ran a plan, which the plan cache may evict at once. */
static void last_plan_describes_an_uncached_call(void **state) {
    (void)state;
    enum { RANK = 16 }; /* the keys of three operands of that rank do not fit */
    int64_t ones[RANK];
    bp_view a;
    bp_plan_info info = {.struct_size = sizeof info};
    for (int i = 0; i < RANK; i++) {
        ones[i] = 1;
    }
    assert_int_equal(bp_view_init(&a, memory[0], BP_F64, RANK, ones, NULL), BP_OK);
    bp_view c;
    assert_int_equal(bp_view_init(&c, memory[2], BP_F64, RANK, ones, NULL), BP_OK);
    assert_int_equal(bp_matmul(&a.tensor, &a.tensor, &c.tensor), BP_OK);
    assert_int_equal(bp_plan_cache_clear(), BP_OK);
    assert_int_equal(bp_last_plan(&info), BP_OK);
    assert_string_equal(info.operation, "gemm");
}

/* Clears the cache while the plan is made, as another thread might. */
static bp_status make_while_cleared(bp_plan **plan, const bp__plan_key *key, const void *problem) {
    (void)key;
    bp_status status = bp__plan_make(plan, problem, NULL);
    return status == BP_OK ? bp_plan_cache_clear() : status;
}

static void a_plan_begun_before_a_clear_is_not_cached(void **state) {
    (void)state;
    bp_view a, b, c;
    bp_problem problem;
    bp_plan *plan;
    bool fresh;
    bp_view_matrix(&a, memory[0], BP_F64, 5, 5);
    bp_view_matrix(&b, memory[1], BP_F64, 5, 5);
    bp_view_matrix(&c, memory[2], BP_F64, 5, 5);
    const bp__matmul_arguments arguments = {sizeof arguments, &a.tensor, &b.tensor, &c.tensor};
    const bp__call_request request = {.call = &arguments, .described = &bp__matmul_call};
    assert_int_equal(bp__problem_make(&problem, &bp__family_gemm, &request), BP_OK);
    const bp__plan_key key = {"\0test", 5};
    assert_int_equal(bp__cache_get_composed(&plan, 0, &key, make_while_cleared, &problem, &fresh), BP_OK);
    assert_true(fresh);
    assert_int_equal(stats().size, 0);
    bp__plan_release(plan);
}

static void a_child_of_fork_starts_with_an_empty_cache(void **state) {
    (void)state;
    assert_int_equal(multiply(11), BP_OK);
    pid_t child = fork();
    if (child == 0) {
        alarm(240);
        bp_status status = multiply(11);
        bp_plan_cache_info info = {.struct_size = sizeof info};
        bp_plan_cache_stats(&info);
        _exit(status == BP_OK && info.misses == 2 ? 0 : 1);
    }
    int result;
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_true(WIFEXITED(result));
    assert_int_equal(WEXITSTATUS(result), 0);
}

static int reset(void **state) {
    (void)state;
    return bp_reset() == BP_OK ? 0 : -1;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(grows_to_its_limit_and_evicts_the_oldest, reset),
        cmocka_unit_test_setup(use_moves_to_the_front, reset),
        cmocka_unit_test_setup(size_zero_caches_nothing, reset),
        cmocka_unit_test_setup(clearing_keeps_plans_of_the_program, reset),
        cmocka_unit_test_setup(options_prevent_a_reset, reset),
        cmocka_unit_test_setup(calls_are_counted, reset),
        cmocka_unit_test_setup(results_are_right_when_the_thread_cache_evicts, reset),
        cmocka_unit_test_setup(a_setting_changed_during_a_call_is_not_cached, reset),
        cmocka_unit_test_setup(last_plan_describes_an_uncached_call, reset),
        cmocka_unit_test_setup(a_plan_begun_before_a_clear_is_not_cached, reset),
        cmocka_unit_test_setup(a_child_of_fork_starts_with_an_empty_cache, reset),
    };
    setenv("BACKPLANE_BLAS_PREFERRED", "native", 1); /* needs no search of the machine */
    return cmocka_run_group_tests(tests, NULL, reset);
}
