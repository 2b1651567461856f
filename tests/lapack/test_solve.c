/* test_solve.c - tests inv, solve, solve_triangular, lu_solve, det and slogdet on every LAPACK library of this machine.
 */
#include "lapack/support_lapack.h"

#include <math.h>

static const int64_t sizes[] = {1, 2, 7, 33, 70};
enum { SIZES = sizeof sizes / sizeof sizes[0] };

/* Makes an operand of k columns for A x = B, or of k rows for x A = B. */
static test_operand side(bp_dtype dtype, int64_t n, int64_t k, bool left, int64_t items, bool shared,
                         matrix_layout layout) {
    return left ? test_make(dtype, n, k, items, shared, layout) : test_make(dtype, k, n, items, shared, layout);
}

/* ---- solve and lu_solve ---- */

typedef struct system {
    bp_dtype dtype;
    int64_t n, k, items;
    matrix_layout layout;
    bool left, share_a, share_b;
} system_of;

static void check_info(const test_operand *info) {
    for (int64_t item = 0; item < info->items; item++) {
        assert_true(test_get(info, item, 0, 0) == 0);
    }
}

static void solve(void *instance, const char *where, system_of s, test_kind kind) {
    test_operand a = test_make(s.dtype, s.n, s.n, s.items, s.share_a, s.layout);
    test_operand b = side(s.dtype, s.n, s.k, s.left, s.items, s.share_b, s.layout);
    test_operand x = side(s.dtype, s.n, s.k, s.left, s.items, false, s.layout);
    test_operand lu = test_make(s.dtype, s.n, s.n, s.items, false, s.layout);
    test_operand pivots = test_make(BP_I32, s.n, 1, s.items, false, s.layout),
                 info = test_make(BP_I32, 1, 1, s.items, false, 0);
    test_fill(&a, kind, 3);
    test_fill(&b, kind == TEST_HUGE || kind == TEST_TINY ? kind : TEST_RANDOM, 4);
    test_call call = {
        .op = BP_OP_SOLVE, .fields.a_on_left = s.left, .fields.fail_on_item_error = 1, .operand = {&a, &b, &x, &info}};
    assert_int_equal(test_run(instance, &call, NULL), BP_OK);
    check_info(&info);
    test_equations(&call, where);
    call = (test_call){.op = BP_OP_LU_FACTOR, .operand = {&a, &lu, &pivots, &info}};
    assert_int_equal(test_run(instance, &call, NULL), BP_OK);
    for (int adjoint = 0; adjoint < 2; adjoint++) {
        call = (test_call){.op = BP_OP_LU_SOLVE,
                           .fields = {.a_on_left = s.left, .adjoint = (uint8_t)adjoint},
                           .operand = {&lu, &pivots, &b, &x}};
        assert_int_equal(test_run(instance, &call, NULL), BP_OK);
        test_equations(&call, where);
    }
    test_drop(&a), test_drop(&b), test_drop(&x), test_drop(&lu), test_drop(&pivots), test_drop(&info);
}

static void check_systems(void *instance, const bp_library_info *row) {
    for (int d = 0; d < 4; d++) {
        for (matrix_layout layout = 0; layout < MATRIX_LAYOUTS; layout++) {
            for (int left = 0; left < 2; left++) {
                for (int s = 0; s < SIZES; s++) {
                    solve(instance, row->id,
                          (system_of){test_dtypes[d], sizes[s], 1 + s * 3 % 7, 1, layout, left, false, false},
                          TEST_RANDOM);
                }
                solve(instance, row->id, (system_of){test_dtypes[d], 12, 3, 3, layout, left, true, false}, TEST_RANDOM);
                solve(instance, row->id, (system_of){test_dtypes[d], 12, 3, 3, layout, left, false, true}, TEST_RANDOM);
            }
        }
        static const test_kind kinds[] = {TEST_GRADED, TEST_KAHAN, TEST_WILKINSON, TEST_HUGE, TEST_TINY};
        for (size_t kind = 0; kind < sizeof kinds / sizeof kinds[0]; kind++) {
            int64_t n = kinds[kind] == TEST_WILKINSON ? 12 : 20; /* its error grows as 2^n, which is correct */
            solve(
                instance, row->id,
                (system_of){test_dtypes[d], kinds[kind] == TEST_WILKINSON ? 5 : n, 2, 1, TEST_ROWS, true, false, false},
                kinds[kind]);
        }
    }
}

static void test_systems(void **state) {
    (void)state;
    test_each_library(check_systems);
}

/* ---- inv ---- */

static void invert(void *instance, const char *where, bp_dtype dtype, int64_t n, int64_t items, matrix_layout in,
                   matrix_layout out) {
    test_operand a = test_make(dtype, n, n, items, false, in), inverse = test_make(dtype, n, n, items, false, out);
    test_operand info = test_make(BP_I32, 1, 1, items, false, 0);
    test_fill(&a, TEST_RANDOM, 8);
    test_call call = {.op = BP_OP_INV, .operand = {&a, &inverse, &info}};
    assert_int_equal(test_run(instance, &call, NULL), BP_OK);
    check_info(&info);
    test_equations(&call, where);
    test_drop(&a), test_drop(&inverse), test_drop(&info);
}

