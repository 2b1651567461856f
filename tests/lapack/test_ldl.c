/* test_ldl.c - tests ldl_factor and ldl_solve on every LAPACK library of this machine. */
#include "lapack/support_lapack.h"

#include <math.h>
#include <string.h>

static const int64_t sizes[] = {1, 2, 3, 9, 33, 100};
enum { SIZES = sizeof sizes / sizeof sizes[0] };

/* Fills with matrices whose diagonal is 0 in every second row, so that D has blocks of both sizes. What must not be
 * read is NaN: the upper triangle. */
static void fill(test_operand *a, test_kind kind, bool hermitian) {
    const int64_t n = a->rows;
    test_fill(a, kind, 21);
    for (int64_t at = 0; at < a->items * n * n; at++) {
        const int64_t item = at / n / n, i = at / n % n, j = at % n;
        const number own = test_get(a, item, i, j);
        if (i == j) {
            test_set(a, item, i, i, i % 2 == 0 && n > 1 ? 0 : hermitian ? creall(own) : own);
        } else if (j > i) {
            test_set(a, item, i, j, NAN);
        }
    }
}

static void check(void *instance, const char *where, bp_dtype dtype, int64_t n, int64_t items, matrix_layout in,
                  matrix_layout out, test_kind kind, bool hermitian) {
    const int64_t k = 1 + n % 4;
    test_operand a = test_make(dtype, n, n, items, false, in), ld = test_make(dtype, n, n, items, false, out);
    test_operand b = test_make(dtype, n, k, items, items > 1, in), x = test_make(dtype, n, k, items, false, out);
    test_operand pivots = test_make(BP_I32, n, 1, items, false, out), info = test_make(BP_I32, 1, 1, items, false, 0);
    fill(&a, kind, hermitian);
    const bp_linalg_problem fields = {.hermitian = hermitian, .fail_on_item_error = 1};
    test_fill(&b, TEST_RANDOM, 22);
    test_call call = {.op = BP_OP_LDL_FACTOR, .fields = fields, .operand = {&a, &ld, &pivots, &info}};
    assert_int_equal(test_run(instance, &call, NULL), BP_OK);
    test_equations(&call, where);
    for (int64_t at = 0; at < items * n * n; at++) {
        const int64_t i = at / n % n, j = at % n;
        assert_true(j <= i || test_get(&ld, at / n / n, i, j) == 0);
    }
    call = (test_call){.op = BP_OP_LDL_SOLVE, .fields = fields, .operand = {&ld, &pivots, &b, &x}};
    assert_int_equal(test_run(instance, &call, NULL), BP_OK);
    test_equations(&call, where);
    test_drop(&a), test_drop(&ld), test_drop(&b), test_drop(&x), test_drop(&pivots), test_drop(&info);
}

static void check_all(void *instance, const bp_library_info *row) {
    static const test_kind kinds[] = {TEST_RANDOM, TEST_HUGE, TEST_TINY};
    for (int d = 0; d < 4; d++) {
        for (int hermitian = 0; hermitian < 2; hermitian++) {
            for (matrix_layout layout = 0; layout < MATRIX_LAYOUTS; layout++) {
                for (unsigned s = 0; s < SIZES - (layout > TEST_COLUMNS); s++) {
                    check(instance, row->id, test_dtypes[d], sizes[s], 1 + s % 3, layout, (layout + s) % MATRIX_LAYOUTS,
                          kinds[s % 3], hermitian);
                }
            }
            check(instance, row->id, test_dtypes[d], 24, 3, TEST_COLUMNS, TEST_COLUMNS, TEST_RANDOM, hermitian);
        }
    }
}

static void factors_and_solutions(void **state) {
    (void)state;
    test_each_library(check_all);
}

/* Pivots that are no row, or half of a pair: a library would access memory outside of the matrix. */
static void check_pivots(void *instance, const bp_library_info *row) {
    static const int wrong[][3] = {{1, 2, 4},   {0, 2, 3},         {1, 2, -3},
                                   {-2, -3, 3}, {-4, -4, 3},       {1, -3, -2},
                                   {-1, 2, -1}, {1, 2, INT32_MIN}, {INT32_MIN, INT32_MIN, 3}};
    static const int right[][3] = {{1, 2, 3}, {3, 3, 3}, {-2, -2, 3}, {-3, -3, 3}, {1, -3, -3}};
    (void)row;
    test_operand ld = test_make(BP_F64, 3, 3, 1, false, TEST_COLUMNS), b = test_make(BP_F64, 3, 2, 1, false, 0);
    test_operand x = test_make(BP_F64, 3, 2, 1, false, 0), pivots = test_make(BP_I32, 3, 1, 1, false, TEST_GENERAL);
    test_call call = {.op = BP_OP_LDL_SOLVE, .operand = {&ld, &pivots, &b, &x}};
    test_fill(&ld, TEST_RANDOM, 1);
    test_fill(&b, TEST_RANDOM, 2);
    enum { WRONG = sizeof wrong / sizeof *wrong, RIGHT = sizeof right / sizeof *right };
    for (int i = 0; i < WRONG + RIGHT; i++) {
        const bool refused = i < WRONG;
        for (int at = 0; at < 3; at++) {
            test_set(&pivots, 0, at, 0, refused ? wrong[i][at] : right[i - WRONG][at]);
        }
        assert_int_equal(test_run(instance, &call, NULL), refused ? BP_E_ARGUMENT : BP_OK);
        if (refused) {
            assert_non_null(strstr(bp_last_error(), "it must be a row number from 1 to 3, or the first of two equal"));
        }
    }
    test_drop(&ld), test_drop(&b), test_drop(&x), test_drop(&pivots);
}

static void wrong_pivots(void **state) {
    (void)state;
    test_each_library(check_pivots);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(factors_and_solutions),
        cmocka_unit_test(wrong_pivots),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
