/* test_plans.c - tests plans on a fake library: how kernels are requested, the addresses of each call, errors, and the
 * limit of the number of kernels. */
#include "xsmm/support_xsmm.h"

#include "support/pool.h"

#include "backplane/interrupt.h"

#include <stdlib.h>
#include <string.h>

static void *open_fake(void) {
    void *instance = test_open_fake();
    atomic_store(&bp__xsmm_ended, false);
    return instance;
}

static bp_status plan(void *instance, const test_product *p, bp_prepared **prepared) {
    bp_problem problem = test_problem(p);
    return test_plan_first(&bp_provider_xsmm, instance, &problem, prepared);
}

static test_product some_product(void) {
    return (test_product){.dtype = BP_F64, .m = 5, .n = 7, .k = 3, .alpha = 1, .threads = 1};
}

static void test_requests(void **state) {
    (void)state;
    void *instance = open_fake();
    for (int i = 0; i < 16; i++) {
        test_product p = some_product();
        bp_prepared *prepared;
        bool columns = i & 1, other = i & 2;
        p.dtype = i & 4 ? BP_F32 : BP_F64;
        p.beta = i & 8 ? 1 : 0;
        p.c = columns ? TEST_COLUMNS_APART : TEST_ROWS_APART;
        p.a = columns || other ? TEST_COLUMNS_APART : TEST_ROWS_APART;
        p.b = columns && !other ? TEST_COLUMNS_APART : TEST_ROWS_APART;
        bp_problem problem = test_problem(&p);
        const bp_gemm_problem *g = &problem.of.gemm;
        assert_int_equal(plan(instance, &p, &prepared), BP_OK);
        assert_int_equal(fake.requests, i + 1);
        assert_int_equal(fake.single, p.dtype == BP_F32);
        assert_int_equal(fake.m, columns ? 5 : 7);
        assert_int_equal(fake.n, columns ? 7 : 5);
        assert_int_equal(fake.k, 3);
        assert_int_equal(fake.lda, columns ? g->a_column : g->b_row);
        assert_int_equal(fake.ldb, columns ? g->b_row + g->b_column - 1 : g->a_row + g->a_column - 1);
        assert_int_equal(fake.ldc, g->c_row + g->c_column - 1);
        assert_true(fake.alpha == 1 && fake.beta == p.beta);
        assert_int_equal(fake.flags, other ? BP__XSMM_FLAG_TRANS_B : BP__XSMM_FLAG_NONE);
        assert_int_equal(fake.prefetch, BP__XSMM_PREFETCH_NONE);
        char a, b, c;
        assert_int_equal(test_enqueue(prepared, (void *[]){&a, &b, &c}, 3, NULL), BP_OK);
        assert_ptr_equal(fake.call[i].a, columns ? &a : &b);
        assert_ptr_equal(fake.call[i].b, columns ? &b : &a);
        assert_ptr_equal(fake.call[i].c, &c);
        assert_int_equal(fake.calls, i + 1); /* and no other call of the library */
        assert_int_equal(fake.requests, i + 1);
        prepared->destroy(prepared);
    }
    bp_provider_xsmm.close(instance);
    assert_int_equal(test_blocks, 0);
}

/* libxsmm sets variables when it starts, which would reach OpenMP runtimes that are loaded later. */
static void test_variables_are_removed(void **state) {
    static const char *const names[] = {"OMP_PROC_BIND", "I_MPI_SHM_HEAP"};
    (void)state;
    for (int i = 0; i < 2; i++) {
        void *instance = open_fake();
        test_product p = some_product();
        bp_prepared *prepared;
        unsetenv(names[i]);
        fake.sets = names[i];
        assert_int_equal(plan(instance, &p, &prepared), BP_OK);
        assert_null(getenv(names[i]));
        prepared->destroy(prepared);
        setenv(names[i], "close", 1);
        assert_int_equal(plan(instance, &p, &prepared), BP_OK);
        assert_string_equal(getenv(names[i]), "close"); /* the user's value stays */
        prepared->destroy(prepared);
        unsetenv(names[i]);
        bp_provider_xsmm.close(instance);
    }
}

/* ---- Batches ---- */

