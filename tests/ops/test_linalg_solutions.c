/* test_linalg_solutions.c - factors, solutions, inverses and determinants, checked against the reference (see
 * linalg_results.h). */
#include "ops/linalg_results.h"
#include "reference/results.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* P is a permutation. */
static void check_permutation(test_call *c, int64_t m) {
    for (int64_t at = 0; at < 2 * m; at++) {
        long double complex across = 0, down = 0;
        for (int64_t j = 0; j < m; j++) {
            const long double complex x = test_element(c, 1, 2, at / m, at % m, j);
            assert_true(x == 0 || x == 1);
            across += x;
            down += test_element(c, 1, 2, at / m, j, at % m);
        }
        assert_true(across == 1 && down == 1);
    }
}

static void lu(bp_dtype dtype, test_kind k, int64_t m, int64_t n) {
    test_call c;
    test_start(&c, BP_OP_LU, dtype, k, m, n, -1);
    test_call_outputs(&c, 14, test_next_order());
    if (test_run_call(&c, k)) {
        check_permutation(&c, m);
        test_triangular(&c, 2, false);
        test_triangular(&c, 3, true);
    }
    test_call_end(&c);
}

/* lu_solve solves from every side. */
static void lu_factor(bp_dtype dtype, test_kind k, int64_t n) {
    test_call c, s;
    test_start(&c, BP_OP_LU_FACTOR, dtype, k, n, n, -1);
    test_call_outputs(&c, 14, test_next_order());
    const bool done = test_run_call(&c, k);
    for (int way = 0; done && test_regular(k) && way < 4; way++) {
        bool right = way & 1, adjoint = way & 2;
        test_call_start(&s, BP_OP_LU_SOLVE);
        s.call.right = right;
        s.call.adjoint = adjoint;
        s.call.input[0] = test_operand(&c, 1);
        s.call.input[1] = test_operand(&c, 2);
        test_call_input(&s, 2, dtype, right ? 3 : 2, right ? (const int64_t[]){2, 3, n} : (const int64_t[]){n, 3},
                        test_next_order());
        test_call_outputs(&s, 8, test_next_order());
        test_run_call(&s, k);
        test_call_end(&s);
    }
    test_call_end(&c);
}

static void solve(bp_dtype dtype, test_kind k, int64_t n) {
    for (int way = 0; way < 3; way++) { /* left, right, a vector */
        test_call c;
        test_start(&c, BP_OP_SOLVE, dtype, k, n, n, -1);
        const int64_t wide[] = {2, 2, n}, vector[] = {2, n}, tall[] = {n, 2};
        test_call_input(&c, 1, dtype, way == 1 ? 3 : 2, way == 0 ? tall : way == 1 ? wide : vector, test_next_order());
        c.call.right = way == 1;
        test_call_outputs(&c, 12, test_next_order());
        test_run_call(&c, k);
        test_call_end(&c);
    }
}

static void inverse(bp_dtype dtype, test_kind k, int64_t n) {
    test_call c;
    test_start(&c, BP_OP_INV, dtype, k, n, n, -1);
    test_call_outputs(&c, 6, test_next_order());
    test_run_call(&c, k);
    test_call_end(&c);
}

static void solve_triangular(bp_dtype dtype, test_kind k, int64_t n) {
    for (int way = 0; way < 8; way++) {
        test_call c;
        test_start(&c, BP_OP_SOLVE_TRIANGULAR, dtype, k, n, n, -1);
        c.call.upper = way & 1;
        c.call.right = way & 2;
        c.call.unitriangular = way & 4;
        test_call_input(&c, 1, dtype, TEST_SHAPE(2, n, n), test_next_order());
        test_call_outputs(&c, 4, test_next_order());
        test_run_call(&c, k);
        test_call_end(&c);
    }
}

