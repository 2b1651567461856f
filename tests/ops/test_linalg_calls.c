/* test_linalg_calls.c - how linear-algebra calls are converted: shapes and types of results, problems, refusals.
 *
 * The provider records problems and computes nothing (recorder_provider.c). */
#include "ops/linalg/linalg.h"
#include "ops/linalg_support.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static recorder_state *recorder;

/* Checks the type and shape of an operand. */
static void shape_is(const test_call *c, int index, bp_dtype dtype, int ndim, const int64_t *shape) {
    bp_dtype got;
    int got_ndim;
    int64_t got_shape[BP_MAX_NDIM];
    const int output = index - bp__input_count(c->call.op);
    assert_int_equal(bp_linalg_shape(&c->call, output, &got, &got_ndim, got_shape), BP_OK);
    if (got != dtype || got_ndim != ndim || memcmp(got_shape, shape, (size_t)ndim * sizeof *shape) != 0) {
        fail_msg("output %d of %s is %s with %d dimensions, the first %d", output, bp_op_name(c->call.op),
                 bp_dtype_name(got), got_ndim, got_ndim ? (int)got_shape[0] : 0);
    }
}

/* ---- Shapes and types ---- */

static void shapes_of_factorizations(void **unused) {
    (void)unused;
    test_call c;
    test_call_start(&c, BP_OP_LU_FACTOR);
    test_call_input(&c, 0, BP_C64, TEST_SHAPE(2, 1, 3, 5), ROW_MAJOR);
    shape_is(&c, 1, BP_C64, TEST_SHAPE(2, 1, 3, 5));
    shape_is(&c, 2, BP_I32, TEST_SHAPE(2, 1, 3));
    shape_is(&c, 3, BP_I32, TEST_SHAPE(2, 1));
    c.call.op = BP_OP_LU;
    shape_is(&c, 1, BP_C64, TEST_SHAPE(2, 1, 3, 3));
    shape_is(&c, 2, BP_C64, TEST_SHAPE(2, 1, 3, 3));
    shape_is(&c, 3, BP_C64, TEST_SHAPE(2, 1, 3, 5));
    c.call.op = BP_OP_QR;
    shape_is(&c, 1, BP_C64, TEST_SHAPE(2, 1, 3, 3));
    shape_is(&c, 2, BP_C64, TEST_SHAPE(2, 1, 3, 5));
    c.call.mode = BP_QR_R;
    shape_is(&c, 2, BP_C64, TEST_SHAPE(2, 1, 3, 5));
    bp_dtype dtype;
    int ndim;
    int64_t shape[BP_MAX_NDIM];
    test_refused(bp_linalg_shape(&c.call, 0, &dtype, &ndim, shape), BP_E_ARGUMENT, "Q is not computed with this mode");
    test_refused(bp_linalg_shape(&c.call, -1, &dtype, &ndim, shape), BP_E_ARGUMENT, "output[-1] does not exist");
    test_refused(bp_linalg_shape(&c.call, 2, &dtype, &ndim, shape), BP_E_ARGUMENT, "the number of outputs is 2");
    test_refused(bp_linalg_shape(&c.call, 1, NULL, &ndim, shape), BP_E_ARGUMENT, "must not be NULL");
    c.call.op = BP_OP_SVD;
    c.call.mode = BP_MODE_DEFAULT;
    shape_is(&c, 1, BP_C64, TEST_SHAPE(2, 1, 3, 3));
    shape_is(&c, 2, BP_F32, TEST_SHAPE(2, 1, 3));
    shape_is(&c, 3, BP_C64, TEST_SHAPE(2, 1, 3, 5));
    c.call.mode = BP_SVD_FULL;
    shape_is(&c, 3, BP_C64, TEST_SHAPE(2, 1, 5, 5));
    c.call.op = BP_OP_PINV;
    c.call.mode = BP_MODE_DEFAULT;
    shape_is(&c, 1, BP_C64, TEST_SHAPE(2, 1, 5, 3));
    c.call.op = BP_OP_MATRIX_RANK;
    shape_is(&c, 1, BP_I64, TEST_SHAPE(2, 1));
    c.call.op = BP_OP_COND;
    shape_is(&c, 1, BP_F32, TEST_SHAPE(2, 1));
    test_call_end(&c);
    test_call_start(&c, BP_OP_QR);
    c.call.mode = BP_QR_COMPLETE;
    test_call_input(&c, 0, BP_F64, TEST_SHAPE(5, 3), ROW_MAJOR);
    shape_is(&c, 1, BP_F64, TEST_SHAPE(5, 5));
    shape_is(&c, 2, BP_F64, TEST_SHAPE(5, 3));
    test_call_end(&c);
}

