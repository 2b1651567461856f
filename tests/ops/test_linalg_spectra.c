/* test_linalg_spectra.c - orthogonal factors, eigenvalues, singular values and derived operations, checked by their
 * defining equations (see linalg_results.h). */
#include "ops/linalg_results.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void qr(bp_dtype dtype, test_kind k, int64_t m, int64_t n) {
    for (int mode = BP_QR_REDUCED; mode <= BP_QR_R; mode++) {
        test_call c;
        test_start(&c, BP_OP_QR, dtype, k, m, n, -1);
        c.call.mode = (bp_linalg_mode)mode;
        test_call_outputs(&c, mode == BP_QR_R ? 4 : 6, test_next_order());
        for (int64_t item = 0; test_run_call(&c, k) && item < 2; item++) {
            dense a, q, r, h, product, square;
            dense_load(&a, test_operand(&c, 0), 2, item);
            dense_load(&r, test_operand(&c, 2), 2, item);
            assert_true(test_triangular(&r, true));
            if (mode == BP_QR_R) { /* R^H R = A^H A */
                dense_adjoint(&h, &r);
                dense_product(&product, &h, &r);
                dense_adjoint(&h, &a);
                dense_product(&square, &h, &a);
                test_same("R^H R", &product, &square, dense_norm(&a) * dense_norm(&a), dtype);
                continue;
            }
            dense_load(&q, test_operand(&c, 1), 2, item);
            test_unitary("Q", &q, dtype);
            dense_product(&product, &q, &r);
            test_same("Q R", &product, &a, dense_norm(&a), dtype);
        }
        test_call_end(&c);
    }
}

static void eigh(bp_dtype dtype, test_kind k, int64_t n, int upper) {
    test_call c, values;
    test_start(&c, BP_OP_EIGH, dtype, k, n, n, -1);
    test_make_hermitian(&c, 0, false);
    c.call.upper = upper;
    test_call_outputs(&c, 6, test_next_order());
    values = c;
    memset(values.made, 0, sizeof values.made);
    values.call.output[1] = NULL;
    test_call_outputs(&values, 2, test_next_order());
    bool both = test_run_call(&c, k) && test_run_call(&values, k);
    for (int64_t item = 0; both && item < 2; item++) {
        dense a, w, v, alone, left, right;
        dense_load(&a, test_operand(&c, 0), 2, item);
        dense_load(&w, test_operand(&c, 1), 1, item);
        dense_load(&v, test_operand(&c, 2), 2, item);
        dense_load(&alone, test_operand(&values, 1), 1, item);
        test_unitary("V", &v, dtype);
        for (int i = 1; i < n; i++) {
            assert_true(creall(w.at[i][0]) >= creall(w.at[i - 1][0]));
        }
        test_same("w without V", &alone, &w, dense_norm(&a), dtype);
        dense_product(&left, &a, &v);
        dense_diagonal(&right, &w, (int)n, (int)n);
        dense_product(&right, &v, &right);
        test_same("A V", &left, &right, dense_norm(&a), dtype);
    }
    test_call_end(&values);
    test_call_end(&c);
}

static void eig(bp_dtype dtype, test_kind k, int64_t n) {
    test_call c, values;
    test_start(&c, BP_OP_EIG, dtype, k, n, n, -1);
    test_call_outputs(&c, 6, test_next_order());
    values = c;
    memset(values.made, 0, sizeof values.made);
    values.call.output[1] = NULL;
    test_call_outputs(&values, 2, test_next_order());
    bool both = test_run_call(&c, k) && test_run_call(&values, k);
    for (int64_t item = 0; both && item < 2; item++) {
        dense a, w, v, alone, left, right, trace = {.rows = 1, .columns = 1}, sum = trace;
        dense_load(&a, test_operand(&c, 0), 2, item);
        dense_load(&w, test_operand(&c, 1), 1, item);
        dense_load(&v, test_operand(&c, 2), 2, item);
        dense_load(&alone, test_operand(&values, 1), 1, item);
        for (int j = 0; j < n; j++) {
            long double norm = 0;
            for (int i = 0; i < n; i++) {
                norm += creall(v.at[i][j]) * creall(v.at[i][j]) + cimagl(v.at[i][j]) * cimagl(v.at[i][j]);
            }
            test_at_most("a column's norm", fabsl(sqrtl(norm) - 1), 1, (int)n, dtype, 10);
            trace.at[0][0] += a.at[j][j];
            sum.at[0][0] += alone.at[j][0];
        }
        test_same("the sum of w without V", &sum, &trace, dense_norm(&a), dtype);
        dense_product(&left, &a, &v);
        dense_diagonal(&right, &w, (int)n, (int)n);
        dense_product(&right, &v, &right);
        test_same("A V", &left, &right, dense_norm(&a) * sqrtl((long double)n), dtype);
    }
    test_call_end(&values);
    test_call_end(&c);
}