static void check_inverses(void *instance, const bp_library_info *row) {
    for (int d = 0; d < 4; d++) {
        for (matrix_layout layout = 0; layout < MATRIX_LAYOUTS; layout++) {
            for (int s = 0; s < SIZES; s++) {
                invert(instance, row->id, test_dtypes[d], sizes[s], s == 2 ? 3 : 1, layout,
                       (layout + (unsigned)(s & 1)) % MATRIX_LAYOUTS);
            }
        }
    }
}

static void test_inverses(void **state) {
    (void)state;
    test_each_library(check_inverses);
}

/* ---- solve_triangular ---- */

/* Makes a triangle; elements that must not be read are NaN. */
static void make_triangle(test_operand *a, int64_t n, bool upper, bool unit) {
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < n; j++) {
            const bool reads = i == j ? !unit : upper ? j > i : j < i;
            const number x = test_get(a, 0, i, j);
            /* Small elements keep the solution of a unit triangle small. */
            test_set(a, 0, i, j, !reads ? (number)NAN : i == j ? x + 4 : x / 4);
        }
    }
}

static void solve_triangle(void *instance, const char *where, bp_dtype dtype, int64_t n, int64_t k, matrix_layout la,
                           matrix_layout lx, int variant) {
    bool upper = variant & 1, left = variant & 2, unit = variant & 4;
    test_operand a = test_make(dtype, n, n, 1, false, la), b = side(dtype, n, k, left, 1, false, la);
    test_operand x = side(dtype, n, k, left, 1, false, lx);
    test_fill(&a, TEST_RANDOM, 21);
    test_fill(&b, TEST_RANDOM, 22);
    make_triangle(&a, n, upper, unit);
    test_call call = {.op = BP_OP_SOLVE_TRIANGULAR,
                      .fields = {.upper = upper, .a_on_left = left, .unit_diagonal = unit, .fail_on_item_error = 1},
                      .operand = {&a, &b, &x}};
    assert_int_equal(test_run(instance, &call, NULL), BP_OK);
    test_equations(&call, where);
    test_drop(&a), test_drop(&b), test_drop(&x);
}

static void check_triangles(void *instance, const bp_library_info *row) {
    for (int d = 0; d < 4; d++) {
        for (matrix_layout layout = 0; layout < MATRIX_LAYOUTS; layout++) {
            for (int variant = 0; variant < 8; variant++) {
                for (int s = 0; s < SIZES - 1; s++) {
                    solve_triangle(instance, row->id, test_dtypes[d], sizes[s], 1 + s * 2, layout,
                                   (layout + (unsigned)s) % MATRIX_LAYOUTS, variant);
                }
            }
        }
    }
}

static void test_triangles(void **state) {
    (void)state;
    test_each_library(check_triangles);
}

/* ---- det and slogdet ---- */

static void determinant(void *instance, const char *where, bp_dtype dtype, int64_t n, int64_t items,
                        matrix_layout layout) {
    test_operand a = test_make(dtype, n, n, items, false, layout), det = test_make(dtype, 1, 1, items, false, 0);
    test_operand sign = test_make(dtype, 1, 1, items, false, 0),
                 log_of = test_make(test_real_of(dtype), 1, 1, items, false, 0);
    test_fill(&a, TEST_RANDOM, 31);
    for (int64_t item = 0; item < items; item++) {
        for (int64_t i = 0; i < n;
             i++) { /* well-conditioned, so that all digits are significant, with rows to exchange */
            int64_t j = (i + item + 1) % n;
            test_set(&a, item, i, j, test_get(&a, item, i, j) + (i % 2 ? 2 : -2) * sqrtl((long double)n));
        }
    }
    const test_call calls[] = {{.op = BP_OP_DET, .operand = {&a, &det}},
                               {.op = BP_OP_SLOGDET, .operand = {&a, &sign, &log_of}}};
    for (int i = 0; i < 2; i++) {
        reference_results made;
        test_linalg of;
        assert_int_equal(test_run(instance, &calls[i], NULL), BP_OK);
        test_values(&made, &of, &calls[i], (i == 0 ? 480 : 120) * (double)n); /* of well-conditioned matrices */
        test_check_results(&made, where);
    }
    test_drop(&a), test_drop(&det), test_drop(&sign), test_drop(&log_of);
}

static void check_determinants(void *instance, const bp_library_info *row) {
    for (int d = 0; d < 4; d++) {
        for (int s = 0; s < SIZES; s++) {
            determinant(instance, row->id, test_dtypes[d], sizes[s], 1 + s % 3, (matrix_layout)s % MATRIX_LAYOUTS);
        }
    }
    /* intermediate products leave the range of double, the result does not */
    test_operand a = test_make(BP_F64, 4, 4, 1, false, TEST_ROWS), det = test_make(BP_F64, 1, 1, 1, false, 0);
    const double diagonal[] = {1e200, 1e200, 1e-200, 1e-190};
    for (int64_t i = 0; i < 16; i++) {
        test_set(&a, 0, i / 4, i % 4, i % 5 ? 0 : diagonal[i / 5]);
    }
    assert_int_equal(test_run(instance, &(test_call){.op = BP_OP_DET, .operand = {&a, &det}}, NULL), BP_OK);
    test_within(fabsl(creall(test_get(&det, 0, 0, 0)) / 1e10L - 1), 1e-14L, "%s: det", row->id);
    test_drop(&a), test_drop(&det);
}

static void test_determinants(void **state) {
    (void)state;
    test_each_library(check_determinants);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_systems),
        cmocka_unit_test(test_inverses),
        cmocka_unit_test(test_triangles),
        cmocka_unit_test(test_determinants),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
