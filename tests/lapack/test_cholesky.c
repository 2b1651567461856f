/* test_cholesky.c - tests cholesky, cholesky_solve and cholesky_inverse on every LAPACK library of this machine. */
#include "lapack/support_lapack.h"

#include <math.h>

static const int64_t sizes[] = {1, 2, 9, 33, 70};
enum { SIZES = sizeof sizes / sizeof sizes[0] };

static void hide_triangle(test_operand *x, bool upper) {
    for (int64_t item = 0; item < x->items; item++) {
        for (int64_t i = 0; i < x->rows; i++) {
            for (int64_t j = 0; j < i; j++) {
                test_set(x, item, upper ? i : j, upper ? j : i, NAN);
            }
        }
    }
}

/* Tests all operations. The triangle that must not be read is NaN in every input. */
static void whole_family(void *instance, const char *where, bp_dtype dtype, int64_t n, int64_t k, int64_t items,
                         matrix_layout in, matrix_layout out, bool upper) {
    test_operand a = test_make(dtype, n, n, items, false, in), l = test_make(dtype, n, n, items, false, out);
    test_operand b = test_make(dtype, n, k, items, true, in), x = test_make(dtype, n, k, items, false, out);
    test_operand inverse = test_make(dtype, n, n, items, false, out), info = test_make(BP_I32, 1, 1, items, false, 0);
    const bp_linalg_problem fields = {.upper = upper, .fail_on_item_error = 1};
    test_fill_definite(&a, 17);
    test_fill(&b, TEST_RANDOM, 18);
    hide_triangle(&a, upper);
    test_call call = {.op = BP_OP_CHOLESKY, .fields = fields, .operand = {&a, &l, &info}};
    assert_int_equal(test_run(instance, &call, NULL), BP_OK);
    test_equations(&call, where);
    for (int64_t i = 0; i < items * n * n; i++) {
        const int64_t row = i / n % n, column = i % n;
        assert_true((upper ? row <= column : row >= column) || test_get(&l, i / n / n, row, column) == 0);
    }
    hide_triangle(&l, upper);
    call = (test_call){.op = BP_OP_CHOLESKY_SOLVE, .fields = fields, .operand = {&b, &l, &x}};
    assert_int_equal(test_run(instance, &call, NULL), BP_OK);
    test_equations(&call, where);
    call = (test_call){.op = BP_OP_CHOLESKY_INVERSE, .fields = fields, .operand = {&l, &inverse, &info}};
    assert_int_equal(test_run(instance, &call, NULL), BP_OK);
    test_equations(&call, where);
    for (int64_t i = 0; i < items * n * n; i++) { /* the mirrored triangle is equal bit for bit */
        const int64_t item = i / n / n, row = i / n % n, column = i % n;
        assert_true(test_get(&inverse, item, row, column) == conjl(test_get(&inverse, item, column, row)));
    }
    test_drop(&a), test_drop(&l), test_drop(&b), test_drop(&x), test_drop(&inverse), test_drop(&info);
}

static void check_family(void *instance, const bp_library_info *row) {
    for (int d = 0; d < 4; d++) {
        for (matrix_layout layout = 0; layout < MATRIX_LAYOUTS; layout++) {
            for (int s = 0; s < SIZES; s++) {
                whole_family(instance, row->id, test_dtypes[d], sizes[s], 1 + s, 1 + s % 3, layout,
                             (layout + (unsigned)s) % MATRIX_LAYOUTS, s & 1);
                whole_family(instance, row->id, test_dtypes[d], sizes[s], 1 + s, 1, layout, layout, !(s & 1));
            }
        }
    }
}

static void test_cholesky_family(void **state) {
    (void)state;
    test_each_library(check_family);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cholesky_family),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
