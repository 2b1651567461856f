/* test_failures.c - tests items that fail in the middle of a batch: their outputs, unchanged neighbours, and the error
 * of a checked call. Also tests numbers at the limits of the range. */
#include "linalg.h"

#include "support/pool.h"

#include <float.h>
#include <math.h>
#include <string.h>

static task make(bp_op op, bp_dtype dtype, int64_t n, int64_t batch, kernels set) {
    task t = square_task(op, dtype, n, 3);
    t.batch = batch;
    t.set = set;
    t.seed = 3;
    return t;
}

/* Returns the index of the operand info, or -1. */
static int info_of(const operands *o) {
    const bool has = o->t.op == BP_OP_INV || o->t.op == BP_OP_CHOLESKY || o->t.op == BP_OP_CHOLESKY_INVERSE ||
                     o->t.op == BP_OP_LU_FACTOR || o->t.op == BP_OP_SOLVE;
    return has ? o->count - 1 : -1;
}

static void check_same_item(const operands *a, const operands *b, int64_t item) {
    for (int i = a->inputs; i < a->count; i++) {
        const bp_linalg_operand *x = &a->problem.of.linalg.operand[i];
        for (int64_t at = 0; at < x->rows * x->columns; at++) {
            assert_memory_equal(element(a, i, item, at / x->columns, at % x->columns),
                                element(b, i, item, at / x->columns, at % x->columns),
                                bp_dtype_size((bp_dtype)x->dtype));
        }
    }
}

/* Returns whether the operation reads element (i, j) of an input. */
static bool is_read(const task *t, int operand, int64_t i, int64_t j) {
    const int triangle = t->op == BP_OP_CHOLESKY_SOLVE ? 1 : 0;
    const bool triangular = t->op == BP_OP_CHOLESKY || t->op == BP_OP_CHOLESKY_SOLVE || t->op == BP_OP_EIGH ||
                            t->op == BP_OP_CHOLESKY_INVERSE || t->op == BP_OP_SOLVE_TRIANGULAR;
    return !triangular || operand != triangle || (t->upper ? i <= j : i >= j);
}

/* Elements of an input: the first, the last, one in the middle of the diagonal, two corners, and random ones. */
enum { FIRST, LAST, DIAGONAL, BELOW, ABOVE, RANDOM, POSITIONS = RANDOM + 2 };

/* Sets (i, j) to an element of an input that the operation reads. */
static void choose_element(const operands *o, int operand, int position, int64_t *i, int64_t *j) {
    static unsigned state = 1;
    const bp_linalg_operand *x = &o->problem.of.linalg.operand[operand];
    const int64_t rows = x->rows, columns = x->columns, middle = (rows < columns ? rows : columns) / 2;
    state = state * 1664525u + 1013904223u;
    const int64_t random = (int64_t)(state >> 8) % (rows * columns);
    const int64_t choices[][2] = {
        [FIRST] = {0, 0},        [LAST] = {rows - 1, columns - 1}, [DIAGONAL] = {middle, middle},
        [BELOW] = {rows - 1, 0}, [ABOVE] = {0, columns - 1},       [RANDOM] = {random / columns, random % columns}};
    const int64_t *choice = choices[position < RANDOM ? position : RANDOM];
    const bool read = is_read(&o->t, operand, choice[0], choice[1]);
    *i = choice[read ? 0 : 1];
    *j = choice[read ? 1 : 0];
}

/* Returns a number with this value in its real part, or in its imaginary part for the last position of a complex type.
 * The imaginary part of a Hermitian matrix's diagonal is not read. */
static wide bad_value(const task *t, int position, bool on_diagonal, double value) {
    const bool hermitian = t->op == BP_OP_CHOLESKY || t->op == BP_OP_EIGH;
    wide bad = (wide)value;
    if (position == POSITIONS - 1 && is_complex(t->dtype) && !(hermitian && on_diagonal)) {
        bad = 0;
        ((long double *)&bad)[1] = (long double)value;
    }
    return bad;
}