static void cholesky(bp_dtype dtype, test_kind k, int64_t n, int upper) {
    test_call c, s, v;
    test_start(&c, BP_OP_CHOLESKY, dtype, k == TEST_RANDOM || k == TEST_CLUSTERED ? k : TEST_RANDOM, n, n, -1);
    test_make_hermitian(&c, 0, true);
    c.call.upper = upper;
    test_call_outputs(&c, 6, test_next_order());
    if (test_run_call(&c, k)) {
        test_triangular(&c, 1, upper);
        test_call_start(&s, BP_OP_CHOLESKY_SOLVE);
        s.call.upper = upper;
        s.call.input[1] = test_operand(&c, 1);
        test_call_input(&s, 0, dtype, TEST_SHAPE(n, 3), test_next_order());
        test_call_outputs(&s, 4, test_next_order());
        test_call_start(&v, BP_OP_CHOLESKY_INVERSE);
        v.call.upper = upper;
        v.call.input[0] = test_operand(&c, 1);
        test_call_outputs(&v, 6, test_next_order());
        test_run_call(&s, k);
        test_run_call(&v, k);
        test_call_end(&s);
        test_call_end(&v);
    }
    test_call_end(&c);
}

/* Returns the reference of the determinants of A's items, and the bound of a determinant by Hadamard. */
static void expected_of(const bp_linalg_call *of, long double complex want[2], long double size[2]) {
    bp_linalg_call call = *of;
    reference_results det, norm;
    bp_view sizes;
    const double numbers[2] = {0};
    const int64_t n = of->input[0]->shape[2];
    assert_int_equal(reference_of_matrix_values(&det, &call), BP_OK);
    assert_int_equal(bp_view_init(&sizes, (void *)(uintptr_t)numbers, BP_F64, 1, (const int64_t[]){2}, NULL), BP_OK);
    call.op = BP_OP_MATRIX_NORM;
    call.mode = BP_NORM_FRO;
    call.output[0] = &sizes.tensor;
    assert_int_equal(reference_of_matrix_values(&norm, &call), BP_OK);
    for (int i = 0; i < 2; i++) {
        const reference_value *value = &det.of[0].values.values[i];
        want[i] = CMPLXL(value->re, value->im);
        size[i] = powl(norm.of[0].values.values[i].re, (long double)n);
    }
    reference_results_free(&det);
    reference_results_free(&norm);
}

/* Determinants of nearby matrices differ by up to epsilon times the size. Regular matrices have the bound of the
 * reference, which is smaller. */
static void determinants(bp_dtype dtype, test_kind k, int64_t n) {
    test_call c, s;
    long double complex want[2];
    long double sizes[2];
    test_start(&c, BP_OP_DET, dtype, k, n, n, -1);
    test_call_outputs(&c, 2, test_next_order());
    test_call_start(&s, BP_OP_SLOGDET);
    s.call.input[0] = test_operand(&c, 0);
    test_call_outputs(&s, 6, test_next_order());
    bool numbers = test_run_call(&c, k), logs = test_run_call(&s, k);
    expected_of(&c.call, want, sizes);
    for (int64_t item = 0; !test_regular(k) && item < 2; item++) {
        const long double most = test_single(dtype) ? 1e30L : 1e290L; /* neither overflows nor underflows on the way */
        const long double size = sizes[item];
        if (numbers && size < most && size > 1 / most) {
            test_current(&c);
            test_at_most("det", cabsl(test_element(&c, 1, 0, item, 0, 0) - want[item]), size, (int)n, dtype, 10);
        }
        if (logs) {
            test_current(&s);
            const long double complex sign = test_element(&s, 1, 0, item, 0, 0);
            const long double log = creall(test_element(&s, 2, 0, item, 0, 0)), unit = size > 0 ? size : 1;
            test_at_most("slogdet", cabsl(sign * expl(log - logl(unit)) - want[item] / unit), 1, (int)n, dtype, 100);
            assert_true(k != TEST_ZERO || (sign == 0 && log == -INFINITY));
        }
    }
    test_call_end(&s);
    test_call_end(&c);
}

static void all_operations(bp_dtype dtype, int64_t n) {
    for (int i = 0; i < TEST_KINDS; i++) {
        test_kind k = (test_kind)i;
        lu(dtype, k, n, n);
        lu(dtype, k, n + 3, n);
        lu(dtype, k, n, n + 3);
        lu_factor(dtype, k, n);
        determinants(dtype, k, n);
        if (test_regular(k)) {
            solve(dtype, k, n);
            inverse(dtype, k, n);
        }
    }
    for (int upper = 0; upper < 2; upper++) {
        cholesky(dtype, TEST_RANDOM, n, upper);
        cholesky(dtype, TEST_CLUSTERED, n, upper);
    }
    solve_triangular(dtype, TEST_RANDOM, n);
}

int main(void) {
    return test_every_library(all_operations);
}
