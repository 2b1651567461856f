/* support_check.c - checks outputs in long double against what they must satisfy: residuals within the bounds of
 * backward stable algorithms, exact zeros and ones, and pivots. */
#include "linalg.h"

#include <math.h>
#include <stdlib.h>

typedef struct dense {
    int64_t rows, columns;
    wide *at; /* row by row */
} dense;

static dense make(int64_t rows, int64_t columns) {
    dense d = {rows, columns, calloc((size_t)(rows * columns + 1), sizeof(wide))};
    assert_non_null(d.at);
    return d;
}

static wide *value_at(dense d, int64_t i, int64_t j) {
    return d.at + i * d.columns + j;
}

static dense read_operand(const operands *o, int operand, int64_t item) {
    const bp_linalg_operand *x = &o->problem.of.linalg.operand[operand];
    dense d = make(x->rows, x->columns);
    for (int64_t i = 0; i < d.rows; i++) {
        for (int64_t j = 0; j < d.columns; j++) {
            *value_at(d, i, j) = get(o, operand, item, i, j);
        }
    }
    return d;
}

/* Returns the transpose and/or conjugate of d; frees d. */
static dense transposed(dense d, bool transpose, bool conjugate) {
    dense r = transpose ? make(d.columns, d.rows) : make(d.rows, d.columns);
    for (int64_t i = 0; i < d.rows; i++) {
        for (int64_t j = 0; j < d.columns; j++) {
            const wide x = conjugate ? conjl(*value_at(d, i, j)) : *value_at(d, i, j);
            *(transpose ? value_at(r, j, i) : value_at(r, i, j)) = x;
        }
    }
    free(d.at);
    return r;
}

static dense product(dense a, dense b) {
    dense c = make(a.rows, b.columns);
    for (int64_t i = 0; i < a.rows; i++) {
        for (int64_t j = 0; j < b.columns; j++) {
            for (int64_t l = 0; l < a.columns; l++) {
                *value_at(c, i, j) += *value_at(a, i, l) * *value_at(b, l, j);
            }
        }
    }
    return c;
}

/* Returns the triangle of d, with ones on the diagonal if `unit`; changes d. */
static dense triangle_of(dense d, bool upper, bool unit) {
    for (int64_t i = 0; i < d.rows; i++) {
        for (int64_t j = 0; j < d.columns; j++) {
            if (upper ? i > j : i < j) {
                *value_at(d, i, j) = 0;
            } else if (i == j && unit) {
                *value_at(d, i, j) = 1;
            }
        }
    }
    return d;
}

static dense leading(dense d, int64_t rows, int64_t columns) {
    dense r = make(rows, columns);
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < columns; j++) {
            *value_at(r, i, j) = *value_at(d, i, j);
        }
    }
    return r;
}

static long double norm(dense d) {
    long double most = 0;
    for (int64_t i = 0; i < d.rows; i++) {
        long double sum = 0;
        for (int64_t j = 0; j < d.columns; j++) {
            sum += cabsl(*value_at(d, i, j));
        }
        most = sum > most ? sum : most;
    }
    return most;
}

static long double tolerance(const operands *o) {
    return (is_complex(o->t.dtype) ? 16 : 4) * (long double)(o->t.n + o->t.m + 4) * unit_roundoff(o->t.dtype);
}

/* Checks |a - b| <= bound for each element; frees both. */
static void check_close(dense a, dense b, long double bound) {
    assert_int_equal(a.rows, b.rows);
    assert_int_equal(a.columns, b.columns);
    for (int64_t i = 0; i < a.rows * a.columns; i++) {
        const long double error = cabsl(a.at[i] - b.at[i]);
        if (!(error <= bound)) {
            fail_msg("element %lld: %Lg%+Lgi, wanted %Lg%+Lgi, bound %Lg", (long long)i, creall(a.at[i]),
                     cimagl(a.at[i]), creall(b.at[i]), cimagl(b.at[i]), bound);
        }
    }
    free(a.at);
    free(b.at);
}

