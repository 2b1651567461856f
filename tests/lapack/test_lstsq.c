/* test_lstsq.c - tests least squares by the four drivers on every LAPACK library of this machine. */
#include "lapack/support_spectra.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

static const bp_linalg_mode drivers[] = {BP_LSTSQ_GELSY, BP_LSTSQ_GELS, BP_LSTSQ_GELSD, BP_LSTSQ_GELSS};

typedef struct equations {
    test_operand a, b, x, residuals, rank, s;
} equations;

static equations make(const test_case *c, int64_t k, bool one_b) {
    int64_t least = c->m < c->n ? c->m : c->n;
    bp_dtype real = test_real_of(c->dtype);
    return (equations){
        .a = test_make(c->dtype, c->m, c->n, c->items, false, c->layout),
        .b = test_make(c->dtype, c->m, k, c->items, one_b, c->layout),
        .x = test_make(c->dtype, c->n, k, c->items, false, c->layout),
        .residuals = test_make(real, k, 1, c->items, false, c->layout),
        .rank = test_make(BP_I64, 1, 1, c->items, false, c->layout),
        .s = test_make(real, least, 1, c->items, false, c->layout),
    };
}

static void drop(equations *e) {
    test_drop(&e->a), test_drop(&e->b), test_drop(&e->x), test_drop(&e->residuals), test_drop(&e->rank);
    test_drop(&e->s);
}

static test_call call_of(const test_case *c, equations *e, bp_linalg_mode driver) {
    test_call call = {.op = BP_OP_LSTSQ, .fields.mode = (uint8_t)driver, .fields.fail_on_item_error = 1};
    call.fields.rtol = (double)test_epsilon(c->dtype) * (double)(c->m > c->n ? c->m : c->n);
    call.operand[0] = &e->a;
    call.operand[1] = &e->b;
    call.operand[2] = &e->x;
    call.operand[3] = &e->residuals;
    call.operand[4] = driver == BP_LSTSQ_GELS ? NULL : &e->rank;
    call.operand[5] = driver == BP_LSTSQ_GELSD || driver == BP_LSTSQ_GELSS ? &e->s : NULL;
    return call;
}

/* Returns the norm of column j of B - A X, and its largest error: the solution is exact for A and B with errors of a
 * few n epsilon. */
static long double residual_of(const equations *e, int64_t item, int64_t j, long double *error) {
    const int64_t m = e->a.rows, n = e->a.columns;
    long double of_a = 0, of_b = 0, of_x = 0, of_r = 0;
    for (int64_t i = 0; i < m; i++) {
        number r = test_get(&e->b, item, i, j);
        of_b += creall(r * conjl(r));
        for (int64_t l = 0; l < n; l++) {
            const number a = test_get(&e->a, item, i, l), x = test_get(&e->x, item, l, j);
            r -= a * x;
            of_a += creall(a * conjl(a));
            of_x += i == 0 ? creall(x * conjl(x)) : 0;
        }
        of_r += creall(r * conjl(r));
    }
    *error = TEST_BOUND * (long double)(m > n ? m : n) * test_epsilon(e->a.dtype) *
             (sqrtl(of_a) * sqrtl(of_x) + sqrtl(of_b));
    return sqrtl(of_r);
}

/* Dropping singular values up to rcond has the same effect as an error of A. */
static void check_results(const equations *e, const test_case *c, const test_call *call, bool full_rank) {
    test_equations(call, c->where);
    for (int64_t i = 0; i < c->items * e->x.columns; i++) {
        const int64_t item = i / e->x.columns, j = i % e->x.columns;
        const long double told = creall(test_get(&e->residuals, item, j, 0));
        long double off, exact = residual_of(e, item, j, &off);
        if (c->m > c->n && full_rank) {
            test_within(fabsl(told - exact * exact), (2 * exact + off) * off, "%s: residual", c->where);
        } else if (c->m <= c->n) {
            assert_true(isnan(told));
        }
    }
}

/* ---- Full rank ---- */

/* Checks that x is in the row space of A, by Gram-Schmidt applied twice; otherwise x would not have minimum norm. */
static void check_shortest(equations *e, int64_t item, const test_case *c, long double condition) {
    int64_t m = c->m, n = c->n, k = e->x.columns;
    number *v = malloc((size_t)((m + k) * n) * sizeof *v); /* rows of A, then columns of X */
    for (int64_t i = 0; i < m + k; i++) {
        number *at = v + i * n;
        long double whole = 0, length = 0;
        for (int64_t l = 0; l < n; l++) {
            at[l] = i < m ? test_get(&e->a, item, i, l) : conjl(test_get(&e->x, item, l, i - m));
            whole += creall(at[l] * conjl(at[l]));
        }
        for (int64_t pass = 0; pass < 2 * (i < m ? i : m); pass++) { /* orthogonalized against the rows before */
            const number *row = v + pass / 2 * n;
            number inner = 0;
            for (int64_t l = 0; l < n; l++) {
                inner += at[l] * conjl(row[l]);
            }
            for (int64_t l = 0; l < n; l++) {
                at[l] -= inner * row[l];
            }
        }
        for (int64_t l = 0; l < n; l++) {
            length += creall(at[l] * conjl(at[l]));
        }
        for (int64_t l = 0; i < m && l < n; l++) {
            at[l] /= sqrtl(length);
        }
        if (i >= m) {
            long double bound = TEST_BOUND * (long double)n * test_epsilon(c->dtype) * condition;
            test_within(sqrtl(length), bound * sqrtl(whole), "%s: shortest", c->where);
        }
    }
    free(v);
}

