/* test_empty.c - tests problems of every operation in which a size or the batch is 0: all outputs are written with the
 * mathematically defined values. */
#include "linalg.h"

#include <math.h>

typedef struct expected {
    bp_op op;
    int64_t m, n, k;
    bp_linalg_mode mode;
    double diagonal[4], other[4]; /* of the outputs in order */
} expected;

static const expected all[] = {
    {BP_OP_INV, 0, 0, 0, BP_MODE_DEFAULT, {0}, {0}},
    {BP_OP_CHOLESKY, 0, 0, 0, BP_MODE_DEFAULT, {0}, {0}},
    {BP_OP_CHOLESKY_SOLVE, 0, 0, 3, BP_MODE_DEFAULT, {0}, {0}},
    {BP_OP_CHOLESKY_SOLVE, 4, 4, 0, BP_MODE_DEFAULT, {0}, {0}},
    {BP_OP_CHOLESKY_INVERSE, 0, 0, 0, BP_MODE_DEFAULT, {0}, {0}},
    {BP_OP_LU_FACTOR, 3, 0, 0, BP_MODE_DEFAULT, {0}, {0}},
    {BP_OP_LU_FACTOR, 0, 3, 0, BP_MODE_DEFAULT, {0}, {0}},
    {BP_OP_LU, 3, 0, 0, BP_MODE_DEFAULT, {1}, {0}},
    {BP_OP_LU, 0, 3, 0, BP_MODE_DEFAULT, {1}, {0}},
    {BP_OP_LU_SOLVE, 0, 0, 2, BP_MODE_DEFAULT, {0}, {0}},
    {BP_OP_LU_SOLVE, 40, 40, 0, BP_MODE_DEFAULT, {0}, {0}},
    {BP_OP_LDL_FACTOR, 0, 0, 0, BP_MODE_DEFAULT, {0}, {0}},
    {BP_OP_LDL_SOLVE, 0, 0, 2, BP_MODE_DEFAULT, {0}, {0}},
    {BP_OP_LDL_SOLVE, 40, 40, 0, BP_MODE_DEFAULT, {0}, {0}},
    {BP_OP_SOLVE, 0, 0, 2, BP_MODE_DEFAULT, {0}, {0}},
    {BP_OP_SOLVE, 5, 5, 0, BP_MODE_DEFAULT, {0}, {0}},
    {BP_OP_SOLVE_TRIANGULAR, 5, 5, 0, BP_MODE_DEFAULT, {0}, {0}},
    {BP_OP_QR, 4, 0, 0, BP_QR_COMPLETE, {1}, {0}},
    {BP_OP_QR, 4, 0, 0, BP_QR_REDUCED, {1}, {0}},
    {BP_OP_QR, 0, 4, 0, BP_QR_COMPLETE, {1}, {0}},
    {BP_OP_EIGH, 0, 0, 0, BP_MODE_DEFAULT, {0}, {0}},
    {BP_OP_EIG, 0, 0, 0, BP_MODE_DEFAULT, {0}, {0}},
    {BP_OP_SVD, 4, 0, 0, BP_SVD_FULL, {1, 0, 1}, {0}},
    {BP_OP_SVD, 0, 5, 0, BP_SVD_FULL, {1, 0, 1}, {0}},
    {BP_OP_SVD, 0, 5, 0, BP_SVD_REDUCED, {1, 0, 1}, {0}},
    {BP_OP_LSTSQ, 0, 3, 2, BP_LSTSQ_GELSD, {0, (double)NAN, 0, 0}, {0, (double)NAN, 0, 0}},
    {BP_OP_LSTSQ, 4, 3, 0, BP_LSTSQ_GELSD, {0}, {0}},
    {BP_OP_DET, 0, 0, 0, BP_MODE_DEFAULT, {1}, {1}},
    {BP_OP_SLOGDET, 0, 0, 0, BP_MODE_DEFAULT, {1, 0}, {1, 0}},
    {BP_OP_PINV, 0, 3, 0, BP_MODE_DEFAULT, {0}, {0}},
    {BP_OP_MATRIX_RANK, 3, 0, 0, BP_MODE_DEFAULT, {0}, {0}},
    {BP_OP_COND, 0, 0, 0, BP_NORM_P, {0}, {0}},
    {BP_OP_MATRIX_NORM, 0, 3, 0, BP_NORM_FRO, {0}, {0}},
    {BP_OP_MATRIX_NORM, 3, 0, 0, BP_NORM_NUC, {0}, {0}},
};

static void check(const expected *e, bp_dtype dtype, int64_t batch, layout how) {
    const task t = {
        .op = e->op, .dtype = dtype, .m = e->m, .n = e->n, .k = e->k, .batch = batch, .mode = e->mode, .out = how};
    operands o;
    make_operands(&o, &t);
    assert_int_equal(run_task(&o), BP_OK);
    assert_string_equal(o.verdict.algorithm, "nothing to do");
    check_surroundings(&o);
    for (int x = o.inputs; x < o.count; x++) {
        const bp_linalg_operand *to = &o.problem.of.linalg.operand[x];
        for (int64_t at = 0; at < batch * to->rows * to->columns; at++) {
            const int64_t i = at / to->columns % to->rows, j = at % to->columns;
            const wide got = get(&o, x, at / to->columns / to->rows, i, j);
            const double wanted = i == j ? e->diagonal[x - o.inputs] : e->other[x - o.inputs];
            assert_true(isnan(wanted) ? isnan(creall(got)) : got == wanted);
        }
    }
    free_operands(&o);
}

static void test_outputs(void **state) {
    (void)state;
    for (int e = 0; e < COUNT(all); e++) {
        for (int d = 0; d < COUNT(dtypes); d++) {
            for (int how = 0; how < SHARED; how++) {
                check(&all[e], dtypes[d], 1 + how * 2, (layout)how);
            }
        }
    }
}

static void test_empty_batch(void **state) {
    (void)state;
    for (int op = BP_OP_INV; op <= BP_OP_MATRIX_NORM; op++) {
        const task t = {.op = (bp_op)op, .dtype = BP_F64, .m = 4, .n = 4, .k = 1, .batch = 0, .mode = BP_MODE_DEFAULT};
        operands o;
        make_operands(&o, &t);
        assert_int_equal(run_task(&o), BP_OK);
        check_surroundings(&o);
        free_operands(&o);
    }
}

/* Tests least squares without unknowns: the residual is all of B. */
static void test_residuals(void **state) {
    (void)state;
    for (int d = 0; d < COUNT(dtypes); d++) {
        const task t = {.op = BP_OP_LSTSQ,
                        .dtype = dtypes[d],
                        .m = 4,
                        .n = 0,
                        .k = 3,
                        .batch = 2,
                        .mode = BP_LSTSQ_GELSD,
                        .seed = 5};
        operands o;
        make_operands(&o, &t);
        assert_int_equal(run_task(&o), BP_OK);
        for (int64_t item = 0; item < 2; item++) {
            for (int64_t j = 0; j < 3; j++) {
                long double sum = 0;
                for (int64_t i = 0; i < 4; i++) {
                    const long double size = cabsl(get(&o, 1, item, i, j));
                    sum += size * size;
                }
                assert_true(fabsl(creall(get(&o, 3, item, j, 0)) - sum) <= 8 * unit_roundoff(dtypes[d]) * sum);
            }
            assert_true(get(&o, 4, item, 0, 0) == 0);
        }
        free_operands(&o);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_outputs),
        cmocka_unit_test(test_empty_batch),
        cmocka_unit_test(test_residuals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
