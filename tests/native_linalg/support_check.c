/* support_check.c - checks outputs by the equations that they must satisfy (support/linalg.h), and what these do not
 * say: exact zeros and ones, order, pivots, info. */
#include "linalg.h"

#include "support/linalg.h"
#include "support/results.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* The errors of small matrices are well below the bound of the reference: units of rounding, relative to the norms. */
static double tolerance(const operands *o) {
    return (is_complex(o->t.dtype) ? 16 : 4) * (double)(o->t.n + o->t.m + 4);
}

/* ---- Inputs ---- */

static void shape_definite(const operands *o, int64_t item, bool poison) {
    const int64_t n = o->t.n;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < i; j++) {
            const wide x = get(o, 0, item, i, j);
            put(o, 0, item, o->t.upper ? j : i, o->t.upper ? i : j, o->t.upper ? conjl(x) : x);
            wide other = poison ? (wide)NAN : o->t.upper ? x : conjl(x);
            put(o, 0, item, o->t.upper ? i : j, o->t.upper ? j : i, other);
        }
        /* The imaginary part is set directly, because a product with I would make both parts NaN. */
        wide diagonal = 2 * n;
        ((long double *)&diagonal)[1] = poison ? (long double)NAN : 0;
        put(o, 0, item, i, i, diagonal);
    }
}

static void shape_hermitian(const operands *o, int64_t item, bool poison) {
    for (int64_t i = 0; i < o->t.n && poison; i++) {
        wide diagonal = creall(get(o, 0, item, i, i));
        ((long double *)&diagonal)[1] = (long double)NAN;
        put(o, 0, item, i, i, diagonal);
        for (int64_t j = 0; j < i; j++) {
            put(o, 0, item, o->t.upper ? i : j, o->t.upper ? j : i, (wide)NAN);
        }
    }
}

static void shape_triangle(const operands *o, int operand, int64_t item, bool poison) {
    for (int64_t i = 0; i < o->t.n; i++) {
        for (int64_t j = 0; j < o->t.n; j++) {
            const bool unread = (o->t.upper ? i > j : i < j) || (i == j && o->t.unit);
            if (unread && poison) {
                put(o, operand, item, i, j, (wide)NAN);
            } else if (i == j) {
                put(o, operand, item, i, j, get(o, operand, item, i, j) + 2);
            }
        }
    }
}

/* Factors with small elements below the diagonal, and any pivots: solutions stay small. */
static void shape_factored(const operands *o, int64_t item) {
    const int64_t n = o->t.n;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j <= i; j++) {
            const wide x = get(o, 0, item, i, j);
            put(o, 0, item, i, j, i == j ? x + 2 : x / 4);
        }
        put(o, 1, item, i, 0, i + 1 + (7 * i + item) % (n - i));
    }
}

void shape_inputs(operands *o, bool poison) {
    const int64_t n = o->t.n, items = o->t.in == SHARED ? o->t.batch > 0 : o->t.batch;
    for (int64_t item = 0; item < items; item++) {
        switch (o->t.op) {
        case BP_OP_CHOLESKY:
            shape_definite(o, item, poison);
            break;
        case BP_OP_CHOLESKY_SOLVE:
        case BP_OP_CHOLESKY_INVERSE:
        case BP_OP_SOLVE_TRIANGULAR:
            shape_triangle(o, o->t.op == BP_OP_CHOLESKY_SOLVE, item, poison);
            break;
        case BP_OP_LU_SOLVE:
            shape_factored(o, item);
            break;
        case BP_OP_EIGH:
            shape_hermitian(o, item, poison);
            break;
        case BP_OP_DET:
        case BP_OP_SLOGDET:
            /* The matrices are well conditioned and need row exchanges. */
            for (int64_t i = 0; i < n; i++) {
                const int64_t j = (i + item) % n;
                put(o, 0, item, i, j, get(o, 0, item, i, j) + 2 * n);
            }
            break;
        default:
            break;
        }
    }
}

/* ---- Outputs ---- */

static bool has_info(const task *t) {
    return !t->no_info && (t->op == BP_OP_INV || t->op == BP_OP_CHOLESKY || t->op == BP_OP_CHOLESKY_INVERSE ||
                           t->op == BP_OP_LU_FACTOR || t->op == BP_OP_SOLVE);
}

static long double one_norm(wide x) {
    return fabsl(creall(x)) + fabsl(cimagl(x));
}

