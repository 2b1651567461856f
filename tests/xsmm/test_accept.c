/* test_accept.c - tests verdicts without a library: refusals and their reasons, the arguments derived from each layout,
 * threads, guarantees, and the order of costs. */
#include "xsmm/support_xsmm.h"

#include <string.h>

static bp__driver *instance;

static bp_verdict judge(const bp_problem *problem) {
    return test_verdict(&bp_provider_xsmm, instance, problem);
}

static test_product square(bp_dtype dtype, int64_t n) {
    return (test_product){.dtype = dtype, .m = n, .n = n, .k = n, .alpha = 1, .threads = 1};
}

static void expect_refusal(const test_product *p, bp_reason reason, const char *text) {
    bp_problem problem = test_problem(p);
    bp_verdict verdict = judge(&problem);
    if (verdict.reason != reason || !strstr(verdict.text, text)) {
        fail_msg("%s: '%s', not %s: '%s'", bp_reason_name(verdict.reason), verdict.text, bp_reason_name(reason), text);
    }
}

static void test_refusals(void **state) {
    (void)state;
    test_product p = square(BP_F32, 4);
    bp_problem problem = test_problem(&p);
    assert_int_equal(judge(&problem).reason, BP_REASON_ACCEPTED);
    problem.op = BP_OP_INV;
    assert_int_equal(judge(&problem).reason, BP_REASON_OP);
    static const bp_dtype others[] = {BP_C64, BP_C128, BP_F16, BP_BF16, BP_I32};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        problem = test_problem(&p);
        problem.dtype = others[i];
        assert_int_equal(judge(&problem).reason, BP_REASON_DTYPE);
    }
    p.alpha = 2;
    expect_refusal(&p, BP_REASON_OTHER, "alpha 1, and beta 0 or 1");
    p.alpha = 0;
    expect_refusal(&p, BP_REASON_OTHER, "alpha 1");
    p.alpha = 1;
    p.beta = -1;
    expect_refusal(&p, BP_REASON_OTHER, "beta 0 or 1");
    for (int d = 0; d < 3; d++) {
        test_product empty = square(BP_F64, 4);
        *(int64_t *[]){&empty.m, &empty.n, &empty.k}[d] = 0;
        expect_refusal(&empty, BP_REASON_OTHER, "empty");
    }
    problem = test_problem(&(test_product){.dtype = BP_F64, .m = 2, .n = 2, .k = 2, .alpha = 1, .batch = {3}});
    problem.of.gemm.batch = problem.of.gemm.batch_shape[0] = 0;
    assert_int_equal(judge(&problem).reason, BP_REASON_OTHER);
}

static void test_largest_size(void **state) {
    (void)state;
    test_product p = square(BP_F64, 64);
    bp_problem problem = test_problem(&p);
    assert_int_equal(judge(&problem).reason, BP_REASON_ACCEPTED);
    p.k = 65;
    expect_refusal(&p, BP_REASON_OTHER, "small");
    p = (test_product){.dtype = BP_F32, .m = 262144, .n = 1, .k = 1, .alpha = 1};
    problem = test_problem(&p);
    assert_int_equal(judge(&problem).reason, BP_REASON_ACCEPTED);
    p.n = INT64_C(1) << 60; /* the product of the sizes is no 64-bit number */
    expect_refusal(&p, BP_REASON_OTHER, "small");
}

static void test_unusable_library(void **state) {
    (void)state;
    test_product p = square(BP_F32, 4);
    bp_library_info row = *instance->library;
    row.int_bits = 0;
    void *other;
    assert_int_equal(bp_provider_xsmm.open(test_host(), &row, &other), BP_OK);
    bp_problem problem = test_problem(&p);
    assert_int_equal(test_verdict(&bp_provider_xsmm, other, &problem).reason, BP_REASON_OTHER);
    bp_provider_xsmm.close(other);
}

/* ---- Layouts ---- */

static bool by_rows(matrix_layout layout) {
    return layout == TEST_ROWS || layout == TEST_ROWS_APART;
}

static bool by_columns(matrix_layout layout) {
    return layout == TEST_COLUMNS || layout == TEST_COLUMNS_APART;
}