static void shapes_of_square_matrices(void **unused) {
    (void)unused;
    test_call c;
    test_call_start(&c, BP_OP_EIG);
    test_call_input(&c, 0, BP_F64, TEST_SHAPE(7, 4, 4), ROW_MAJOR);
    shape_is(&c, 1, BP_C128, TEST_SHAPE(7, 4));
    shape_is(&c, 2, BP_C128, TEST_SHAPE(7, 4, 4));
    c.call.op = BP_OP_EIGH;
    shape_is(&c, 1, BP_F64, TEST_SHAPE(7, 4));
    shape_is(&c, 2, BP_F64, TEST_SHAPE(7, 4, 4));
    c.call.op = BP_OP_SLOGDET;
    shape_is(&c, 1, BP_F64, TEST_SHAPE(7));
    shape_is(&c, 2, BP_F64, TEST_SHAPE(7));
    c.call.op = BP_OP_INV;
    shape_is(&c, 1, BP_F64, TEST_SHAPE(7, 4, 4));
    shape_is(&c, 2, BP_I32, TEST_SHAPE(7));
    test_call_end(&c);
    test_call_start(&c, BP_OP_SLOGDET);
    test_call_input(&c, 0, BP_C64, TEST_SHAPE(4, 4), ROW_MAJOR);
    bp_dtype dtype;
    int ndim;
    int64_t shape[BP_MAX_NDIM];
    assert_int_equal(bp_linalg_shape(&c.call, 0, &dtype, &ndim, shape), BP_OK);
    assert_true(dtype == BP_C64 && ndim == 0);
    assert_int_equal(bp_linalg_shape(&c.call, 1, &dtype, &ndim, shape), BP_OK);
    assert_true(dtype == BP_F32 && ndim == 0);
    test_call_end(&c);
}

static void solve_shape(int a_ndim, const int64_t *a, int b_ndim, const int64_t *b, int right, int x_ndim,
                        const int64_t *x) {
    test_call c;
    test_call_start(&c, BP_OP_SOLVE);
    c.call.right = right;
    test_call_input(&c, 0, BP_F64, a_ndim, a, ROW_MAJOR);
    test_call_input(&c, 1, BP_F64, b_ndim, b, ROW_MAJOR);
    shape_is(&c, 2, BP_F64, x_ndim, x);
    test_call_end(&c);
}

