/* test_linalg_spectra.c - orthogonal factors, eigenvalues, singular values and derived operations, checked against
 * the reference (see linalg_results.h). */
#include "ops/linalg_results.h"
#include "support/linalg.h"

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
        if (test_run_call(&c, k)) {
            test_triangular(&c, 2, true);
        }
        test_call_end(&c);
    }
}

/* Starts a call of the same operation on the same A, without the outputs that are not in the mask. */
static void start_alone(test_call *made, const test_call *c, unsigned mask) {
    test_call_start(made, c->call.op);
    made->call = c->call;
    memset(made->call.output, 0, sizeof made->call.output);
    test_call_outputs(made, mask, test_next_order());
}

/* Compares the values of two calls: of operand `values`, in order. */
static void check_values(test_call *c, test_call *alone, int values, bool rising, bp_dtype dtype, int most) {
    const int64_t count = test_operand(c, values)->shape[1];
    for (int64_t at = 0; at < 2 * count; at++) {
        const int64_t item = at / count, i = at % count;
        const long double w = creall(test_element(c, values, 1, item, i, 0)),
                          before = creall(test_element(c, values, 1, item, i > 0 ? i - 1 : 0, 0));
        const long double first = fabsl(creall(test_element(c, values, 1, item, 0, 0))),
                          last = fabsl(creall(test_element(c, values, 1, item, count - 1, 0)));
        assert_true(rising ? w >= before : w >= 0 && w <= before);
        test_at_most("the values alone", fabsl(creall(test_element(alone, values, 1, item, i, 0)) - w),
                     fmaxl(first, last), most, dtype, 30);
    }
}

static void eigh(bp_dtype dtype, test_kind k, int64_t n, int upper) {
    test_call c, values;
    test_start(&c, BP_OP_EIGH, dtype, k, n, n, -1);
    test_make_hermitian(&c, 0, false);
    c.call.upper = upper;
    test_call_outputs(&c, 6, test_next_order());
    start_alone(&values, &c, 2);
    if (test_run_call(&c, k) && test_run_call(&values, k)) {
        check_values(&c, &values, 1, true, dtype, (int)n);
    }
    test_call_end(&values);
    test_call_end(&c);
}

static void eig(bp_dtype dtype, test_kind k, int64_t n) {
    test_call c, values;
    test_start(&c, BP_OP_EIG, dtype, k, n, n, -1);
    test_call_outputs(&c, 6, test_next_order());
    start_alone(&values, &c, 2);
    const bool both = test_run_call(&c, k) && test_run_call(&values, k);
    for (int64_t at = 0; both && at < 2 * n; at++) {
        long double norm = 0;
        for (int64_t i = 0; i < n; i++) {
            const long double complex x = test_element(&c, 2, 2, at / n, i, at % n);
            norm += creall(x * conjl(x));
        }
        test_current(&c);
        test_at_most("a column's norm", fabsl(sqrtl(norm) - 1), 1, (int)n, dtype, 10);
    }
    test_call_end(&values);
    test_call_end(&c);
}

static void svd(bp_dtype dtype, test_kind k, int64_t m, int64_t n, int full) {
    test_call c, values;
    test_start(&c, BP_OP_SVD, dtype, k, m, n, -1);
    c.call.mode = full ? BP_SVD_FULL : BP_SVD_REDUCED;
    test_call_outputs(&c, 14, test_next_order());
    start_alone(&values, &c, 4);
    if (test_run_call(&c, k) && test_run_call(&values, k)) {
        check_values(&c, &values, 2, false, dtype, (int)(m > n ? m : n));
    }
    test_call_end(&values);
    test_call_end(&c);
}

/* Checks column j of the residuals: the sum of squares of B - A X, or NaN if A has not full rank. */
static void check_residual(test_call *c, int64_t item, int64_t j, bool known, bp_dtype dtype) {
    const int64_t m = test_operand(c, 0)->shape[1], n = test_operand(c, 0)->shape[2];
    const long double told = creall(test_element(c, 3, 1, item, j, 0));
    long double sum = 0, of_a = 0, of_b = 0, of_x = 0;
    for (int64_t i = 0; i < m; i++) {
        long double complex b = test_element(c, 1, 2, item, i, j), rest = b;
        of_b += creall(b * conjl(b));
        for (int64_t l = 0; l < n; l++) {
            const long double complex a = test_element(c, 0, 2, item, i, l), x = test_element(c, 2, 2, item, l, j);
            rest -= a * x;
            of_a += creall(a * conjl(a));
            of_x += i == 0 ? creall(x * conjl(x)) : 0;
        }
        sum += creall(rest * conjl(rest));
    }
    if (known) {
        test_at_most("a residual", fabsl(told - sum), sum + sqrtl(of_a) * sqrtl(of_x) * sqrtl(of_b), (int)m, dtype,
                     100);
    } else {
        assert_true(isnan((double)told));
    }
}

/* Rank and residuals have their known values. */
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
        const bool done = test_run_call(&c, k);
        for (int64_t item = 0; done && item < 2; item++) {
            bool full = test_regular(k);
            if (mask & 16) {
                const long double rank = creall(test_element(&c, 4, 0, item, 0, 0));
                full = rank == (m < n ? m : n);
                assert_true(!test_regular(k) || full || k == TEST_GRADED);
                assert_true(k != TEST_DEFICIENT || rank == 2);
                assert_true(k != TEST_ZERO || rank == 0);
            }
            for (int j = 0; j < 3; j++) {
                check_residual(&c, item, j, m > n && full, dtype);
            }
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
    if (test_run_call(&c, k)) {
        bp_linalg_call whole = c.call;
        whole.rtol = NULL; /* A X A = A too, because the values below are rounding errors */
        test_check_equations(&whole, 1, "pinv with a tolerance");
    }
    const bool counted = test_run_call(&r, k);
    for (int64_t item = 0; counted && item < 2; item++) {
        const long double got = creall(test_element(&r, 1, 0, item, 0, 0));
        assert_true(k != TEST_ZERO || got == 0);
        assert_true(k != TEST_RANDOM || hermitian || got == (m < n ? m : n));
        assert_true(k != TEST_DEFICIENT || hermitian || got == 2);
    }
    test_call_end(&r);
    test_call_end(&c);
}

static void norms(bp_dtype dtype, test_kind k, int64_t m, int64_t n) {
    static const double orders[] = {1, -1, INFINITY, -INFINITY, 2, -2};
    for (int way = 0; way < 8; way++) {
        test_call c;
        test_start(&c, BP_OP_MATRIX_NORM, dtype, k, m, n, -1);
        c.call.mode = way < 6 ? BP_NORM_P : way == 6 ? BP_NORM_FRO : BP_NORM_NUC;
        c.call.order = way < 6 ? orders[way] : 0;
        test_call_outputs(&c, 2, test_next_order());
        test_run_call(&c, k);
        test_call_end(&c);
    }
}

static void condition(bp_dtype dtype, int64_t n) {
    test_call c;
    test_start(&c, BP_OP_COND, dtype, TEST_RANDOM, n, n, -1);
    test_call_outputs(&c, 2, test_next_order());
    test_run_call(&c, TEST_RANDOM);
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