/* Row-major C needs row-major B, column-major C needs column-major A; the other operand may be either. */
static void test_layouts(void **state) {
    (void)state;
    for (int i = 0; i < MATRIX_LAYOUTS * MATRIX_LAYOUTS * TEST_REPEATED; i++) {
        test_product p = {.dtype = i % 2 ? BP_F32 : BP_F64, .m = 5, .n = 7, .k = 3, .alpha = 1};
        p.a = (matrix_layout)(i % MATRIX_LAYOUTS);
        p.b = (matrix_layout)(i / MATRIX_LAYOUTS % MATRIX_LAYOUTS);
        p.c = (matrix_layout)(i / MATRIX_LAYOUTS / MATRIX_LAYOUTS);
        bool plain_a = by_rows(p.a) || by_columns(p.a), plain_b = by_rows(p.b) || by_columns(p.b);
        bool fits = (by_rows(p.c) && by_rows(p.b) && plain_a) || (by_columns(p.c) && by_columns(p.a) && plain_b);
        bp_problem problem = test_problem(&p);
        bp_verdict verdict = judge(&problem);
        if (verdict.reason != (fits ? BP_REASON_ACCEPTED : BP_REASON_LAYOUT)) {
            fail_msg("layouts %d %d %d: %s", (int)p.a, (int)p.b, (int)p.c, verdict.text);
        }
        bp__xsmm_route r;
        assert_true(!bp__xsmm_route_of(&r, &problem, instance) == fits);
        if (fits && by_rows(p.c)) {
            assert_true(r.swap && r.m == 7 && r.n == 5 && r.k == 3 && r.ld_first == problem.of.gemm.b_row);
            assert_true(r.ld_c == problem.of.gemm.c_row && r.transposed == by_columns(p.a));
            assert_true(r.ld_second == (by_rows(p.a) ? problem.of.gemm.a_row : problem.of.gemm.a_column));
        } else if (fits) {
            assert_true(!r.swap && r.m == 5 && r.n == 7 && r.k == 3 && r.ld_first == problem.of.gemm.a_column);
            assert_true(r.ld_c == problem.of.gemm.c_column && r.transposed == by_rows(p.b));
            assert_true(r.ld_second == (by_rows(p.b) ? problem.of.gemm.b_row : problem.of.gemm.b_column));
        }
    }
}

static void test_reasons_name_the_operand(void **state) {
    (void)state;
    test_product p = {.dtype = BP_F64, .m = 5, .n = 7, .k = 3, .alpha = 1};
    p.c = TEST_GENERAL;
    expect_refusal(&p, BP_REASON_LAYOUT, "C must be");
    p.c = TEST_ROWS;
    p.b = TEST_COLUMNS;
    expect_refusal(&p, BP_REASON_LAYOUT, "B must be row-major, as C is");
    p.b = TEST_ROWS;
    p.a = TEST_BACKWARDS;
    expect_refusal(&p, BP_REASON_LAYOUT, "A must be row-major or column-major");
    p.c = TEST_COLUMNS;
    expect_refusal(&p, BP_REASON_LAYOUT, "A must be column-major, as C is");
    p.a = TEST_COLUMNS;
    p.b = TEST_REPEATED;
    expect_refusal(&p, BP_REASON_LAYOUT, "B must be row-major or column-major");
}

/* A single row or column of C fits both orientations. The one with long vectors is taken. */
static void test_orientation_of_vectors(void **state) {
    (void)state;
    bp__xsmm_route r;
    test_product p = {.dtype = BP_F32, .m = 64, .n = 1, .k = 16, .alpha = 1, .a = TEST_COLUMNS};
    bp_problem problem = test_problem(&p);
    assert_null(bp__xsmm_route_of(&r, &problem, instance));
    assert_true(!r.swap && r.m == 64 && r.n == 1);
    p = (test_product){.dtype = BP_F32, .m = 1, .n = 64, .k = 16, .alpha = 1};
    problem = test_problem(&p);
    assert_null(bp__xsmm_route_of(&r, &problem, instance));
    assert_true(r.swap && r.m == 64 && r.n == 1);
    p = (test_product){.dtype = BP_F32, .m = 64, .n = 1, .k = 16, .alpha = 1}; /* the rows of A are contiguous */
    problem = test_problem(&p);
    assert_null(bp__xsmm_route_of(&r, &problem, instance));
    assert_true(r.swap && r.m == 1 && r.n == 64);
    p = square(BP_F64, 1);
    problem = test_problem(&p);
    assert_null(bp__xsmm_route_of(&r, &problem, instance));
    assert_true(r.ld_first == 1 && r.ld_second == 1 && r.ld_c == 1);
}