/* Checks a task with one element of item `bad_item` changed to NaN or infinity. */
static void check_element(const task *t, const operands *clean, int operand, int position, double value) {
    const int64_t bad_item = t->batch / 4;
    operands o;
    int64_t row, column;
    make_operands(&o, t);
    shape_inputs(&o, true);
    choose_element(&o, operand, position, &row, &column);
    put(&o, operand, bad_item, row, column, bad_value(t, position, row == column, value));
    assert_int_equal(run_task(&o), BP_OK);
    for (int64_t item = 0; item < t->batch; item++) {
        if (item != bad_item) {
            check_same_item(&o, clean, item);
            continue;
        }
        for (int i = o.inputs; i < o.count; i++) {
            const bp_linalg_operand *x = &o.problem.of.linalg.operand[i];
            for (int64_t at = 0; at < x->rows * x->columns; at++) {
                const wide y = get(&o, i, item, at / x->columns, at % x->columns);
                if (x->dtype == BP_I32 || x->dtype == BP_I64) {
                    assert_int_equal((int)creall(y), i == info_of(&o) ? BP_INFO_NON_FINITE : 0);
                } else {
                    assert_true(isnan(creall(y)) && (!is_complex((bp_dtype)x->dtype) || isnan(cimagl(y))));
                }
            }
        }
    }
    o.problem.of.linalg.fail_on_item_error = 1;
    assert_int_equal(run_task(&o), BP_E_NON_FINITE);
    assert_int_equal(last.item, bad_item);
    assert_int_equal(last.info, BP_INFO_NON_FINITE);
    free_operands(&o);
}

/* Checks NaN or infinity at several positions of each input. */
static void check_non_finite(const task *t, double value) {
    operands clean;
    make_operands(&clean, t);
    shape_inputs(&clean, true);
    assert_int_equal(run_task(&clean), BP_OK);
    const int inputs = t->op == BP_OP_LU_SOLVE ? 3 : clean.inputs;
    for (int operand = 0; operand < inputs; operand++) {
        if (clean.problem.of.linalg.operand[operand].dtype == BP_I32) {
            continue;
        }
        for (int position = 0; position < POSITIONS; position++) {
            check_element(t, &clean, operand, position, value);
        }
    }
    free_operands(&clean);
}

static void test_non_finite(void **state) {
    (void)state;
    EACH_SET(set) {
        for (int op = 0; op < OPS; op++) {
            for (int d = 0; d < DTYPES; d++) {
                task t = make(ops[op], dtypes[d], 1 + (op + d) % 6, 21, set);
                t.upper = (op + d) % 3 == 0;
                check_non_finite(&t, (op + d) % 2 ? NAN : INFINITY);
                t.n = t.m = 19;
                t.batch = 7;
                check_non_finite(&t, -INFINITY);
            }
        }
    }
}

/* Makes item `item` singular from pivot `at` (from 1) on: this row and column become zero. For Cholesky the item is
 * indefinite. */
static void make_singular(const operands *o, int64_t item, int64_t at) {
    for (int64_t i = 0; i < o->t.n; i++) {
        for (int64_t j = 0; j < o->t.n; j++) {
            const bool cut = i == at - 1 || j == at - 1;
            put(o, 0, item, i, j, cut ? 0 : i == j ? i + 2 : 0);
        }
    }
    if (o->t.op == BP_OP_CHOLESKY) {
        put(o, 0, item, at - 1, at - 1, at % 2 ? 0 : -1);
    }
}

