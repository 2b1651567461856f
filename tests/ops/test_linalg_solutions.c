/* test_linalg_solutions.c - factors, solutions, inverses and determinants, checked by their defining equations (see
 * linalg_results.h). */
#include "ops/linalg_results.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void lu(bp_dtype dtype, test_kind k, int64_t m, int64_t n) {
    test_call c;
    test_start(&c, BP_OP_LU, dtype, k, m, n, -1);
    test_call_outputs(&c, 14, test_next_order());
    for (int64_t item = 0; test_run_call(&c, k) && item < 2; item++) {
        dense a, p, l, u, plu;
        dense_load(&a, test_operand(&c, 0), 2, item);
        dense_load(&p, test_operand(&c, 1), 2, item);
        dense_load(&l, test_operand(&c, 2), 2, item);
        dense_load(&u, test_operand(&c, 3), 2, item);
        test_unitary("P", &p, dtype);
        assert_true(test_triangular(&l, false) && test_triangular(&u, true));
        dense_product(&plu, &p, &l);
        dense_product(&plu, &plu, &u);
        test_same("P L U", &plu, &a, dense_norm(&a), dtype);
    }
    test_call_end(&c);
}

/* Applying the pivots backwards to L U gives A; lu_solve solves from every side. */
static void lu_factor(bp_dtype dtype, test_kind k, int64_t n) {
    test_call c, s;
    test_start(&c, BP_OP_LU_FACTOR, dtype, k, n, n, -1);
    test_call_outputs(&c, 14, test_next_order());
    bool done = test_run_call(&c, k);
    for (int64_t item = 0; done && item < 2; item++) {
        dense a, f, l, pivots, product;
        dense_load(&a, test_operand(&c, 0), 2, item);
        dense_load(&f, test_operand(&c, 1), 2, item);
        dense_load(&pivots, test_operand(&c, 2), 1, item);
        l = f;
        dense_triangle(&l, false, true);
        dense_triangle(&f, true, false);
        dense_product(&product, &l, &f);
        for (int i = (int)n - 1; i >= 0; i--) {
            int with = (int)creall(pivots.at[i][0]) - 1;
            for (int j = 0; j < n && with != i; j++) {
                long double complex held = product.at[i][j];
                product.at[i][j] = product.at[with][j];
                product.at[with][j] = held;
            }
        }
        test_same("P L U", &product, &a, dense_norm(&a), dtype);
    }
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
        for (int64_t item = 0; test_run_call(&s, k) && item < 2; item++) {
            dense a, b, x, product;
            dense_load(&a, test_operand(&c, 0), 2, item);
            dense_load(&b, test_operand(&s, 2), 2, item);
            dense_load(&x, test_operand(&s, 3), 2, item);
            if (adjoint) {
                dense_adjoint(&a, &a);
            }
            dense_product(&product, right ? &x : &a, right ? &a : &x);
            test_same("A X", &product, &b, dense_norm(&a) * dense_norm(&x) + dense_norm(&b), dtype);
        }
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
        for (int64_t item = 0; test_run_call(&c, k) && item < 2; item++) {
            dense a, b, x, product;
            dense_load(&a, test_operand(&c, 0), 2, item);
            dense_load(&b, test_operand(&c, 1), way == 2 ? 1 : 2, item);
            dense_load(&x, test_operand(&c, 2), way == 2 ? 1 : 2, item);
            dense_product(&product, way == 1 ? &x : &a, way == 1 ? &a : &x);
            test_same("A X", &product, &b, dense_norm(&a) * dense_norm(&x) + dense_norm(&b), dtype);
        }
        test_call_end(&c);
    }
}