/* Offsets in a kernel have 32 bits. */
static void test_distances(void **state) {
    (void)state;
    int64_t *strides[3];
    for (int d = 0; d < 3; d++) {
        test_product p = square(BP_F64, 4);
        bp_problem problem = test_problem(&p);
        strides[0] = &problem.of.gemm.a_row;
        strides[1] = &problem.of.gemm.b_row;
        strides[2] = &problem.of.gemm.c_row;
        *strides[d] = (INT64_C(1) << 30) / 8 / 4;
        assert_int_equal(judge(&problem).reason, BP_REASON_ACCEPTED);
        ++*strides[d];
        bp_verdict verdict = judge(&problem);
        assert_int_equal(verdict.reason, BP_REASON_LAYOUT);
        assert_non_null(strstr(verdict.text, "too large"));
        *strides[d] = INT64_MAX;
        assert_int_equal(judge(&problem).reason, BP_REASON_LAYOUT);
    }
}

/* ---- Threads, guarantees, costs ---- */

static bp_verdict judge_batch(int64_t n, int64_t batch, int threads, int deterministic) {
    test_product p = square(BP_F32, n);
    p.batch[1] = batch;
    p.threads = threads;
    p.deterministic = deterministic;
    bp_problem problem = test_problem(&p);
    return judge(&problem);
}

static void test_threads(void **state) {
    (void)state;
    for (int deterministic = 0; deterministic < 3; deterministic++) {
        assert_int_equal(judge_batch(32, 1000, 2, deterministic).threads, 2);
        assert_int_equal(judge_batch(32, 1000, 1, deterministic).threads, 1);
        assert_int_equal(judge_batch(2, 3, 4, deterministic).threads, 1); /* the start of a thread takes longer */
        assert_int_equal(judge_batch(64, 0, 4, deterministic).threads, 1);
        assert_int_equal(judge_batch(64, 100, 4, deterministic).threads, 4);
        bp_verdict verdict = judge_batch(16, 100, 2, deterministic);
        assert_int_equal(verdict.properties, BP_PROPERTY_ACCUMULATES_F32 | BP_PROPERTY_REPRODUCIBLE |
                                                 BP_PROPERTY_THREAD_INVARIANT | BP_PROPERTY_PROPAGATES_NAN);
        assert_string_equal(verdict.algorithm, "jit per product");
    }
    assert_true(judge_batch(32, 1000, 2, 0).cost_ns < judge_batch(32, 1000, 1, 0).cost_ns);
    test_product p = square(BP_F64, 8);
    bp_problem problem = test_problem(&p);
    assert_true(judge(&problem).properties & BP_PROPERTY_ACCUMULATES_F64);
    assert_string_equal(judge(&problem).algorithm, "jit");
}

static double cost(bp_dtype dtype, int64_t n) {
    test_product p = square(dtype, n);
    bp_problem problem = test_problem(&p);
    return judge(&problem).cost_ns;
}

static void test_costs(void **state) {
    (void)state;
    for (int t = 0; t < 2; t++) {
        bp_dtype dtype = t ? BP_F64 : BP_F32;
        assert_true(cost(dtype, 1) > 0);
        for (int64_t n = 8; n < 64; n *= 2) {
            assert_true(cost(dtype, 2 * n) > 4 * cost(dtype, n));
            assert_true(cost(dtype, n - 1) > cost(dtype, n)); /* kernels compute the last rows one by one */
        }
    }
    assert_true(cost(BP_F64, 32) > cost(BP_F32, 32));
    assert_true(judge_batch(4, 1000, 1, 0).cost_ns > 900 * cost(BP_F32, 4));
}

static int open_fake(void **state) {
    (void)state;
    instance = test_open_fake();
    return 0;
}

static int close_fake(void **state) {
    (void)state;
    bp_provider_xsmm.close(instance);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_largest_size),
        cmocka_unit_test(test_unusable_library),
        cmocka_unit_test(test_layouts),
        cmocka_unit_test(test_reasons_name_the_operand),
        cmocka_unit_test(test_orientation_of_vectors),
        cmocka_unit_test(test_distances),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_costs),
    };
    return cmocka_run_group_tests_name("accept", tests, open_fake, close_fake);
}
