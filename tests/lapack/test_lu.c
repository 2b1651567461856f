/* test_lu.c - tests lu_factor and lu on every LAPACK library of this machine. */
#include "lapack/support_lapack.h"

static const int64_t sizes[][2] = {{1, 1}, {2, 2}, {5, 5}, {33, 33}, {70, 70}, {7, 3}, {3, 7}, {65, 40}, {40, 65}};

static void check_pivots(const test_operand *pivots, const test_operand *info, int64_t m) {
    for (int64_t i = 0; i < pivots->items * pivots->rows; i++) {
        const int64_t item = i / pivots->rows, row = i % pivots->rows;
        assert_in_range((int64_t)creall(test_get(pivots, item, row, 0)), row + 1, m);
        assert_true(creall(test_get(info, item, 0, 0)) >= 0);
    }
}

/* The parts of factors that are 0 or 1. */
static void check_exact_parts(const test_operand *p, const test_operand *l, const test_operand *u, int64_t item) {
    const int64_t m = p->rows, n = u->columns, k = u->rows;
    for (int64_t i = 0; i < m; i++) {
        number across = 0, down = 0;
        for (int64_t j = 0; j < m; j++) {
            const number x = test_get(p, item, i, j);
            assert_true(x == 0 || x == 1);
            across += x;
            down += test_get(p, item, j, i);
        }
        assert_true(across == 1 && down == 1);
        for (int64_t j = i; j < k; j++) {
            assert_true(test_get(l, item, i, j) == (i == j));
        }
        for (int64_t j = 0; j < i && i < k && j < n; j++) {
            assert_true(test_get(u, item, i, j) == 0);
        }
    }
}

static void factor(void *instance, const char *where, bp_dtype dtype, int64_t m, int64_t n, matrix_layout layout,
                   test_kind kind, int64_t items) {
    int64_t k = m < n ? m : n;
    test_operand a = test_make(dtype, m, n, items, false, layout), lu = test_make(dtype, m, n, items, false, layout);
    test_operand pivots = test_make(BP_I32, k, 1, items, false, layout),
                 info = test_make(BP_I32, 1, 1, items, false, 0);
    test_fill(&a, kind, 5);
    test_call call = {.op = BP_OP_LU_FACTOR, .operand = {&a, &lu, &pivots, &info}};
    assert_int_equal(test_run(instance, &call, NULL), BP_OK);
    check_pivots(&pivots, &info, m);
    test_equations(&call, where);
    test_operand p = test_make(dtype, m, m, items, false, layout), lower = test_make(dtype, m, k, items, false, layout);
    test_operand upper = test_make(dtype, k, n, items, false, layout);
    call = (test_call){.op = BP_OP_LU, .fields.fail_on_item_error = 1, .operand = {&a, &p, &lower, &upper}};
    assert_int_equal(test_run(instance, &call, NULL), BP_OK);
    test_equations(&call, where);
    for (int64_t item = 0; item < items; item++) {
        check_exact_parts(&p, &lower, &upper, item);
    }
    test_drop(&a), test_drop(&lu), test_drop(&pivots), test_drop(&info), test_drop(&p), test_drop(&lower);
    test_drop(&upper);
}

static void check_all_factors(void *instance, const bp_library_info *row) {
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        for (int d = 0; d < 4; d++) {
            for (matrix_layout layout = 0; layout < MATRIX_LAYOUTS; layout++) {
                factor(instance, row->id, test_dtypes[d], sizes[s][0], sizes[s][1], layout, TEST_RANDOM,
                       layout == TEST_GENERAL ? 3 : 1);
            }
        }
    }
    for (test_kind kind = 0; kind < TEST_KINDS; kind++) {
        for (int d = 0; d < 4; d++) {
            factor(instance, row->id, test_dtypes[d], 30, 30, TEST_ROWS, kind, 1);
        }
    }
}

static void test_factors(void **state) {
    (void)state;
    test_each_library(check_all_factors);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_factors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