static void svd(bp_dtype dtype, test_kind k, int64_t m, int64_t n, int full) {
    test_call c, values;
    test_start(&c, BP_OP_SVD, dtype, k, m, n, -1);
    c.call.mode = full ? BP_SVD_FULL : BP_SVD_REDUCED;
    test_call_outputs(&c, 14, test_next_order());
    values = c;
    memset(values.made, 0, sizeof values.made);
    values.call.output[0] = values.call.output[2] = NULL;
    test_call_outputs(&values, 4, test_next_order());
    bool both = test_run_call(&c, k) && test_run_call(&values, k);
    for (int64_t item = 0; both && item < 2; item++) {
        dense a, u, s, vh, h, alone, product;
        dense_load(&a, test_operand(&c, 0), 2, item);
        dense_load(&u, test_operand(&c, 1), 2, item);
        dense_load(&s, test_operand(&c, 2), 1, item);
        dense_load(&vh, test_operand(&c, 3), 2, item);
        dense_load(&alone, test_operand(&values, 2), 1, item);
        test_unitary("U", &u, dtype);
        dense_adjoint(&h, &vh);
        test_unitary("V", &h, dtype);
        for (int i = 0; i < s.rows; i++) {
            assert_true(creall(s.at[i][0]) >= 0 && (i == 0 || creall(s.at[i][0]) <= creall(s.at[i - 1][0])));
        }
        test_same("S without U and Vh", &alone, &s, dense_norm(&a), dtype);
        dense_diagonal(&product, &s, u.columns, vh.rows);
        dense_product(&product, &u, &product);
        dense_product(&product, &product, &vh);
        test_same("U S Vh", &product, &a, dense_norm(&a), dtype);
    }
    test_call_end(&values);
    test_call_end(&c);
}