int reference_lu(wide *a, int64_t m, int64_t n, int *pivots) {
    int info = 0;
    for (int64_t s = 0; s < m && s < n; s++) {
        int64_t best = s;
        for (int64_t i = s + 1; i < m; i++) {
            const wide x = a[i * n + s], y = a[best * n + s];
            const long double size = fabsl(creall(x)) + fabsl(cimagl(x)), most = fabsl(creall(y)) + fabsl(cimagl(y));
            best = size > most ? i : best;
        }
        pivots[s] = (int)best + 1;
        for (int64_t j = 0; j < n; j++) {
            const wide x = a[s * n + j];
            a[s * n + j] = a[best * n + j];
            a[best * n + j] = x;
        }
        if (a[s * n + s] == 0) {
            info = info ? info : (int)s + 1;
            continue;
        }
        for (int64_t i = s + 1; i < m; i++) {
            a[i * n + s] /= a[s * n + s];
            for (int64_t j = s + 1; j < n; j++) {
                a[i * n + j] -= a[i * n + s] * a[s * n + j];
            }
        }
    }
    return info;
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

static void shape_factored(const operands *o, int64_t item) {
    const int64_t n = o->t.n;
    dense a = read_operand(o, 0, item);
    int pivots[64];
    reference_lu(a.at, n, n, pivots);
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < n; j++) {
            put(o, 0, item, i, j, *value_at(a, i, j));
        }
        put(o, 1, item, i, 0, pivots[i]);
    }
    free(a.at);
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

/* Checks m x = b; frees all three. */
static void check_solution(const operands *o, dense m, dense x, dense b) {
    const long double bound = tolerance(o) * (norm(m) * norm(x) + norm(b));
    dense mx = product(m, x);
    free(m.at);
    free(x.at);
    check_close(mx, b, bound);
}

/* Returns a right side as an n x k matrix. */
static dense right_side(const operands *o, int operand, int64_t item) {
    return transposed(read_operand(o, operand, item), o->t.right && !o->t.vector, false);
}

static dense identity(int64_t n) {
    dense d = make(n, n);
    for (int64_t i = 0; i < n; i++) {
        *value_at(d, i, i) = 1;
    }
    return d;
}

/* Returns P L U from pivots and factors in one matrix, which it frees. */
static dense multiplied(dense lu, const int *pivots) {
    const int64_t k = lu.rows < lu.columns ? lu.rows : lu.columns;
    dense l = triangle_of(leading(lu, lu.rows, k), false, true),
          u = triangle_of(leading(lu, k, lu.columns), true, false);
    dense a = product(l, u);
    for (int64_t s = k - 1; s >= 0; s--) {
        for (int64_t j = 0; j < a.columns; j++) {
            const wide x = *value_at(a, s, j);
            *value_at(a, s, j) = *value_at(a, pivots[s] - 1, j);
            *value_at(a, pivots[s] - 1, j) = x;
        }
    }
    free(l.at);
    free(u.at);
    free(lu.at);
    return a;
}

static void check_info(const operands *o, int operand, int64_t item) {
    if (!o->t.no_info) {
        assert_int_equal((int)creall(get(o, operand, item, 0, 0)), 0);
    }
}

static void check_lu_factor(const operands *o, int64_t item) {
    const int64_t m = o->t.m, n = o->t.n, k = m < n ? m : n;
    dense a = read_operand(o, 0, item), copy = leading(a, m, n);
    int expected[64], pivots[64];
    reference_lu(copy.at, m, n, expected);
    for (int64_t s = 0; s < k; s++) {
        pivots[s] = (int)creall(get(o, 2, item, s, 0));
        assert_in_range(pivots[s], s + 1, m);
        /* In single precision two candidates may be too close to distinguish. */
        if (real_of(o->t.dtype) == BP_F64) {
            assert_int_equal(pivots[s], expected[s]);
        }
    }
    free(copy.at);
    const long double bound = tolerance(o) * norm(a);
    check_close(multiplied(read_operand(o, 1, item), pivots), a, bound);
    check_info(o, 3, item);
}

static void check_lu(const operands *o, int64_t item) {
    const int64_t m = o->t.m;
    dense p = read_operand(o, 1, item), l = read_operand(o, 2, item), u = read_operand(o, 3, item);
    for (int64_t i = 0; i < m; i++) {
        long double across = 0, down = 0;
        for (int64_t j = 0; j < m; j++) {
            assert_true(*value_at(p, i, j) == 0 || *value_at(p, i, j) == 1);
            across += creall(*value_at(p, i, j));
            down += creall(*value_at(p, j, i));
        }
        assert_true(across == 1 && down == 1);
    }
    for (int64_t i = 0; i < l.rows; i++) {
        for (int64_t j = i; j < l.columns; j++) {
            assert_true(*value_at(l, i, j) == (i == j));
        }
    }
    for (int64_t i = 0; i < u.rows; i++) {
        for (int64_t j = 0; j < i && j < u.columns; j++) {
            assert_true(*value_at(u, i, j) == 0);
        }
    }
    dense pl = product(p, l), a = read_operand(o, 0, item);
    const long double bound = tolerance(o) * norm(a);
    check_close(product(pl, u), a, bound);
    free(p.at), free(l.at), free(u.at), free(pl.at);
}