/* Every item is computed once, at its own addresses. */
static void check_items(const bp_problem *problem, const double *a, const double *b, const double *c) {
    const bp_gemm_problem *g = &problem->of.gemm;
    static bool done[TEST_FAKE_CALLS];
    memset(done, 0, sizeof done);
    assert_int_equal(fake.calls, g->batch);
    for (int i = 0; i < fake.calls; i++) {
        int64_t inner = g->batch_shape[1], at = (const double *)fake.call[i].c - c, item = -1;
        for (int64_t x = 0; x < g->batch && item < 0; x++) {
            item = x / inner * g->batch_c[0] + x % inner * g->batch_c[1] == at ? x : -1;
        }
        assert_in_range(item, 0, g->batch - 1);
        assert_false(done[item]);
        done[item] = true;
        int64_t x = item / inner, y = item % inner;
        assert_ptr_equal(fake.call[i].a, b + x * g->batch_b[0] + y * g->batch_b[1]); /* C is row-major */
        assert_ptr_equal(fake.call[i].b, a + x * g->batch_a[0] + y * g->batch_a[1]);
    }
}

static void test_batches(void **state) {
    (void)state;
    static double a[1 << 16], b[1 << 16], c[1 << 16];
    for (int threads = 1; threads < 5; threads++) {
        for (int variant = 0; variant < 4; variant++) {
            void *instance = open_fake();
            test_product p = {.dtype = BP_F64, .m = 20, .n = 30, .k = 30, .alpha = 1, .threads = threads};
            p.batch[0] = 7;
            p.batch[1] = 9;
            p.broadcast_a = variant & 1;
            p.broadcast_b = variant & 2;
            bp_problem problem = test_problem(&p);
            bp_gemm_problem *g = &problem.of.gemm;
            for (int d = 0; d < 2; d++) {
                g->batch_a[d] = (d ? p.broadcast_a ? 0 : 2 : 31);
                g->batch_b[d] = (d ? p.broadcast_b ? 0 : 3 : -37);
                g->batch_c[d] = d ? 1000 : 9001;
            }
            bp_prepared *prepared;
            assert_int_equal(test_plan_first(&bp_provider_xsmm, instance, &problem, &prepared), BP_OK);
            double *middle = b + 1000; /* a stride of B is negative */
            assert_int_equal(test_enqueue(prepared, (void *[]){a, middle, c}, 3, NULL), BP_OK);
            check_items(&problem, a, middle, c);
            prepared->destroy(prepared);
            bp_provider_xsmm.close(instance);
        }
    }
}

static int checks_left;

static int stop_later(void *user) {
    (void)user;
    return checks_left-- <= 0;
}

/* The program's check ends a batch between two items. */
static void test_interruption(void **state) {
    (void)state;
    static double memory[4096];
    void *instance = open_fake();
    test_product p = {.dtype = BP_F64, .m = 2, .n = 2, .k = 2, .alpha = 1, .threads = 1};
    bp_problem problem = test_problem(&p);
    problem.of.gemm.batch_ndim = 1;
    problem.of.gemm.batch = problem.of.gemm.batch_shape[0] = INT64_C(1) << 50; /* all items at one address */
    for (int threads = 1; threads < 3; threads++) {
        bp_prepared *prepared;
        problem.policy.threads = threads;
        assert_int_equal(test_plan_first(&bp_provider_xsmm, instance, &problem, &prepared), BP_OK);
        checks_left = 3;
        bp_set_interrupt_check(stop_later, NULL, NULL);
        bp_status status = test_enqueue(prepared, (void *[]){memory, memory, memory}, 3, NULL);
        bp_set_interrupt_check(NULL, NULL, NULL);
        assert_int_equal(status, BP_E_CANCELLED);
        prepared->destroy(prepared);
    }
    bp_provider_xsmm.close(instance);
}

/* ---- Errors ---- */

static void expect_failure(bp_status expected, const char *text, const test_product *p, void *instance) {
    bp_prepared *prepared;
    test_error[0] = 0;
    assert_int_equal(plan(instance, p, &prepared), expected);
    if (!strstr(test_error, text)) {
        fail_msg("'%s' has no '%s'", test_error, text);
    }
    assert_int_equal(test_blocks, 1); /* the driver */
}