/* The gradient A^H (A X - B) vanishes; rank and residuals have their known values. */
static void lstsq(bp_dtype dtype, test_kind k, int64_t m, int64_t n) {
    for (int driver = BP_LSTSQ_GELSY; driver <= BP_LSTSQ_GELSS; driver++) {
        test_call c;
        if (driver == BP_LSTSQ_GELS && !test_regular(k)) {
            continue;
        }
        test_start(&c, BP_OP_LSTSQ, dtype, k, m, n, 3);
        c.call.mode = (bp_linalg_mode)driver;
        unsigned mask = 4 | 8 | (driver == BP_LSTSQ_GELS ? 0 : 16) | (driver > BP_LSTSQ_GELS ? 32 : 0);
        test_call_outputs(&c, mask, test_next_order());
        for (int64_t item = 0; test_run_call(&c, k) && item < 2; item++) {
            dense a, b, x, h, product, residuals, rank = {0};
            dense_load(&a, test_operand(&c, 0), 2, item);
            dense_load(&b, test_operand(&c, 1), 2, item);
            dense_load(&x, test_operand(&c, 2), 2, item);
            dense_load(&residuals, test_operand(&c, 3), 1, item);
            dense_adjoint(&h, &a);
            dense_product(&product, &a, &x);
            for (int i = 0; i < m * 3; i++) {
                product.at[i / 3][i % 3] -= b.at[i / 3][i % 3];
            }
            bool full = test_regular(k);
            if (mask & 16) {
                dense_load(&rank, test_operand(&c, 4), 0, item);
                full = creall(rank.at[0][0]) == (m < n ? m : n);
                assert_true(!test_regular(k) || full || k == TEST_GRADED);
                assert_true(k != TEST_DEFICIENT || creall(rank.at[0][0]) == 2);
                assert_true(k != TEST_ZERO || creall(rank.at[0][0]) == 0);
            }
            for (int j = 0; j < 3; j++) {
                long double sum = 0;
                for (int i = 0; i < m; i++) {
                    sum += cabsl(product.at[i][j]) * cabsl(product.at[i][j]);
                }
                long double got = creall(residuals.at[j][0]);
                if (m > n && full) {
                    test_at_most("a residual", fabsl(got - sum), sum + dense_norm(&a) * dense_norm(&x) * dense_norm(&b),
                                 (int)m, dtype, 100);
                } else {
                    assert_true(isnan((double)got));
                }
            }
            long double size = dense_norm(&a) * (dense_norm(&a) * dense_norm(&x) + dense_norm(&b));
            dense_product(&product, &h, &product);
            test_at_most("A^H (A X - B)", dense_norm(&product), size, (int)m, dtype, 200);
        }
        test_call_end(&c);
    }
}

/* Penrose's four: A X A = A, X A X = X, A X and X A Hermitian. */
static void pinv(bp_dtype dtype, test_kind k, int64_t m, int64_t n, int hermitian) {
    test_call c, r;
    const double rtol = 1e-3;
    test_start(&c, BP_OP_PINV, dtype, k, m, n, -1);
    c.call.hermitian = hermitian;
    c.call.rtol = &rtol; /* far from every singular value of these matrices */
    if (hermitian) {
        test_make_hermitian(&c, 0, k == TEST_RANDOM);
    }
    test_call_outputs(&c, 2, test_next_order());
    r = c;
    r.call.op = BP_OP_MATRIX_RANK;
    memset(r.made, 0, sizeof r.made);
    test_call_outputs(&r, 2, test_next_order());
    for (int64_t item = 0; test_run_call(&c, k) && item < 2; item++) {
        dense a, x, ax, xa, h, product;
        dense_load(&a, test_operand(&c, 0), 2, item);
        dense_load(&x, test_operand(&c, 1), 2, item);
        long double cond = 1 + dense_norm(&a) * dense_norm(&x);
        dense_product(&ax, &a, &x);
        dense_product(&xa, &x, &a);
        dense_product(&product, &ax, &a);
        test_same("A X A", &product, &a, dense_norm(&a) * cond, dtype);
        dense_product(&product, &xa, &x);
        test_same("X A X", &product, &x, dense_norm(&x) * cond, dtype);
        dense_adjoint(&h, &ax);
        test_same("(A X)^H", &h, &ax, cond, dtype);
        dense_adjoint(&h, &xa);
        test_same("(X A)^H", &h, &xa, cond, dtype);
    }
    for (int64_t item = 0; test_run_call(&r, k) && item < 2; item++) {
        dense rank;
        dense_load(&rank, test_operand(&r, 1), 0, item);
        long double got = creall(rank.at[0][0]);
        assert_true(k != TEST_ZERO || got == 0);
        assert_true(k != TEST_RANDOM || hermitian || got == (m < n ? m : n));
        assert_true(k != TEST_DEFICIENT || hermitian || got == 2);
    }
    test_call_end(&r);
    test_call_end(&c);
}