static void solve(const test_case *c, int64_t k, bool one_b) {
    equations e = make(c, k, one_b);
    int64_t least = c->m < c->n ? c->m : c->n;
    test_fill_spectrum(&e.a, TEST_SPREAD, 1, 2);
    test_fill(&e.b, TEST_RANDOM, 8);
    for (int d = 0; d < 4; d++) {
        test_call call = call_of(c, &e, drivers[d]);
        assert_int_equal(test_run(c->instance, &call, NULL), BP_OK);
        check_results(&e, c, &call, true);
        for (int64_t item = 0; item < c->items; item++) {
            if (c->m < c->n) {
                check_shortest(&e, item, c, 10);
            }
            assert_true(!call.operand[4] || creall(test_get(&e.rank, item, 0, 0)) == least);
            for (int64_t i = 0; call.operand[5] && i < least; i++) {
                long double exact = test_spectrum_value(TEST_SPREAD, c->dtype, i, least);
                test_within(fabsl(creall(test_get(&e.s, item, i, 0)) - exact),
                            TEST_BOUND * (long double)(c->m + c->n) * test_epsilon(c->dtype), "%s: s", c->where);
            }
        }
    }
    drop(&e);
}

static void check_layouts(const test_case *c) {
    solve(c, 3, false);
    solve(c, 1, c->items > 1);
}

/* ---- Difficult and rank-deficient matrices ---- */

/* gels divides by a value that should be zero for the deficient matrix. */
static void check_kinds(const test_case *c) {
    equations e = make(c, 2, false);
    test_fill(&e.b, TEST_RANDOM, 8);
    for (test_kind kind = 0; kind < TEST_KINDS; kind++) {
        test_fill(&e.a, kind, 2);
        for (int d = 0; d < 4; d++) {
            bool gels = drivers[d] == BP_LSTSQ_GELS;
            test_call call = call_of(c, &e, drivers[d]);
            if (!gels || kind != TEST_DEFICIENT) {
                assert_int_equal(test_run(c->instance, &call, NULL), BP_OK);
                bool full = !gels && creall(test_get(&e.rank, 0, 0, 0)) == c->n;
                check_results(&e, c, &call, full);
                assert_true(gels || full || isnan(creall(test_get(&e.residuals, 0, 0, 0))));
            }
        }
    }
    drop(&e);
}

static void check_near(const test_operand *x, const test_operand *y, const test_case *c) {
    long double apart = 0, size = 0;
    for (int64_t i = 0; i < x->rows * x->columns; i++) {
        const number one = test_get(x, 0, i / x->columns, i % x->columns),
                     other = test_get(y, 0, i / x->columns, i % x->columns);
        apart = fmaxl(apart, cabsl(one - other));
        size = fmaxl(size, cabsl(other));
        assert_true(isfinite(cabsl(one)));
    }
    test_within(apart, 100 * TEST_BOUND * (long double)x->rows * test_epsilon(c->dtype) * size, "%s: other driver",
                c->where);
}

/* The drivers that determine the rank agree on the minimum-norm solution. Its condition is the condition of the
 * retained part.
 */
static void check_deficient(const test_case *c) {
    int64_t least = c->m < c->n ? c->m : c->n;
    equations e = make(c, 2, false), other = make(c, 2, false);
    test_fill_spectrum(&e.a, TEST_HALF, 1, 2);
    test_fill(&e.b, TEST_RANDOM, 8);
    for (int d = 0; d < 4; d++) {
        test_call call = call_of(c, &e, drivers[d]);
        call.operand[2] = d == 0 ? &other.x : &e.x;
        if (drivers[d] != BP_LSTSQ_GELS) {
            assert_int_equal(test_run(c->instance, &call, NULL), BP_OK);
            assert_true(creall(test_get(&e.rank, 0, 0, 0)) == (least + 1) / 2);
            assert_true(isnan(creall(test_get(&e.residuals, 0, 1, 0))));
            check_near(call.operand[2], &other.x, c);
        }
    }
    drop(&e), drop(&other);
}

static void set_column(test_operand *x, int64_t from, int64_t to, number value) {
    for (int64_t j = from; j < to; j++) {
        for (int64_t i = 0; i < x->rows; i++) {
            test_set(x, 0, i, j, value);
        }
    }
}

