/* test_adapted_threads.c - calls use the processors that other processes leave: the limit of machine/load.c in plans,
 * cached plans, compositions, determinism and explanations. The test sets the limit; readings wait meanwhile. */
#include "backplane.h"
#include "dispatch/internal.h"
#include "machine/internal.h"
#include "settings/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { N = 512 };
static double left[N * N], result[N * N];
static int many; /* threads without a limit */

static void limit_to(int threads) {
    atomic_store(&bp__load_limit, threads);
    bp__settings_changed();
}

static int begin(void **state) {
    (void)state;
    many = bp__available_cpus();
    for (int i = 0; i < N * N; i++) {
        left[i] = i % 7;
    }
    bp__load_fork_lock(); /* no reading changes the limit */
    return bp_set("threads.adapt", "true") == BP_OK ? 0 : -1;
}

static int end(void **state) {
    (void)state;
    bp__load_fork_unlock();
    return 0;
}

static int no_limit(void **state) {
    (void)state;
    limit_to(0);
    return 0;
}

/* Returns the threads of a product on `native`, which uses as many as it may. */
static int threads_of_product(const char *settings) {
    char text[128];
    bp_view a, c;
    bp_options *options;
    bp_view_matrix(&a, left, BP_F64, N, N);
    bp_view_matrix(&c, result, BP_F64, N, N);
    snprintf(text, sizeof text, "blas.preferred=native%s%s", *settings ? "," : "", settings);
    assert_int_equal(bp_options_new(&options, text), BP_OK);
    assert_int_equal(bp_matmul_run(options, &a.tensor, &a.tensor, &c.tensor), BP_OK);
    bp_options_release(options);
    bp_plan_info info = {.struct_size = sizeof info};
    assert_int_equal(bp_last_plan(&info), BP_OK);
    return info.threads;
}

static void test_calls_keep_the_limit(void **state) {
    (void)state;
    for (int round = 0; round < 3; round++) { /* both plans are in the caches after the first one */
        limit_to(0);
        assert_int_equal(threads_of_product(""), many);
        limit_to(1);
        assert_int_equal(threads_of_product(""), 1);
        limit_to(many + 5);
        assert_int_equal(threads_of_product(""), many);
    }
}

static void test_what_takes_precedence(void **state) {
    (void)state;
    limit_to(1);
    assert_int_equal(threads_of_product("num_threads=2"), 2);
    assert_int_equal(threads_of_product("num_threads=0"), 1);
    assert_int_equal(threads_of_product("threads.adapt=false"), many);
    assert_int_equal(threads_of_product("deterministic=run"), many);
    assert_int_equal(threads_of_product("deterministic_algorithms=true"), many);
}

/* The determinism of a family keeps its threads only. */
static void test_determinism_of_a_family(void **state) {
    (void)state;
    bp_policy policy;
    bp_scope *scope;
    limit_to(1);
    assert_int_equal(bp_scope_enter(&scope, "conv.deterministic=run"), BP_OK);
    for (int i = 0; i < BP__FAMILIES; i++) {
        const bp__family *family = bp__family_at(i);
        const bool kept = family->limits && family->limits->deterministic == BP_SET_conv_deterministic;
        assert_int_equal(bp__policy_resolve(&policy, family), BP_OK);
        assert_int_equal(policy.threads, kept ? many : 1);
    }
    assert_int_equal(bp_scope_leave(&scope), BP_OK);
}

static void test_contractions_keep_the_limit(void **state) {
    (void)state;
    bp_view a, c;
    bp_view_matrix(&a, left, BP_F64, N, N);
    bp_view_matrix(&c, result, BP_F64, N, N);
    const DLTensor *inputs[] = {&a.tensor, &a.tensor};
    const int limits[] = {0, 1, 0};
    for (int i = 0; i < 3; i++) {
        limit_to(limits[i]);
        assert_int_equal(bp_einsum("ij,kj->ki", 2, inputs, &c.tensor), BP_OK);
        bp_plan_info info = {.struct_size = sizeof info};
        assert_int_equal(bp_last_plan(&info), BP_OK);
        assert_int_equal(info.threads, limits[i] ? 1 : many);
    }
}

static void test_explanation_tells(void **state) {
    (void)state;
    bp_view a, c;
    bp_view_matrix(&a, left, BP_F64, N, N);
    bp_view_matrix(&c, result, BP_F64, N, N);
    const char *told = "num_threads = 1 (shared environment: other processes keep ";
    for (int limit = 0; limit < 2; limit++) {
        limit_to(limit);
        bp_explanation *explanation;
        assert_int_equal(bp_matmul_explain(&explanation, NULL, &a.tensor, &a.tensor, &c.tensor), BP_OK);
        const char *text = bp_explanation_text(explanation);
        if ((strstr(text, told) != NULL) != (limit == 1 && many > 1)) {
            fail_msg("limit %d: %s", limit, text);
        }
        bp_explanation_release(explanation);
    }
}

/* A thread that runs while there is a limit reads again, so that the limit ends. */
static void test_limit_ends(void **state) {
    (void)state;
    limit_to(1);
    assert_int_equal(threads_of_product("num_threads=1"), 1);
    assert_int_equal(atomic_load(&bp__load_limit), 1);
    bp__load_fork_unlock();
    threads_of_product("num_threads=1"); /* the first reading: nothing is known, so there is no limit */
    bp__load_fork_lock();
    assert_int_equal(atomic_load(&bp__load_limit), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_calls_keep_the_limit, no_limit),
        cmocka_unit_test_setup(test_what_takes_precedence, no_limit),
        cmocka_unit_test_setup(test_determinism_of_a_family, no_limit),
        cmocka_unit_test_setup(test_contractions_keep_the_limit, no_limit),
        cmocka_unit_test_setup(test_explanation_tells, no_limit),
        cmocka_unit_test_setup(test_limit_ends, no_limit),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