static void test_singular(void **state) {
    (void)state;
    static const bp_op failing[] = {BP_OP_INV, BP_OP_CHOLESKY, BP_OP_CHOLESKY_INVERSE, BP_OP_LU_FACTOR, BP_OP_SOLVE};
    EACH_SET(set) {
        for (int op = 0; op < COUNT(failing); op++) {
            for (int d = 0; d < DTYPES; d++) {
                task t = make(failing[op], dtypes[d], 7, 23, set);
                t.threads = 2;
                operands clean, o;
                make_operands(&clean, &t);
                make_operands(&o, &t);
                shape_inputs(&clean, true);
                shape_inputs(&o, true);
                assert_int_equal(run_task(&clean), BP_OK);
                make_singular(&o, 4, 6);
                make_singular(&o, 22, 3);
                assert_int_equal(run_task(&o), BP_OK);
                for (int64_t item = 0; item < t.batch; item++) {
                    const int info = (int)creall(get(&o, info_of(&o), item, 0, 0));
                    assert_int_equal(info, item == 4 ? 6 : item == 22 ? 3 : 0);
                    if (!info) {
                        check_same_item(&o, &clean, item);
                    }
                }
                o.problem.of.linalg.fail_on_item_error = 1;
                const bp_status expected = t.op == BP_OP_CHOLESKY ? BP_E_NOT_POSITIVE_DEFINITE : BP_E_SINGULAR;
                assert_int_equal(run_task(&o), expected);
                assert_int_equal(last.item, 4);
                assert_int_equal(last.info, 6);
                /* Without an operand info a checked call reports the first of two different failures. */
                task bare = t;
                bare.no_info = bare.check = true;
                operands p;
                make_operands(&p, &bare);
                shape_inputs(&p, true);
                make_singular(&p, 20, 2);
                put(&p, 0, 9, 6, 6, (wide)NAN);
                assert_int_equal(run_task(&p), BP_E_NON_FINITE);
                assert_int_equal(last.item, 9);
                free_operands(&p);
                free_operands(&clean);
                free_operands(&o);
            }
        }
    }
}

/* Tests that LU continues after a zero pivot, as LAPACK does. Small integers make all results exact. */
static void test_zero_pivots(void **state) {
    (void)state;
    static const double matrix[5][5] = {
        {0, 0, 2, 1, 4}, {0, 0, 1, 3, 1}, {0, 0, 4, 2, 8}, {0, 0, 2, 5, 3}, {0, 0, 2, 1, 1}};
    static const double factors[5][5] = {
        {0, 0, 2, 1, 4}, {0, 0, 1, 3, 1}, {0, 0, 4, 2, 8}, {0, 0, 0.5, 4, -1}, {0, 0, 0.5, 0, -3}};
    EACH_SET(set) {
        for (int d = 0; d < DTYPES; d++) {
            const task t = make(BP_OP_LU_FACTOR, dtypes[d], 5, 9, set);
            operands o;
            make_operands(&o, &t);
            for (int i = 0; i < 25; i++) {
                put(&o, 0, 3, i / 5, i % 5, matrix[i / 5][i % 5]);
            }
            assert_int_equal(run_task(&o), BP_OK);
            assert_int_equal((int)creall(get(&o, 3, 3, 0, 0)), 1);
            for (int i = 0; i < 25; i++) {
                assert_true(get(&o, 1, 3, i / 5, i % 5) == factors[i / 5][i % 5]);
            }
            for (int i = 0; i < 5; i++) {
                assert_int_equal((int)creall(get(&o, 2, 3, i, 0)), i + 1);
            }
            free_operands(&o);
        }
    }
}

/* Tests that the first of equal candidates is the pivot, and that complex candidates are compared by |re| + |im|. */
static void test_ties(void **state) {
    (void)state;
    EACH_SET(set) {
        for (int d = 0; d < DTYPES; d++) {
            const task t = make(BP_OP_LU_FACTOR, dtypes[d], 13, 6, set);
            operands o;
            make_operands(&o, &t);
            for (int64_t i = 0; i < 13; i++) {
                put(&o, 0, 2, i, 0, i == 4 || i == 5 || i == 11 ? (i % 2 ? 3 : -3) : 1);
                /* 3 + 3i| is less than |5|, but 3 + 3 is more than 5.
                 */
                put(&o, 0, 1, i, 0, i == 6 ? 5 : i == 9 ? 3 + 3 * (wide)I : 0);
            }
            assert_int_equal(run_task(&o), BP_OK);
            assert_int_equal((int)creall(get(&o, 2, 2, 0, 0)), 5);
            assert_int_equal((int)creall(get(&o, 2, 1, 0, 0)), is_complex(dtypes[d]) ? 10 : 7);
            free_operands(&o);
        }
    }
}