/* Each pivot is the largest candidate: no element of L, times the pivot, is larger. L and U may be in one operand. */
static void check_multipliers(const operands *o, int lower, int upper, int64_t item) {
    const int64_t m = o->t.m, k = m < o->t.n ? m : o->t.n;
    for (int64_t s = 0; s < k; s++) {
        const wide pivot = get(o, upper, item, s, s);
        for (int64_t i = s + 1; i < m; i++) {
            const long double candidate = one_norm(get(o, lower, item, i, s) * pivot);
            assert_true(candidate <= one_norm(pivot) * (1 + 8 * unit_roundoff(o->t.dtype)));
        }
    }
}

static void check_lu_factor(const operands *o, int64_t item) {
    const int64_t m = o->t.m, k = m < o->t.n ? m : o->t.n;
    for (int64_t s = 0; s < k; s++) {
        assert_in_range((int)creall(get(o, 2, item, s, 0)), s + 1, m);
    }
    check_multipliers(o, 1, 1, item);
}

static void check_lu(const operands *o, int64_t item) {
    const int64_t m = o->t.m, n = o->t.n, k = m < n ? m : n;
    for (int64_t i = 0; i < m; i++) {
        long double across = 0, down = 0;
        for (int64_t j = 0; j < m; j++) {
            const wide x = get(o, 1, item, i, j);
            assert_true(x == 0 || x == 1);
            across += creall(x);
            down += creall(get(o, 1, item, j, i));
        }
        assert_true(across == 1 && down == 1);
        for (int64_t j = i; j < k; j++) {
            assert_true(get(o, 2, item, i, j) == (i == j));
        }
        for (int64_t j = 0; j < n && j < i && i < k; j++) {
            assert_true(get(o, 3, item, i, j) == 0);
        }
    }
    check_multipliers(o, 2, 3, item);
}

static void check_cholesky(const operands *o, int64_t item) {
    for (int64_t i = 0; i < o->t.n; i++) {
        for (int64_t j = 0; j < i; j++) {
            assert_true(get(o, 1, item, o->t.upper ? i : j, o->t.upper ? j : i) == 0);
        }
        assert_true(cimagl(get(o, 1, item, i, i)) == 0);
    }
}

static void check_hermitian(const operands *o, int64_t item) {
    for (int64_t i = 0; i < o->t.n; i++) {
        for (int64_t j = 0; j <= i; j++) {
            assert_true(get(o, 1, item, i, j) == conjl(get(o, 1, item, j, i)));
        }
    }
}

/* Eigenvalues ascend, and singular values descend to 0. */
static void check_order(const operands *o, int operand, int64_t item) {
    const bool falls = o->t.op == BP_OP_SVD;
    for (int64_t i = 0; i < o->problem.of.linalg.operand[operand].rows; i++) {
        const long double value = creall(get(o, operand, item, i, 0)),
                          before = creall(get(o, operand, item, i > 0 ? i - 1 : 0, 0));
        assert_true(falls ? value >= 0 && value <= before : value >= before);
    }
}

static void check_item(const operands *o, int64_t item) {
    if (has_info(&o->t)) {
        assert_int_equal((int)creall(get(o, o->count - 1, item, 0, 0)), 0);
    }
    switch (o->t.op) {
    case BP_OP_EIGH:
        check_order(o, 1, item);
        break;
    case BP_OP_SVD:
        check_order(o, 2, item);
        break;
    case BP_OP_LU_FACTOR:
        check_lu_factor(o, item);
        break;
    case BP_OP_LU:
        check_lu(o, item);
        break;
    case BP_OP_CHOLESKY:
        check_cholesky(o, item);
        break;
    case BP_OP_CHOLESKY_INVERSE:
        check_hermitian(o, item);
        break;
    default:
        break;
    }
}

void check_results(const operands *o) {
    test_linalg of;
    char text[128];
    snprintf(text, sizeof text, "%s %s, %dx%d, %d columns, set %d, seed %u", bp_op_name(o->t.op),
             bp_dtype_name(o->t.dtype), (int)o->t.m, (int)o->t.n, (int)o->t.k, o->t.set, o->t.seed);
    test_linalg_make(&of, &o->problem, o->first);
    for (int64_t item = 0; item < o->t.batch; item++) {
        check_item(o, item);
    }
    if (o->t.op == BP_OP_DET || o->t.op == BP_OP_SLOGDET) {
        reference_results made;
        test_linalg_values(&made, &of.call, 8 * tolerance(o));
        test_check_results(&made, text);
        return;
    }
    const double bound = reference_linalg_bound(&of.call) / (double)unit_roundoff(o->t.dtype);
    test_check_equations(&of.call, fmin(1, tolerance(o) / bound), text);
}

void check_task(const task *t) {
    operands o;
    make_operands(&o, t);
    shape_inputs(&o, true);
    assert_int_equal(run_task(&o), BP_OK);
    check_surroundings(&o);
    check_results(&o);
    free_operands(&o);
}