/* torch.linalg.solve's rule for vectors. */
static void shapes_of_solutions(void **unused) {
    (void)unused;
    solve_shape(TEST_SHAPE(3, 3), TEST_SHAPE(3), 0, TEST_SHAPE(3));
    solve_shape(TEST_SHAPE(2, 3, 3), TEST_SHAPE(3), 0, TEST_SHAPE(2, 3));
    solve_shape(TEST_SHAPE(2, 3, 3), TEST_SHAPE(2, 3), 0, TEST_SHAPE(2, 3));
    solve_shape(TEST_SHAPE(2, 3, 3), TEST_SHAPE(3, 2), 0, TEST_SHAPE(2, 3, 2));
    solve_shape(TEST_SHAPE(3, 3, 3), TEST_SHAPE(3, 3), 0, TEST_SHAPE(3, 3)); /* a stack of vectors, not one matrix */
    solve_shape(TEST_SHAPE(3, 3), TEST_SHAPE(5, 3, 4), 0, TEST_SHAPE(5, 3, 4));
    solve_shape(TEST_SHAPE(4, 1, 3, 3), TEST_SHAPE(5, 3, 2), 0, TEST_SHAPE(4, 5, 3, 2));
    solve_shape(TEST_SHAPE(3, 3), TEST_SHAPE(4, 3), 1, TEST_SHAPE(4, 3));
    solve_shape(TEST_SHAPE(3, 3), TEST_SHAPE(3, 0), 0, TEST_SHAPE(3, 0));
    solve_shape(TEST_SHAPE(0, 3, 3), TEST_SHAPE(1, 3, 2), 0, TEST_SHAPE(0, 3, 2));
    test_call c;
    test_call_start(&c, BP_OP_LSTSQ);
    test_call_input(&c, 0, BP_C128, TEST_SHAPE(2, 5, 3), ROW_MAJOR);
    test_call_input(&c, 1, BP_C128, TEST_SHAPE(2, 5), ROW_MAJOR);
    c.call.mode = BP_LSTSQ_GELSD;
    shape_is(&c, 2, BP_C128, TEST_SHAPE(2, 3));
    shape_is(&c, 3, BP_F64, TEST_SHAPE(2, 1));
    shape_is(&c, 4, BP_I64, TEST_SHAPE(2));
    shape_is(&c, 5, BP_F64, TEST_SHAPE(2, 3));
    bp_dtype dtype;
    int ndim;
    int64_t shape[BP_MAX_NDIM];
    c.call.mode = BP_LSTSQ_GELS;
    test_refused(bp_linalg_shape(&c.call, 2, &dtype, &ndim, shape), BP_E_ARGUMENT,
                 "rank is not computed with this driver");
    c.call.mode = BP_MODE_DEFAULT;
    test_refused(bp_linalg_shape(&c.call, 3, &dtype, &ndim, shape), BP_E_ARGUMENT,
                 "S is not computed with this driver");
    test_call_end(&c);
}

/* ---- Problems ---- */

static void run(test_call *c) {
    if (bp_linalg_run(NULL, &c->call) != BP_OK) {
        fail_msg("%s: %s", bp_op_name(c->call.op), bp_last_error());
    }
}

static void a_problem_contains_the_whole_call(void **unused) {
    (void)unused;
    test_call c;
    test_call_start(&c, BP_OP_SOLVE);
    test_call_input(&c, 0, BP_F64, TEST_SHAPE(4, 1, 3, 3), COLUMN_MAJOR);
    test_call_input(&c, 1, BP_F64, TEST_SHAPE(5, 3, 1), REVERSED);
    test_call_outputs(&c, 1u << 2 | 1u << 3, ROW_MAJOR);
    run(&c);
    const bp_linalg_problem *l = &recorder->planned.of.linalg;
    assert_true(recorder->planned.op == BP_OP_SOLVE && recorder->planned.dtype == BP_F64);
    assert_true(l->m == 3 && l->n == 3 && l->k == 1 && l->a_on_left == 1 && l->fail_on_item_error == 0 &&
                l->empty == 0 && l->mode == 0);
    assert_true(l->batch_ndim == 2 && l->batch == 20 && l->batch_shape[0] == 4 && l->batch_shape[1] == 5);
    assert_true(l->operand[0].dtype == BP_F64 && l->operand[0].row == 1 && l->operand[0].column == 3);
    assert_true(l->operand[0].batch[0] == 9 && l->operand[0].batch[1] == 0);
    assert_true(l->operand[1].row == -1 && l->operand[1].column == 0 && l->operand[1].columns == 1);
    assert_true(l->operand[1].batch[0] == 0 && l->operand[1].batch[1] == -3);
    assert_true(l->operand[2].batch[0] == 15 && l->operand[2].batch[1] == 3);
    assert_true(l->operand[3].dtype == BP_I32 && l->operand[3].rows == 1 && l->operand[3].columns == 1);
    assert_true(l->operand[3].batch[0] == 5 && l->operand[3].batch[1] == 1);
    assert_true(l->operand[4].dtype == 0 && l->rtol == 0 && l->atol == 0 && l->order == 0);
    for (int i = 0; i < 4; i++) {
        const DLTensor *t = test_operand(&c, i);
        assert_ptr_equal(recorder->operands[i], (char *)t->data + t->byte_offset);
    }
    test_call_end(&c);
}