static void check_cholesky(const operands *o, int64_t item) {
    const int64_t n = o->t.n;
    dense l = read_operand(o, 1, item), a = read_operand(o, 0, item);
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < i; j++) {
            assert_true(*value_at(l, o->t.upper ? i : j, o->t.upper ? j : i) == 0);
            const wide x = *value_at(a, o->t.upper ? j : i, o->t.upper ? i : j);
            *value_at(a, i, j) = o->t.upper ? conjl(x) : x;
            *value_at(a, j, i) = conjl(*value_at(a, i, j));
        }
        assert_true(cimagl(*value_at(l, i, i)) == 0);
        *value_at(a, i, i) = creall(*value_at(a, i, i));
    }
    dense left = transposed(leading(l, n, n), o->t.upper, o->t.upper),
          right = transposed(leading(l, n, n), !o->t.upper, !o->t.upper);
    const long double bound = tolerance(o) * norm(a);
    check_close(product(left, right), a, bound);
    free(left.at), free(right.at), free(l.at);
    check_info(o, 2, item);
}

/* Returns L L^H for a triangle in an operand. */
static dense hermitian(const operands *o, int operand, int64_t item) {
    dense l = transposed(triangle_of(read_operand(o, operand, item), o->t.upper, false), o->t.upper, o->t.upper);
    dense r = transposed(leading(l, l.rows, l.columns), true, true), a = product(l, r);
    free(l.at), free(r.at);
    return a;
}

static void check_cholesky_inverse(const operands *o, int64_t item) {
    dense x = read_operand(o, 1, item);
    for (int64_t i = 0; i < x.rows; i++) {
        for (int64_t j = 0; j <= i; j++) {
            assert_true(*value_at(x, i, j) == conjl(*value_at(x, j, i)));
        }
    }
    check_solution(o, hermitian(o, 0, item), x, identity(o->t.n));
    check_info(o, 2, item);
}

static void check_lu_solve(const operands *o, int64_t item) {
    int pivots[64];
    for (int64_t i = 0; i < o->t.n; i++) {
        pivots[i] = (int)creall(get(o, 1, item, i, 0));
    }
    dense a = multiplied(read_operand(o, 0, item), pivots);
    a = transposed(a, o->t.adjoint != o->t.right, o->t.adjoint);
    check_solution(o, a, right_side(o, 3, item), right_side(o, 2, item));
}

static void check_det(const operands *o, int64_t item) {
    const int64_t n = o->t.n;
    dense a = read_operand(o, 0, item);
    int pivots[64];
    reference_lu(a.at, n, n, pivots);
    wide sign = 1;
    long double logarithm = 0;
    for (int64_t i = 0; i < n; i++) {
        const wide d = *value_at(a, i, i);
        sign *= d / cabsl(d) * (pivots[i] != i + 1 ? -1 : 1);
        logarithm += logl(cabsl(d));
    }
    free(a.at);
    const long double bound = 8 * tolerance(o);
    if (o->t.op == BP_OP_DET) {
        const wide expected = sign * expl(logarithm);
        /* Some of the determinants exceed the range of single precision. */
        if (real_of(o->t.dtype) == BP_F64 || cabsl(expected) < 1e37L) {
            assert_true(cabsl(get(o, 1, item, 0, 0) - expected) <= bound * cabsl(expected));
        }
        return;
    }
    assert_true(cabsl(get(o, 1, item, 0, 0) - sign) <= bound);
    assert_true(fabsl(creall(get(o, 2, item, 0, 0)) - logarithm) <= bound * (1 + fabsl(logarithm)));
}

/* Checks that the columns of q are orthonormal; frees q. */
static void check_orthonormal(const operands *o, dense q) {
    dense adjoint = transposed(leading(q, q.rows, q.columns), true, true);
    dense product_of_both = product(adjoint, q);
    free(adjoint.at), free(q.at);
    check_close(product_of_both, identity(product_of_both.rows), 4 * tolerance(o));
}