/* gels fails for a column of zeros. It does not report a matrix of zeros, whose minimum-norm solution is zero. */
static void check_zeros(const test_case *c) {
    equations e = make(c, 1, false);
    test_fill(&e.a, TEST_RANDOM, 2);
    test_fill(&e.b, TEST_RANDOM, 8);
    set_column(&e.a, 1, 2, 0);
    test_call call = call_of(c, &e, BP_LSTSQ_GELS);
    assert_int_equal(test_run(c->instance, &call, NULL), BP_E_SINGULAR);
    call.fields.fail_on_item_error = 0;
    assert_int_equal(test_run(c->instance, &call, NULL), BP_OK);
    assert_true(isnan(creall(test_get(&e.x, 0, 0, 0))));
    set_column(&e.a, 0, c->n, 0);
    for (int d = 0; d < 4; d++) {
        call = call_of(c, &e, drivers[d]);
        assert_int_equal(test_run(c->instance, &call, NULL), BP_OK);
        assert_true(test_get(&e.x, 0, 0, 0) == 0 && test_get(&e.x, 0, c->n - 1, 0) == 0);
        assert_true(isnan(creall(test_get(&e.residuals, 0, 0, 0))));
        assert_true(!call.operand[4] || test_get(&e.rank, 0, 0, 0) == 0);
    }
    drop(&e);
}

/* The first two columns are equal. gelsy finds the rank of every item only if it may exchange them. */
static void check_pivots(const test_case *c) {
    test_case three = *c;
    three.items = 3;
    equations e = make(&three, 1, false);
    test_fill(&e.a, TEST_RANDOM, 2);
    test_fill(&e.b, TEST_RANDOM, 8);
    test_call call = call_of(&three, &e, BP_LSTSQ_GELSY);
    for (int64_t i = 0; i < 3 * c->m; i++) {
        test_set(&e.a, i / c->m, i % c->m, 1, test_get(&e.a, i / c->m, i % c->m, 0));
    }
    assert_int_equal(test_run(c->instance, &call, NULL), BP_OK);
    for (int64_t item = 0; item < 3; item++) {
        assert_true(creall(test_get(&e.rank, item, 0, 0)) == c->n - 1);
    }
    check_results(&e, &three, &call, false);
    drop(&e);
}

static void check_non_finite(const test_case *c) {
    test_case three = *c;
    three.items = 3;
    equations e = make(&three, 2, false);
    test_fill(&e.a, TEST_RANDOM, 3);
    test_fill(&e.b, TEST_RANDOM, 8);
    for (int d = 0; d < 4; d++) {
        test_call call = call_of(&three, &e, drivers[d]);
        test_non_finite(&three, &call, 4, NAN);
        test_non_finite(&three, &call, 4, INFINITY);
    }
    test_call call = call_of(&three, &e, BP_LSTSQ_GELSY);
    test_set(&e.b, 2, 0, 1, NAN);
    assert_int_equal(test_run(c->instance, &call, NULL), BP_E_NON_FINITE);
    drop(&e);
}

/* Without right sides, rank and singular values are the same as with one. */
static void check_no_sides(const test_case *c) {
    test_case three = *c;
    three.items = 3;
    int64_t least = c->m < c->n ? c->m : c->n;
    equations none = make(&three, 0, false);
    test_fill_spectrum(&none.a, TEST_SPREAD, 1, 2);
    for (int64_t item = 0; item < 3; item++) {
        for (int64_t i = 0; i < c->m; i++) { /* the rank decreases by one with each item */
            for (int64_t j = c->n - item; j < c->n; j++) {
                test_set(&none.a, item, i, j, 0);
            }
        }
    }
    for (int d = 0; d < 4; d++) {
        test_call call = call_of(&three, &none, drivers[d]);
        if (drivers[d] == BP_LSTSQ_GELS) { /* returns neither */
            continue;
        }
        assert_int_equal(test_run(c->instance, &call, NULL), BP_OK);
        for (int64_t item = 0; item < 3; item++) {
            int64_t rank = least < c->n - item ? least : c->n - item;
            assert_true(creall(test_get(&none.rank, item, 0, 0)) == rank);
            for (int64_t i = 0; call.operand[5] && i < least; i++) {
                long double value = creall(test_get(&none.s, item, i, 0));
                assert_true(i < rank ? value > 0.01L && value < 1.01L : value < 1e-3L);
            }
        }
    }
    test_call call = call_of(&three, &none, BP_LSTSQ_GELSD);
    test_set(&none.a, 1, 0, 0, NAN);
    assert_int_equal(test_run(c->instance, &call, NULL), BP_E_NON_FINITE);
    drop(&none);
}

static void check_library(void *instance, const bp_library_info *row) {
    test_each_case(instance, row, false, check_layouts);
    test_each_type(instance, row, 24, 16, check_kinds);
    test_each_type(instance, row, 24, 24, check_kinds);
    test_each_type(instance, row, 80, 60, check_deficient);
    test_each_type(instance, row, 20, 30, check_deficient);
    test_each_type(instance, row, 7, 4, check_zeros);
    test_each_type(instance, row, 12, 8, check_pivots);
    test_each_type(instance, row, 6, 4, check_non_finite);
    test_each_type(instance, row, 9, 6, check_no_sides);
    test_each_type(instance, row, 6, 9, check_no_sides);
}

static void test_solutions(void **state) {
    (void)state;
    test_each_library(check_library);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_solutions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