static void batches_merge(void **unused) {
    (void)unused;
    test_call c;
    test_call_start(&c, BP_OP_INV);
    test_call_input(&c, 0, BP_F32, TEST_SHAPE(2, 1, 3, 4, 4), ROW_MAJOR);
    test_call_outputs(&c, 1u << 1, ROW_MAJOR);
    run(&c);
    const bp_linalg_problem *l = &recorder->planned.of.linalg;
    assert_true(l->batch_ndim == 1 && l->batch == 6 && l->operand[0].batch[0] == 16 && l->operand[1].batch[0] == 16);
    assert_int_equal(l->fail_on_item_error, 1);
    test_call_end(&c);
    test_call_start(&c, BP_OP_DET);
    test_call_input(&c, 0, BP_F32, TEST_SHAPE(1, 1, 4, 4), PADDED);
    test_call_outputs(&c, 1u << 1, ROW_MAJOR);
    run(&c);
    assert_true(l->batch_ndim == 0 && l->batch == 1);
    test_call_end(&c);
    /* 17 dimensions with irregular strides are too many; with regular strides they merge. */
    int64_t shape[19], strides[19], step = 4;
    bp_view a, det;
    for (int i = 18; i >= 0; i--) {
        shape[i] = i > 16 ? 1 : 2;
        strides[i] = step;
        step *= i > 16 ? 1 : 3;
    }
    static double cell;
    assert_int_equal(bp_view_init(&a, &cell, BP_F64, 19, shape, strides), BP_OK);
    assert_int_equal(bp_view_init(&det, &cell, BP_F64, 17, shape, NULL), BP_OK);
    bp_linalg_call call = {.struct_size = sizeof call, .op = BP_OP_DET, .input = {&a.tensor}, .output = {&det.tensor}};
    bp_plan *plan;
    a.tensor.data = det.tensor.data = NULL;
    test_refused(bp_linalg_plan(&plan, NULL, &call), BP_E_LAYOUT, "17 batch dimensions remain after merging");
    a.tensor.strides = NULL;
    assert_int_equal(bp_linalg_plan(&plan, NULL, &call), BP_OK);
    bp_plan_release(plan);
    assert_true(l->batch_ndim == 1 && l->batch == 1 << 17);
}

static void problems_of_empty_matrices_are_marked(void **unused) {
    (void)unused;
    static const struct {
        bp_op op;
        int64_t shape[3];
    } cases[] = {{BP_OP_DET, {2, 0, 0}}, {BP_OP_SVD, {1, 0, 3}}, {BP_OP_SVD, {1, 3, 0}}, {BP_OP_LU_FACTOR, {2, 4, 0}}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        test_call c;
        test_call_start(&c, cases[i].op);
        c.call.mode = cases[i].op == BP_OP_SVD ? BP_SVD_FULL : BP_MODE_DEFAULT;
        test_call_input(&c, 0, BP_F64, 3, cases[i].shape, ROW_MAJOR);
        unsigned mask = cases[i].op == BP_OP_DET ? 2 : cases[i].op == BP_OP_SVD ? 14 : 14;
        test_call_outputs(&c, mask, ROW_MAJOR);
        run(&c);
        assert_int_equal(recorder->planned.of.linalg.empty, 1);
        test_call_end(&c);
    }
    /* An empty output means nothing to do. */
    test_call c;
    int runs = recorder->runs;
    test_call_start(&c, BP_OP_INV);
    test_call_input(&c, 0, BP_F64, TEST_SHAPE(0, 3, 3), ROW_MAJOR);
    test_call_outputs(&c, 6, ROW_MAJOR);
    run(&c);
    assert_int_equal(recorder->runs, runs);
    test_call_end(&c);
    /* No right-hand sides, but an info for each item. */
    test_call_start(&c, BP_OP_SOLVE);
    test_call_input(&c, 0, BP_F64, TEST_SHAPE(3, 2, 2), ROW_MAJOR);
    test_call_input(&c, 1, BP_F64, TEST_SHAPE(3, 2, 0), ROW_MAJOR);
    test_call_outputs(&c, 12, ROW_MAJOR);
    run(&c);
    assert_true(recorder->runs == runs + 1 && recorder->planned.of.linalg.empty == 1);
    test_call_end(&c);
}