/* Returns the columns of d times the values of an operand; further columns are omitted. */
static dense scaled(const operands *o, dense d, int operand, int64_t item) {
    const int64_t count = o->problem.of.linalg.operand[operand].rows;
    dense r = leading(d, d.rows, count);
    for (int64_t i = 0; i < r.rows; i++) {
        for (int64_t j = 0; j < count; j++) {
            *value_at(r, i, j) *= get(o, operand, item, j, 0);
        }
    }
    return r;
}

static void check_eigh(const operands *o, int64_t item) {
    const int64_t n = o->t.n;
    dense a = read_operand(o, 0, item), v = read_operand(o, 2, item);
    for (int64_t i = 0; i < n; i++) {
        *value_at(a, i, i) = creall(*value_at(a, i, i));
        for (int64_t j = 0; j < i; j++) {
            const wide x = *value_at(a, o->t.upper ? j : i, o->t.upper ? i : j);
            *value_at(a, i, j) = o->t.upper ? conjl(x) : x;
            *value_at(a, j, i) = conjl(*value_at(a, i, j));
        }
        assert_true(i == 0 || creall(get(o, 1, item, i, 0)) >= creall(get(o, 1, item, i - 1, 0)));
    }
    const long double bound = 4 * tolerance(o) * norm(a);
    check_close(product(a, v), scaled(o, v, 1, item), bound);
    free(a.at);
    check_orthonormal(o, v);
}

static void check_svd(const operands *o, int64_t item) {
    dense a = read_operand(o, 0, item), u = read_operand(o, 1, item), vh = read_operand(o, 3, item);
    const int64_t k = o->problem.of.linalg.operand[2].rows;
    for (int64_t i = 0; i < k; i++) {
        const long double value = creall(get(o, 2, item, i, 0));
        assert_true(value >= 0 && (i == 0 || value <= creall(get(o, 2, item, i - 1, 0))));
    }
    dense us = scaled(o, u, 2, item), rows = leading(vh, k, vh.columns);
    const long double bound = 4 * tolerance(o) * norm(a);
    check_close(product(us, rows), a, bound);
    free(us.at), free(rows.at);
    check_orthonormal(o, u);
    check_orthonormal(o, transposed(vh, true, true));
}

void check_item(const operands *o, int64_t item) {
    const task *t = &o->t;
    switch (t->op) {
    case BP_OP_EIGH:
        check_eigh(o, item);
        break;
    case BP_OP_SVD:
        check_svd(o, item);
        break;
    case BP_OP_LU_FACTOR:
        check_lu_factor(o, item);
        break;
    case BP_OP_LU:
        check_lu(o, item);
        break;
    case BP_OP_LU_SOLVE:
        check_lu_solve(o, item);
        break;
    case BP_OP_INV:
        check_solution(o, read_operand(o, 0, item), read_operand(o, 1, item), identity(t->n));
        check_info(o, 2, item);
        break;
    case BP_OP_SOLVE:
        check_solution(o, transposed(read_operand(o, 0, item), t->right, false), right_side(o, 2, item),
                       right_side(o, 1, item));
        check_info(o, 3, item);
        break;
    case BP_OP_SOLVE_TRIANGULAR:
        check_solution(o, transposed(triangle_of(read_operand(o, 0, item), t->upper, t->unit), t->right, false),
                       right_side(o, 2, item), right_side(o, 1, item));
        break;
    case BP_OP_CHOLESKY:
        check_cholesky(o, item);
        break;
    case BP_OP_CHOLESKY_SOLVE:
        check_solution(o, hermitian(o, 1, item), right_side(o, 2, item), right_side(o, 0, item));
        break;
    case BP_OP_CHOLESKY_INVERSE:
        check_cholesky_inverse(o, item);
        break;
    case BP_OP_DET:
    case BP_OP_SLOGDET:
        check_det(o, item);
        break;
    default:
        fail_msg("no check for this operation");
    }
}

void check_task(const task *t) {
    operands o, before;
    make_operands(&o, t);
    make_operands(&before, t);
    shape_inputs(&o, true);
    shape_inputs(&before, true);
    assert_int_equal(run_task(&o), BP_OK);
    check_surroundings(&o, &before);
    /* Large batches: checks both ends, where full groups and the last group are, and some items between. */
    for (int64_t item = 0; item < t->batch; item += t->batch <= 40 || item < 4 || item + 20 > t->batch ? 1 : 61) {
        check_item(&o, item);
    }
    free_operands(&o);
    free_operands(&before);
}