static void inverse(bp_dtype dtype, test_kind k, int64_t n) {
    test_call c;
    test_start(&c, BP_OP_INV, dtype, k, n, n, -1);
    test_call_outputs(&c, 6, test_next_order());
    for (int64_t item = 0; test_run_call(&c, k) && item < 2; item++) {
        dense a, x, product, identity;
        dense_load(&a, test_operand(&c, 0), 2, item);
        dense_load(&x, test_operand(&c, 1), 2, item);
        dense_identity(&identity, (int)n);
        dense_product(&product, &a, &x);
        test_same("A X", &product, &identity, dense_norm(&a) * dense_norm(&x), dtype);
    }
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
        for (int64_t item = 0; test_run_call(&c, k) && item < 2; item++) {
            dense a, b, x, product;
            dense_load(&a, test_operand(&c, 0), 2, item);
            dense_triangle(&a, way & 1, way & 4);
            dense_load(&b, test_operand(&c, 1), 2, item);
            dense_load(&x, test_operand(&c, 2), 2, item);
            dense_product(&product, way & 2 ? &x : &a, way & 2 ? &a : &x);
            test_same("A X", &product, &b, dense_norm(&a) * dense_norm(&x) + dense_norm(&b), dtype);
        }
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
        test_call_start(&s, BP_OP_CHOLESKY_SOLVE);
        s.call.upper = upper;
        s.call.input[1] = test_operand(&c, 1);
        test_call_input(&s, 0, dtype, TEST_SHAPE(n, 3), test_next_order());
        test_call_outputs(&s, 4, test_next_order());
        test_call_start(&v, BP_OP_CHOLESKY_INVERSE);
        v.call.upper = upper;
        v.call.input[0] = test_operand(&c, 1);
        test_call_outputs(&v, 6, test_next_order());
        bool solved = test_run_call(&s, k), inverted = test_run_call(&v, k);
        for (int64_t item = 0; item < 2; item++) {
            dense a, l, h, product, x, b, identity;
            dense_load(&a, test_operand(&c, 0), 2, item);
            dense_load(&l, test_operand(&c, 1), 2, item);
            assert_true(test_triangular(&l, upper));
            dense_adjoint(&h, &l);
            dense_product(&product, upper ? &h : &l, upper ? &l : &h);
            test_current(&c);
            test_same("L L^H", &product, &a, dense_norm(&a), dtype);
            test_current(&s);
            if (solved) {
                dense_load(&b, test_operand(&s, 0), 2, item);
                dense_load(&x, test_operand(&s, 2), 2, item);
                dense_product(&product, &a, &x);
                test_same("A X", &product, &b, dense_norm(&a) * dense_norm(&x), dtype);
            }
            test_current(&v);
            if (inverted) {
                dense_load(&x, test_operand(&v, 1), 2, item);
                dense_product(&product, &a, &x);
                dense_identity(&identity, (int)n);
                test_same("A X", &product, &identity, dense_norm(&a) * dense_norm(&x) * dense_norm(&a), dtype);
            }
        }
        test_call_end(&s);
        test_call_end(&v);
    }
    test_call_end(&c);
}

static void determinants(bp_dtype dtype, test_kind k, int64_t n) {
    test_call c, s;
    test_start(&c, BP_OP_DET, dtype, k, n, n, -1);
    test_call_outputs(&c, 2, test_next_order());
    test_call_start(&s, BP_OP_SLOGDET);
    s.call.input[0] = test_operand(&c, 0);
    test_call_outputs(&s, 6, test_next_order());
    bool numbers = test_run_call(&c, k), logs = test_run_call(&s, k);
    for (int64_t item = 0; item < 2; item++) {
        dense a, det, sign, log;
        dense_load(&a, test_operand(&c, 0), 2, item);
        long double complex want = dense_determinant(&a);
        /* Bound for the difference of two determinants of nearby matrices. */
        long double size = powl(dense_norm(&a), (long double)n);
        long double most = test_single(dtype) ? 1e30L : 1e290L; /* neither overflows nor underflows on the way */
        if (numbers && size < most && size > 1 / most) {
            dense_load(&det, test_operand(&c, 1), 0, item);
            test_at_most("det", cabsl(det.at[0][0] - want), size, (int)n, dtype, 10);
        }
        if (logs) {
            test_current(&s);
            dense_load(&sign, test_operand(&s, 1), 0, item);
            dense_load(&log, test_operand(&s, 2), 0, item);
            long double got = expl(creall(log.at[0][0]) - logl(size > 0 ? size : 1));
            test_at_most("slogdet", cabsl(sign.at[0][0] * got - want / (size > 0 ? size : 1)), 1, (int)n, dtype, 100);
            assert_true(k != TEST_ZERO || (sign.at[0][0] == 0 && creall(log.at[0][0]) == -INFINITY));
        }
        test_current(&c);
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