static void test_pivots_outside(void **state) {
    (void)state;
    static const int wrong[] = {0, 5, -1, 2000000000};
    EACH_SET(set) {
        for (int i = 0; i < COUNT(wrong); i++) {
            const task t = make(BP_OP_LU_SOLVE, dtypes[i], 4, 40, set);
            operands o;
            make_operands(&o, &t);
            shape_inputs(&o, false);
            put(&o, 1, 31, 0, 0, 99);
            put(&o, 1, 17, 2, 0, wrong[i]);
            assert_int_equal(run_task(&o), BP_E_ARGUMENT);
            assert_non_null(strstr(last.text, "17"));
            free_operands(&o);
        }
    }
}

/* Tests diagonals of denormals and of the largest numbers: x = b / d is accurate, although a reciprocal would overflow.
 */
static void test_range(void **state) {
    (void)state;
    EACH_SET(set) {
        for (int d = 0; d < DTYPES; d++) {
            const bool single = real_of(dtypes[d]) == BP_F32;
            const long double values[] = {single ? 0x1.5p-148L : 0x1p-1073L, single ? FLT_MAX : DBL_MAX, 3, 1,
                                          single ? FLT_MIN / 2 : DBL_MIN / 2};
            const task t = make(BP_OP_SOLVE_TRIANGULAR, dtypes[d], 5, 3, set);
            operands o;
            make_operands(&o, &t);
            for (int64_t i = 0; i < 25; i++) {
                put(&o, 0, 1, i / 5, i % 5, i / 5 == i % 5 ? (wide)values[i / 5] : 0);
                put(&o, 1, 1, i / 5, i % 3, (wide)values[i / 5] * (i % 2 ? 1 : 0.5L));
            }
            assert_int_equal(run_task(&o), BP_OK);
            for (int64_t i = 0; i < 15; i++) {
                const wide b = get(&o, 1, 1, i / 3, i % 3), x = get(&o, 2, 1, i / 3, i % 3);
                const wide expected = b / get(&o, 0, 1, i / 3, i / 3);
                assert_true(cabsl(x - expected) <= 4 * unit_roundoff(dtypes[d]) * cabsl(expected));
            }
            free_operands(&o);
        }
    }
}

/* Tests determinants in range with partial products far outside of it, and logarithms of determinants out of range. */
static void test_determinants(void **state) {
    (void)state;
    EACH_SET(set) {
        for (int d = 0; d < DTYPES; d++) {
            for (int logarithm = 0; logarithm < 2; logarithm++) {
                const long double big = real_of(dtypes[d]) == BP_F32 ? 0x1p100L : 0x1p900L;
                const task t = make(logarithm ? BP_OP_SLOGDET : BP_OP_DET, dtypes[d], 8, 5, set);
                operands o;
                make_operands(&o, &t);
                for (int64_t i = 0; i < 64; i++) {
                    const bool diagonal = i / 8 == i % 8;
                    put(&o, 0, 1, i / 8, i % 8, !diagonal ? 0 : i / 8 < 4 ? (wide)big : 1 / (wide)big);
                    put(&o, 0, 2, i / 8, i % 8, diagonal ? -(wide)big : 0);
                    put(&o, 0, 3, i / 8, i % 8, diagonal && i < 60 ? 1 : 0); /* singular */
                }
                assert_int_equal(run_task(&o), BP_OK);
                assert_true(get(&o, 1, 1, 0, 0) == 1);
                assert_true(get(&o, 1, 3, 0, 0) == 0);
                if (logarithm) {
                    assert_true(creall(get(&o, 2, 1, 0, 0)) == 0);
                    assert_true(get(&o, 1, 2, 0, 0) == 1);
                    assert_true(fabsl(creall(get(&o, 2, 2, 0, 0)) - 8 * logl(big)) <=
                                1e-3L * unit_roundoff(BP_F32) * 1e6L);
                    assert_true(isinf(creall(get(&o, 2, 3, 0, 0))) && creall(get(&o, 2, 3, 0, 0)) < 0);
                } else {
                    assert_true(isinf(creall(get(&o, 1, 2, 0, 0))));
                }
                free_operands(&o);
            }
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_non_finite),   cmocka_unit_test(test_singular),       cmocka_unit_test(test_zero_pivots),
        cmocka_unit_test(test_ties),         cmocka_unit_test(test_pivots_outside), cmocka_unit_test(test_range),
        cmocka_unit_test(test_determinants),
    };
    return cmocka_run_group_tests(tests, NULL, test_stop_pool);
}