static const bp_linalg_problem *tolerance_problem(bp_op op, bp_dtype dtype, const double *rtol, const double *atol) {
    test_call c;
    test_call_start(&c, op);
    test_call_input(&c, 0, dtype, TEST_SHAPE(6, 4), ROW_MAJOR);
    if (op == BP_OP_LSTSQ) {
        test_call_input(&c, 1, dtype, TEST_SHAPE(6, 2), ROW_MAJOR);
        test_call_outputs(&c, 1u << 2, ROW_MAJOR);
    } else {
        test_call_outputs(&c, 1u << 1, ROW_MAJOR);
    }
    c.call.rtol = rtol;
    c.call.atol = atol;
    run(&c);
    test_call_end(&c);
    return &recorder->planned.of.linalg;
}

static void tolerances_have_defaults(void **unused) {
    (void)unused;
    double tenth = 0.1, none = 0.0, negative = -1.0, nan_value = NAN;
    const bp_linalg_problem *l = tolerance_problem(BP_OP_PINV, BP_F32, NULL, NULL);
    assert_true(l->rtol == 6.0 * (double)FLT_EPSILON && l->atol == 0);
    l = tolerance_problem(BP_OP_MATRIX_RANK, BP_C128, NULL, NULL);
    assert_true(l->rtol == 6.0 * DBL_EPSILON && l->atol == 0);
    l = tolerance_problem(BP_OP_PINV, BP_F64, NULL, &tenth);
    assert_true(l->rtol == 0 && l->atol == 0.1);
    l = tolerance_problem(BP_OP_PINV, BP_F64, NULL, &none);
    assert_true(l->rtol == 6.0 * DBL_EPSILON && l->atol == 0);
    l = tolerance_problem(BP_OP_PINV, BP_F64, &tenth, &tenth);
    assert_true(l->rtol == 0.1 && l->atol == 0.1);
    l = tolerance_problem(BP_OP_LSTSQ, BP_F32, NULL, NULL);
    assert_true(l->rtol == 6.0 * (double)FLT_EPSILON && l->mode == BP_LSTSQ_GELSY && l->k == 2);
    l = tolerance_problem(BP_OP_LSTSQ, BP_F32, &none, NULL);
    assert_true(l->rtol == 0);
    l = tolerance_problem(BP_OP_LSTSQ, BP_F32, &negative, NULL);
    assert_true(l->rtol == (double)FLT_EPSILON / 2);
    l = tolerance_problem(BP_OP_LSTSQ, BP_C128, &negative, NULL);
    assert_true(l->rtol == DBL_EPSILON / 2);
    test_call c;
    test_call_start(&c, BP_OP_PINV);
    test_call_input(&c, 0, BP_F64, TEST_SHAPE(2, 2), ROW_MAJOR);
    test_call_outputs(&c, 2, ROW_MAJOR);
    c.call.rtol = &negative;
    test_refused(bp_linalg_run(NULL, &c.call), BP_E_ARGUMENT, "rtol is -1; it must be 0 or more");
    c.call.rtol = NULL;
    c.call.atol = &nan_value;
    test_refused(bp_linalg_run(NULL, &c.call), BP_E_ARGUMENT, "atol is");
    test_call_end(&c);
    test_call_start(&c, BP_OP_LSTSQ);
    test_call_input(&c, 0, BP_F64, TEST_SHAPE(2, 2), ROW_MAJOR);
    test_call_input(&c, 1, BP_F64, TEST_SHAPE(2, 1), ROW_MAJOR);
    test_call_outputs(&c, 1u << 2, ROW_MAJOR);
    c.call.rtol = &nan_value;
    test_refused(bp_linalg_run(NULL, &c.call), BP_E_ARGUMENT, "rcond is nan; it must be 0 or more, or negative");
    test_call_end(&c);
}