static void norms(bp_dtype dtype, test_kind k, int64_t m, int64_t n) {
    test_call s;
    test_start(&s, BP_OP_SVD, dtype, k, m, n, -1);
    test_call_outputs(&s, 4, ROW_MAJOR);
    bool singular_values = test_run_call(&s, k);
    for (int way = 0; way < 8; way++) {
        static const double orders[] = {1, -1, INFINITY, -INFINITY, 2, -2};
        test_call c = s;
        memset(c.made, 0, sizeof c.made);
        c.call.op = BP_OP_MATRIX_NORM;
        c.call.output[1] = NULL;
        c.call.mode = way < 6 ? BP_NORM_P : way == 6 ? BP_NORM_FRO : BP_NORM_NUC;
        c.call.order = way < 6 ? orders[way] : 0;
        test_call_outputs(&c, 2, test_next_order());
        for (int64_t item = 0; (singular_values || way < 4 || way == 6) && test_run_call(&c, k) && item < 2; item++) {
            dense a, values = {0}, norm;
            dense_load(&a, test_operand(&c, 0), 2, item);
            if (singular_values) {
                dense_load(&values, test_operand(&s, 2), 1, item);
            }
            dense_load(&norm, test_operand(&c, 1), 0, item);
            bool columns = way < 2, least = way & 1;
            long double want = way == 6 ? dense_norm(&a) : way == 7 ? 0 : least ? INFINITY : 0;
            int count = columns ? a.columns : a.rows, along = columns ? a.rows : a.columns;
            for (int i = 0; i < count && way < 4; i++) {
                long double sum = 0;
                for (int j = 0; j < along; j++) {
                    sum += cabsl(columns ? a.at[j][i] : a.at[i][j]);
                }
                want = least ? fminl(want, sum) : fmaxl(want, sum);
            }
            for (int i = 0; i < values.rows && way == 7; i++) {
                want += creall(values.at[i][0]);
            }
            want = way == 4 ? creall(values.at[0][0]) : way == 5 ? creall(values.at[values.rows - 1][0]) : want;
            test_at_most("the norm", fabsl(creall(norm.at[0][0]) - want), dense_norm(&a) * (way == 7 ? 4 : 1),
                         (int)(m + n), dtype, 10);
        }
        test_call_end(&c);
    }
    test_call_end(&s);
}

static void condition(bp_dtype dtype, int64_t n) {
    test_call c, s;
    test_start(&c, BP_OP_COND, dtype, TEST_RANDOM, n, n, -1);
    test_call_outputs(&c, 2, test_next_order());
    s = c;
    memset(s.made, 0, sizeof s.made);
    s.call.op = BP_OP_SVD;
    s.call.output[0] = NULL;
    test_call_outputs(&s, 4, ROW_MAJOR);
    bool both = test_run_call(&c, TEST_RANDOM) && test_run_call(&s, TEST_RANDOM);
    for (int64_t item = 0; both && item < 2; item++) {
        dense cond, values;
        dense_load(&cond, test_operand(&c, 1), 0, item);
        dense_load(&values, test_operand(&s, 2), 1, item);
        long double want = creall(values.at[0][0]) / creall(values.at[n - 1][0]);
        test_at_most("cond", fabsl(creall(cond.at[0][0]) - want), want * want, (int)n, dtype, 10);
    }
    test_call_end(&s);
    test_call_end(&c);
}

static void all_operations(bp_dtype dtype, int64_t n) {
    int64_t more = n + 3;
    for (int i = 0; i < TEST_KINDS; i++) {
        test_kind k = (test_kind)i;
        qr(dtype, k, more, n);
        qr(dtype, k, n, more);
        eigh(dtype, k, n, i & 1);
        eig(dtype, k, n);
        svd(dtype, k, more, n, i & 1);
        svd(dtype, k, n, more, !(i & 1));
        lstsq(dtype, k, more, n);
        lstsq(dtype, k, n, more);
        norms(dtype, k, n, more);
        if (k != TEST_GRADED && k != TEST_HILBERT) { /* whose singular values cover all magnitudes */
            pinv(dtype, k, more, n, 0);
        }
        if (k == TEST_RANDOM || k == TEST_DEFECTIVE || k == TEST_CLUSTERED || k == TEST_ZERO) {
            pinv(dtype, k, n, n, 1);
        }
    }
    condition(dtype, n);
}

int main(void) {
    return test_every_library(all_operations);
}