static void test_errors(void **state) {
    (void)state;
    test_product p = some_product(), single = p;
    single.dtype = BP_F32;
    void *instance = open_fake();
    fake.lacks = "libxsmm_dmmdispatch";
    expect_failure(BP_E_SYMBOL, "lacks libxsmm_dmmdispatch", &p, instance);
    fake.lacks = "libxsmm_smmdispatch";
    expect_failure(BP_E_SYMBOL, "lacks libxsmm_smmdispatch", &single, instance);
    fake.lacks = NULL;
    fake.generates_none = true;
    expect_failure(BP_E_UNSUPPORTED, "no kernel for 7x5x3", &p, instance);
    fake.generates_none = false;
    test_fail_allocation = 1;
    expect_failure(BP_E_NO_MEMORY, "no memory", &p, instance);
    bp_provider_xsmm.close(instance);
}

static void expect_refusal(void *instance, const bp_problem *problem, const char *text) {
    bp_verdict verdict = test_verdict(&bp_provider_xsmm, instance, problem);
    assert_int_equal(verdict.reason, BP_REASON_OTHER);
    assert_non_null(strstr(verdict.text, text));
}

/* At exit libxsmm unmaps its kernels, and handlers of the program run later. */
static void test_end_of_process(void **state) {
    (void)state;
    test_product p = some_product(), batch = p;
    bp_prepared *one, *many;
    char memory[1 << 12];
    batch.batch[1] = 4;
    void *instance = open_fake();
    assert_int_equal(plan(instance, &p, &one), BP_OK);
    assert_int_equal(plan(instance, &batch, &many), BP_OK);
    atomic_store(&bp__xsmm_ended, true);
    assert_int_equal(test_enqueue(one, (void *[]){memory, memory, memory}, 3, NULL), BP_E_UNSUPPORTED);
    assert_non_null(strstr(test_error, "the process is ending"));
    assert_int_equal(test_enqueue(many, (void *[]){memory, memory, memory}, 3, NULL), BP_E_UNSUPPORTED);
    assert_int_equal(fake.calls, 0);
    one->destroy(one);
    many->destroy(many);
    bp_problem problem = test_problem(&p);
    expect_refusal(instance, &problem, "the process is ending");
    atomic_store(&bp__xsmm_ended, false);
    bp_provider_xsmm.close(instance);
}

/* Runs last: the limit is the process's. */
static void test_limit_of_kernels(void **state) {
    (void)state;
    void *instance = open_fake();
    test_product p = some_product();
    bp_problem first = test_problem(&p), problem = first;
    bp_prepared *prepared;
    assert_int_equal(test_plan_first(&bp_provider_xsmm, instance, &first, &prepared), BP_OK);
    prepared->destroy(prepared);
    int made = 0;
    for (; made <= BP__XSMM_MOST_KERNELS; made++) {
        problem.of.gemm.a_row++; /* another leading dimension, so another kernel */
        if (test_verdict(&bp_provider_xsmm, instance, &problem).reason != BP_REASON_ACCEPTED) {
            break;
        }
        assert_int_equal(test_plan_first(&bp_provider_xsmm, instance, &problem, &prepared), BP_OK);
        prepared->destroy(prepared);
    }
    expect_refusal(instance, &problem, "8192 kernels");
    assert_in_range(made, BP__XSMM_MOST_KERNELS / 2, BP__XSMM_MOST_KERNELS);
    assert_int_equal(test_plan_first(&bp_provider_xsmm, instance, &first, &prepared), BP_OK); /* it exists */
    prepared->destroy(prepared);
    bp_provider_xsmm.close(instance);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_requests),         cmocka_unit_test(test_variables_are_removed),
        cmocka_unit_test(test_batches),          cmocka_unit_test(test_interruption),
        cmocka_unit_test(test_errors),           cmocka_unit_test(test_end_of_process),
        cmocka_unit_test(test_limit_of_kernels),
    };
    return cmocka_run_group_tests_name("plans", tests, NULL, test_stop_pool);
}