/* Rank and singular values of least squares belong to A. If neither is requested, a call without right-hand sides has
 * nothing to compute. */
static void no_right_sides(void **unused) {
    (void)unused;
    static const unsigned outputs[] = {1u << 2, 1u << 2 | 1u << 3, 1u << 2 | 1u << 4, 1u << 2 | 1u << 5};
    for (int i = 0; i < 4; i++) {
        test_call c;
        test_call_start(&c, BP_OP_LSTSQ);
        c.call.mode = BP_LSTSQ_GELSD;
        test_call_input(&c, 0, BP_F64, TEST_SHAPE(6, 4), ROW_MAJOR);
        test_call_input(&c, 1, BP_F64, TEST_SHAPE(6, 0), ROW_MAJOR);
        test_call_outputs(&c, outputs[i], ROW_MAJOR);
        int runs = recorder->runs;
        run(&c);
        assert_int_equal(recorder->runs, runs + (i > 1));
        assert_true(i < 2 || (recorder->planned.of.linalg.empty == 0 && recorder->planned.of.linalg.k == 0));
        test_call_end(&c);
    }
}

/* Each option is part of the key: the same call with another option is another plan. */
static void options_reach_the_problem(void **unused) {
    (void)unused;
    test_call c;
    const bp_linalg_problem *l = &recorder->planned.of.linalg;
    test_call_start(&c, BP_OP_SOLVE_TRIANGULAR);
    test_call_input(&c, 0, BP_F64, TEST_SHAPE(3, 3), ROW_MAJOR);
    test_call_input(&c, 1, BP_F64, TEST_SHAPE(3, 3), ROW_MAJOR);
    test_call_outputs(&c, 1u << 2, ROW_MAJOR);
    for (int round = 0; round < 2; round++) {
        for (int flags = 0; flags < 8; flags++) {
            int plans = recorder->plans;
            assert_int_equal(bp_solve_triangular(test_operand(&c, 0), test_operand(&c, 1), flags & 1 ? 7 : 0, flags & 2,
                                                 flags & 4, test_operand(&c, 2)),
                             BP_OK);
            assert_int_equal(recorder->plans, plans + (round == 0));
            if (round == 0) {
                assert_true(l->upper == (flags & 1) && l->a_on_left == !(flags & 2) &&
                            l->unit_diagonal == !!(flags & 4));
            }
        }
    }
    test_call_end(&c);
    test_call_start(&c, BP_OP_MATRIX_NORM);
    test_call_input(&c, 0, BP_F64, TEST_SHAPE(3, 3), ROW_MAJOR);
    test_call_outputs(&c, 2, ROW_MAJOR);
    const double orders[] = {1, -1, 2, -2, INFINITY, -INFINITY};
    for (int i = 0; i < 6; i++) {
        assert_int_equal(bp_matrix_norm(test_operand(&c, 0), BP_NORM_P, orders[i], test_operand(&c, 1)), BP_OK);
        assert_true(l->mode == BP_NORM_P && l->order == orders[i]);
    }
    assert_int_equal(bp_matrix_norm(test_operand(&c, 0), BP_MODE_DEFAULT, 0, test_operand(&c, 1)), BP_OK);
    assert_true(l->mode == BP_NORM_FRO && l->order == 0);
    assert_int_equal(bp_cond(test_operand(&c, 0), BP_MODE_DEFAULT, 0, test_operand(&c, 1)), BP_OK);
    assert_true(recorder->planned.op == BP_OP_COND && l->mode == BP_NORM_P && l->order == 2);
    test_call_end(&c);
}

