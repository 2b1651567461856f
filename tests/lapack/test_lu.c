/* test_lu.c - tests lu_factor and lu on every LAPACK library of this machine. */
#include "lapack/support_lapack.h"

#include <math.h>
#include <stdlib.h>

#define BOUND 30 /* bound of a residual in units of n epsilon, as in LAPACK's own tests */

static const int64_t sizes[][2] = {{1, 1}, {2, 2}, {5, 5}, {33, 33}, {70, 70}, {7, 3}, {3, 7}, {65, 40}, {40, 65}};

/* ---- The factors ---- */

/* Computes P^T A from A by the exchanges of the pivots. */
static void exchange(number *a, const test_operand *pivots, int64_t item, int64_t m, int64_t n) {
    for (int64_t i = 0; i < pivots->rows; i++) {
        int64_t other = (int64_t)creall(test_get(pivots, item, i, 0)) - 1;
        assert_true(other >= i && other < m);
        for (int64_t j = 0; j < n; j++) {
            number value = a[i * n + j];
            a[i * n + j] = a[other * n + j];
            a[other * n + j] = value;
        }
    }
}

static void take_apart(const number *lu, int64_t m, int64_t n, number **l, number **u) {
    int64_t k = m < n ? m : n;
    *l = calloc((size_t)(m * k), sizeof **l);
    *u = calloc((size_t)(k * n), sizeof **u);
    for (int64_t i = 0; i < m; i++) {
        for (int64_t j = 0; j < n; j++) {
            if (j < i && j < k) {
                (*l)[i * k + j] = lu[i * n + j];
            } else if (i < k) {
                (*u)[i * n + j] = lu[i * n + j];
            }
        }
        if (i < k) {
            (*l)[i * k + i] = 1;
        }
    }
}

/* Checks |P^T A - L U| against |L| |U|: the backward error of elimination, for any growth. */
static void check_factors(const number *pa, const number *l, const number *u, int64_t m, int64_t n, bp_dtype dtype,
                          const char *where) {
    int64_t k = m < n ? m : n;
    number *product = test_product(l, u, m, k, n);
    long double scale = test_norm(l, m, k) * test_norm(u, k, n) * test_epsilon(dtype) * (long double)k;
    test_within(test_distance(pa, product, m, n), BOUND * scale, "%s: %d x %d %s", where, (int)m, (int)n,
                bp_dtype_name(dtype));
    free(product);
}

static void factor(void *instance, const char *where, bp_dtype dtype, int64_t m, int64_t n, test_layout layout,
                   test_kind kind, int64_t items) {
    int64_t k = m < n ? m : n;
    test_operand a = test_make(dtype, m, n, items, false, layout), lu = test_make(dtype, m, n, items, false, layout);
    test_operand pivots = test_make(BP_I32, k, 1, items, false, layout),
                 info = test_make(BP_I32, 1, 1, items, false, 0);
    test_fill(&a, kind, 5);
    test_call call = {.op = BP_OP_LU_FACTOR, .operand = {&a, &lu, &pivots, &info}};
    assert_int_equal(test_run(instance, &call, NULL), BP_OK);
    for (int64_t item = 0; item < items; item++) {
        number *pa = test_item(&a, item), *both = test_item(&lu, item), *l, *u;
        exchange(pa, &pivots, item, m, n);
        take_apart(both, m, n, &l, &u);
        check_factors(pa, l, u, m, n, dtype, where);
        assert_true(creall(test_get(&info, item, 0, 0)) >= 0);
        free(pa), free(both), free(l), free(u);
    }
    test_operand p = test_make(dtype, m, m, items, false, layout), lower = test_make(dtype, m, k, items, false, layout);
    test_operand upper = test_make(dtype, k, n, items, false, layout);
    call = (test_call){.op = BP_OP_LU, .fields.fail_on_item_error = 1, .operand = {&a, &p, &lower, &upper}};
    assert_int_equal(test_run(instance, &call, NULL), BP_OK);
    for (int64_t item = 0; item < items; item++) {
        number *l = test_item(&lower, item), *u = test_item(&upper, item), *permutation = test_item(&p, item);
        number *back = test_adjoint(permutation, m, m, false), *original = test_item(&a, item);
        number *pa = test_product(back, original, m, m, n);
        check_factors(pa, l, u, m, n, dtype, where);
        for (int64_t i = 0; i < m; i++) {
            assert_true(i >= k || l[i * k + i] == 1);
            for (int64_t j = i + 1; j < k; j++) {
                assert_true(l[i * k + j] == 0);
            }
            for (int64_t j = 0; j < i && i < k && j < n; j++) {
                assert_true(u[i * n + j] == 0);
            }
        }
        free(l), free(u), free(permutation), free(back), free(original), free(pa);
    }
    test_drop(&a), test_drop(&lu), test_drop(&pivots), test_drop(&info), test_drop(&p), test_drop(&lower);
    test_drop(&upper);
}

static void check_all_factors(void *instance, const bp_library_info *row) {
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        for (int d = 0; d < 4; d++) {
            for (test_layout layout = 0; layout < TEST_LAYOUTS; layout++) {
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