static void item_failure_with_info_does_not_fail_the_call(void **unused) {
    (void)unused;
    test_call c;
    test_call_start(&c, BP_OP_CHOLESKY);
    test_call_input(&c, 0, BP_F64, TEST_SHAPE(5, 3, 3), ROW_MAJOR);
    test_call_outputs(&c, 6, ROW_MAJOR);
    DLTensor *a = test_operand(&c, 0), *l = test_operand(&c, 1), *info = test_operand(&c, 2);
    recorder->item = 3;
    recorder->info = 2;
    for (int round = 0; round < 2; round++) { /* the second call takes the fast path */
        assert_int_equal(bp_cholesky_ex(a, 0, l, info), BP_OK);
        assert_int_equal(bp_cholesky_ex(a, 0, l, NULL), BP_OK);
        test_refused(bp_cholesky(a, 0, l), BP_E_NOT_POSITIVE_DEFINITE, "linalg.cholesky: (Batch element 3): ");
        assert_int_equal(bp_linalg_run(NULL, &c.call), BP_OK);
        c.call.fail_on_item_error = 1;
        test_refused(bp_linalg_run(NULL, &c.call), BP_E_NOT_POSITIVE_DEFINITE, "leading minor of order 2");
        c.call.fail_on_item_error = 0;
    }
    recorder->info = BP_INFO_NON_FINITE;
    test_refused(bp_cholesky(a, 1, l), BP_E_NON_FINITE, "NaN or infinity");
    recorder->info = 0;
    test_call_end(&c);
}

/* A call that succeeded is checked again if its memory has other addresses. */
static void the_fast_path_checks_addresses(void **unused) {
    (void)unused;
    double cells[64] = {0};
    bp_view a, x;
    bp_view_matrix(&a, cells, BP_F64, 3, 3);
    bp_view_matrix(&x, cells + 16, BP_F64, 3, 3);
    int plans = recorder->plans, runs = recorder->runs;
    assert_int_equal(bp_inv(&a.tensor, &x.tensor), BP_OK);
    assert_int_equal(bp_inv(&a.tensor, &x.tensor), BP_OK);
    x.tensor.data = cells + 32;
    assert_int_equal(bp_inv(&a.tensor, &x.tensor), BP_OK);
    assert_true(recorder->plans <= plans + 1 && recorder->runs == runs + 3);
    assert_ptr_equal(recorder->operands[1], cells + 32);
    x.tensor.data = cells + 4;
    test_refused(bp_inv(&a.tensor, &x.tensor), BP_E_OVERLAP, "inverse, which is written, overlaps A");
    x.tensor.data = NULL;
    test_refused(bp_inv(&a.tensor, &x.tensor), BP_E_ARGUMENT, "data pointer is NULL");
    assert_int_equal(recorder->runs, runs + 3);
}

/* ---- Plans and explanations ---- */

static void plans_and_explanations(void **unused) {
    (void)unused;
    double in[8] = {0}, out[8], values[4];
    bp_view a, v, w;
    bp_plan *plan;
    bp_explanation *e;
    bp_view_init(&a, NULL, BP_F64, TEST_SHAPE(2, 2, 2), NULL);
    bp_view_init(&v, NULL, BP_F64, TEST_SHAPE(2, 2, 2), NULL);
    bp_view_init(&w, NULL, BP_F64, TEST_SHAPE(2, 2), NULL);
    bp_linalg_call call = {
        .struct_size = sizeof call, .op = BP_OP_EIGH, .input = {&a.tensor}, .output = {&w.tensor, &v.tensor}};
    assert_int_equal(bp_linalg_plan(&plan, NULL, &call), BP_OK);
    bp_plan_info info = {.struct_size = sizeof info};
    assert_int_equal(bp_plan_describe(plan, &info), BP_OK);
    assert_string_equal(info.operation, "eigh");
    assert_string_equal(info.library, "recorder");
    assert_non_null(strstr(info.problem, "f64 2 x 2x2"));
    assert_int_equal(bp_execute(plan, (bp_operand[]){{in, 0}, {values, 0}, {out, 0}}, NULL), BP_OK);
    assert_ptr_equal(recorder->operands[2], out);
    bp_plan_release(plan);
    assert_int_equal(bp_linalg_explain(&e, NULL, &call), BP_OK);
    assert_non_null(strstr(bp_explanation_text(e), "recorder"));
    bp_explanation_release(e);
    bp_options *options;
    assert_int_equal(bp_options_new(&options, "linalg.preferred=nowhere, dispatch.fallback=strict"), BP_OK);
    test_refused(bp_linalg_plan(&plan, options, &call), BP_E_NOT_FOUND, "nowhere");
    assert_null(plan);
    test_refused(bp_linalg_run(options, &call), BP_E_ARGUMENT, "data pointer is NULL");
    bp_options_release(options);
    call.input[0] = NULL;
    test_refused(bp_linalg_plan(&plan, NULL, &call), BP_E_ARGUMENT, "tensor 'A' is NULL");
    test_refused(bp_linalg_explain(&e, NULL, &call), BP_E_ARGUMENT, "tensor 'A' is NULL");
    test_refused(bp_linalg_plan(NULL, NULL, &call), BP_E_ARGUMENT, "plan must not be NULL");
    test_refused(bp_linalg_explain(NULL, NULL, &call), BP_E_ARGUMENT, "explanation must not be NULL");
}

/* ---- Preferences ---- */

static void preferences_are_checked_first(void **unused) {
    (void)unused;
    assert_int_equal(bp_preferred_set("linalg.preferred", "recorder"), BP_OK);
    assert_string_equal(bp_get_linalg_preferred(), "recorder");
    test_refused(bp_preferred_set("linalg.preferred", "recorded"), BP_E_NOT_FOUND,
                 "no library 'recorded' was found; linear algebra is offered by");
    assert_non_null(strstr(bp_last_error(), "recorder"));
    test_refused(bp_preferred_set("linalg.preferred", NULL), BP_E_ARGUMENT, "library is NULL");
    assert_string_equal(bp_get_linalg_preferred(), "recorder");
    assert_int_equal(bp_preferred_set("linalg.preferred", "default"), BP_OK);
    assert_string_equal(bp_get_linalg_preferred(), "");
    assert_int_equal(bp_preferred_set("linalg.preferred", "recorder"), BP_OK);
    assert_int_equal(bp_preferred_set("linalg.preferred", ""), BP_OK);
    assert_string_equal(bp_get_linalg_preferred(), "");
    assert_int_equal(bp_unset("linalg.preferred"), BP_OK);
}

int main(void) {
    recorder = test_recorder();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes_of_factorizations),
        cmocka_unit_test(shapes_of_square_matrices),
        cmocka_unit_test(shapes_of_solutions),
        cmocka_unit_test(a_problem_contains_the_whole_call),
        cmocka_unit_test(batches_merge),
        cmocka_unit_test(problems_of_empty_matrices_are_marked),
        cmocka_unit_test(tolerances_have_defaults),
        cmocka_unit_test(no_right_sides),
        cmocka_unit_test(options_reach_the_problem),
        cmocka_unit_test(item_failure_with_info_does_not_fail_the_call),
        cmocka_unit_test(the_fast_path_checks_addresses),
        cmocka_unit_test(plans_and_explanations),
        cmocka_unit_test(preferences_are_checked_first),
    };
    return recorder ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
}
