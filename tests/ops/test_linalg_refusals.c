/* test_linalg_refusals.c - arguments that linear algebra refuses, with their messages, and similar arguments that it
 * accepts.
 *
 * The provider computes nothing (recorder_provider.c). */
#include "ops/linalg_support.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static recorder_state *recorder;

static void parameters_are_checked(void **unused) {
    (void)unused;
    test_call c;
    test_call_start(&c, BP_OP_INV);
    test_call_input(&c, 0, BP_F64, TEST_SHAPE(3, 3), ROW_MAJOR);
    test_call_outputs(&c, 6, ROW_MAJOR);
    const double some = 0.5;
    const bp_linalg_call good = c.call;
    for (int warm = 0; warm < 2; warm++) {
        test_refused(bp_linalg_run(NULL, NULL), BP_E_ARGUMENT, "call must not be NULL");
        c.call.struct_size--;
        test_refused(bp_linalg_run(NULL, &c.call), BP_E_ARGUMENT, "struct_size is");
        c.call = good;
        c.call.op = BP_OP_GEMM;
        test_refused(bp_linalg_run(NULL, &c.call), BP_E_ARGUMENT, "operation 1 ('gemm') is not one of linear algebra");
        c.call.op = (bp_op)99;
        test_refused(bp_linalg_run(NULL, &c.call), BP_E_ARGUMENT, "operation 99");
        c.call = good;
        c.call.mode = BP_QR_COMPLETE;
        test_refused(bp_linalg_run(NULL, &c.call), BP_E_ARGUMENT, "mode is 2; this operation has none");
        c.call.mode = (bp_linalg_mode)77;
        test_refused(bp_linalg_run(NULL, &c.call), BP_E_ARGUMENT, "mode is 77");
        c.call = good;
        c.call.upper = 1;
        test_refused(bp_linalg_run(NULL, &c.call), BP_E_ARGUMENT, "upper is set; this operation");
        c.call = good;
        c.call.right = 1;
        test_refused(bp_linalg_run(NULL, &c.call), BP_E_ARGUMENT, "right is set; this operation");
        c.call = good;
        c.call.adjoint = 1;
        test_refused(bp_linalg_run(NULL, &c.call), BP_E_ARGUMENT, "adjoint is set; this operation");
        c.call = good;
        c.call.unitriangular = 1;
        test_refused(bp_linalg_run(NULL, &c.call), BP_E_ARGUMENT, "unitriangular is set; this operation");
        c.call = good;
        c.call.hermitian = 1;
        test_refused(bp_linalg_run(NULL, &c.call), BP_E_ARGUMENT, "hermitian is set; this operation");
        c.call = good;
        c.call.rtol = &some;
        test_refused(bp_linalg_run(NULL, &c.call), BP_E_ARGUMENT, "rtol is set; this operation");
        c.call = good;
        c.call.order = 2;
        test_refused(bp_linalg_run(NULL, &c.call), BP_E_ARGUMENT, "order is 2");
        c.call = good;
        c.call.output[2] = c.call.output[0];
        test_refused(bp_linalg_run(NULL, &c.call), BP_E_ARGUMENT, "output[2] is set; the number of outputs is 2");
        c.call = good;
        c.call.input[1] = good.input[0];
        test_refused(bp_linalg_run(NULL, &c.call), BP_E_ARGUMENT, "input[1] is set; the number of inputs is 1");
        c.call = good;
        assert_int_equal(bp_linalg_run(NULL, &c.call), BP_OK);
    }
    c.call.op = BP_OP_MATRIX_RANK;
    c.call.upper = 1;
    test_refused(bp_linalg_run(NULL, &c.call), BP_E_ARGUMENT, "requires hermitian");
    test_refused(bp_matrix_norm(test_operand(&c, 0), BP_NORM_P, 3, test_operand(&c, 2)), BP_E_ARGUMENT,
                 "order is 3; it must be 1");
    test_refused(bp_matrix_norm(test_operand(&c, 0), BP_NORM_P, NAN, test_operand(&c, 2)), BP_E_ARGUMENT,
                 "it must be 1, -1");
    test_refused(bp_cond(test_operand(&c, 0), BP_NORM_FRO, 1, test_operand(&c, 2)), BP_E_ARGUMENT,
                 "unless mode is BP_NORM_P");
    c.call = good;
    c.call.op = BP_OP_DET;
    c.call.fail_on_item_error = 1;
    c.call.output[1] = NULL;
    test_refused(bp_linalg_run(NULL, &c.call), BP_E_ARGUMENT, "fail_on_item_error is set; this operation");
    test_call_end(&c);
}

static bp_status shape_status(bp_op op, int a_ndim, const int64_t *a, bp_dtype dtype) {
    test_call c;
    bp_dtype out;
    int ndim;
    int64_t shape[BP_MAX_NDIM];
    bp_view view;
    test_call_start(&c, op);
    assert_int_equal(bp_view_init(&view, NULL, dtype, a_ndim, a, NULL), BP_OK);
    c.call.input[0] = &view.tensor;
    return bp_linalg_shape(&c.call, 0, &out, &ndim, shape);
}

static void inputs_are_checked(void **unused) {
    (void)unused;
    test_refused(shape_status(BP_OP_INV, TEST_SHAPE(3), BP_F64), BP_E_SHAPE,
                 "linalg.inv: A must have at least 2 dimensions; it has 1");
    test_refused(shape_status(BP_OP_QR, 0, NULL, BP_F64), BP_E_SHAPE, "linalg.qr: A must have at least 2 dimensions");
    test_refused(shape_status(BP_OP_CHOLESKY, TEST_SHAPE(2, 3, 4), BP_F64), BP_E_SHAPE,
                 "linalg.cholesky: A must be square, or a batch of square matrices, but is 3 by 4");
    test_refused(shape_status(BP_OP_DET, TEST_SHAPE(3, 3), BP_I32), BP_E_DTYPE, "A is i32; linear algebra takes f32");
    test_refused(shape_status(BP_OP_DET, TEST_SHAPE(3, 3), BP_F16), BP_E_DTYPE, "A is f16");
    bp_view a, b, x;
    bp_dtype dtype;
    int ndim;
    int64_t shape[BP_MAX_NDIM];
    bp_linalg_call call = {.struct_size = sizeof call, .op = BP_OP_SOLVE, .input = {&a.tensor, &b.tensor}};
    bp_view_init(&a, NULL, BP_F64, TEST_SHAPE(2, 3, 3), NULL);
    bp_view_init(&b, NULL, BP_F64, TEST_SHAPE(4, 2), NULL);
    test_refused(bp_linalg_shape(&call, 0, &dtype, &ndim, shape), BP_E_SHAPE,
                 "linalg.solve: B has shape (4, 2); it must have shape (*, 3, k) for a matrix of 3 by 3");
    bp_view_init(&b, NULL, BP_F64, TEST_SHAPE(5, 3, 2), NULL);
    test_refused(bp_linalg_shape(&call, 0, &dtype, &ndim, shape), BP_E_SHAPE,
                 "the batch (5) of B does not broadcast with (2)");
    bp_view_init(&b, NULL, BP_F32, TEST_SHAPE(3, 2), NULL);
    test_refused(bp_linalg_shape(&call, 0, &dtype, &ndim, shape), BP_E_DTYPE,
                 "B is f32; it must be f64, because A is f64");
    bp_view_init(&b, NULL, BP_F64, TEST_SHAPE(3), NULL);
    call.right = 1;
    test_refused(bp_linalg_shape(&call, 0, &dtype, &ndim, shape), BP_E_SHAPE, "B is a vector");
    bp_view_init(&b, NULL, BP_F64, 0, NULL, NULL);
    call.right = 0;
    test_refused(bp_linalg_shape(&call, 0, &dtype, &ndim, shape), BP_E_SHAPE,
                 "B must have at least 2 dimensions; it has 0");
    call.input[1] = NULL;
    test_refused(bp_linalg_shape(&call, 0, &dtype, &ndim, shape), BP_E_ARGUMENT, "tensor 'B' is NULL");
    bp_linalg_call lu = {.struct_size = sizeof lu, .op = BP_OP_LU_SOLVE, .input = {&a.tensor, &x.tensor, &b.tensor}};
    bp_view_init(&x, NULL, BP_I64, TEST_SHAPE(2, 3), NULL);
    bp_view_init(&b, NULL, BP_F64, TEST_SHAPE(3, 1), NULL);
    test_refused(bp_linalg_shape(&lu, 0, &dtype, &ndim, shape), BP_E_DTYPE,
                 "pivots is i64; it must be i32, because LU is f64");
    bp_view_init(&x, NULL, BP_I32, TEST_SHAPE(2, 2), NULL);
    test_refused(bp_linalg_shape(&lu, 0, &dtype, &ndim, shape), BP_E_SHAPE, "pivots has shape (2, 2)");
    bp_view_init(&b, NULL, BP_F64, TEST_SHAPE(3), NULL);
    test_refused(bp_linalg_shape(&lu, 0, &dtype, &ndim, shape), BP_E_SHAPE, "B must have at least 2 dimensions");
    /* Operations that only sometimes require a square matrix. */
    bp_view_init(&a, NULL, BP_F64, TEST_SHAPE(3, 4), NULL);
    bp_linalg_call other = {.struct_size = sizeof other, .op = BP_OP_COND, .input = {&a.tensor}};
    assert_int_equal(bp_linalg_shape(&other, 0, &dtype, &ndim, shape), BP_OK);
    other.mode = BP_NORM_NUC;
    test_refused(bp_linalg_shape(&other, 0, &dtype, &ndim, shape), BP_E_SHAPE, "must be square");
    other.mode = BP_NORM_P;
    other.order = INFINITY;
    test_refused(bp_linalg_shape(&other, 0, &dtype, &ndim, shape), BP_E_SHAPE, "must be square");
    other = (bp_linalg_call){.struct_size = sizeof other, .op = BP_OP_PINV, .input = {&a.tensor}, .hermitian = 1};
    test_refused(bp_linalg_shape(&other, 0, &dtype, &ndim, shape), BP_E_SHAPE, "must be square");
}

static bp_status norm_status(int64_t rows, int64_t columns, bp_linalg_mode mode, double order) {
    double cell, value;
    bp_view a, norm;
    bp_view_init(&a, &cell, BP_F64, TEST_SHAPE(rows, columns), NULL);
    bp_view_init(&norm, &value, BP_F64, 0, NULL, NULL);
    return bp_matrix_norm(&a.tensor, mode, order, &norm.tensor);
}

static void norms_of_nothing(void **unused) {
    (void)unused;
    test_refused(norm_status(3, 0, BP_NORM_P, 1), BP_E_SHAPE, "is undefined for a matrix");
    test_refused(norm_status(0, 3, BP_NORM_P, -INFINITY), BP_E_SHAPE, "is undefined for a matrix");
    test_refused(norm_status(0, 3, BP_NORM_P, 2), BP_E_SHAPE, "order 2 is undefined for a matrix of 0 by 3");
    assert_int_equal(norm_status(0, 3, BP_NORM_P, 1), BP_OK);
    assert_int_equal(norm_status(3, 0, BP_NORM_P, INFINITY), BP_OK);
    assert_int_equal(norm_status(0, 0, BP_NORM_FRO, 0), BP_OK);
    assert_int_equal(norm_status(0, 3, BP_NORM_NUC, 0), BP_OK);
}

static void outputs_are_checked(void **unused) {
    (void)unused;
    double cells[64] = {0};
    int32_t numbers[8];
    bp_view a, x, info, v;
    bp_view_matrix(&a, cells, BP_F64, 3, 3);
    bp_view_matrix(&x, cells + 16, BP_F64, 3, 4);
    test_refused(bp_inv(&a.tensor, NULL), BP_E_ARGUMENT, "tensor 'inverse' is NULL");
    test_refused(bp_inv(&a.tensor, &x.tensor), BP_E_SHAPE,
                 "linalg.inv: inverse has shape (3, 4); it must have shape (3, 3)");
    bp_view_matrix(&x, cells + 16, BP_C64, 3, 3);
    test_refused(bp_inv(&a.tensor, &x.tensor), BP_E_DTYPE, "inverse is c64; it must be f64");
    bp_view_matrix(&x, cells + 8, BP_F64, 3, 3);
    test_refused(bp_inv(&a.tensor, &x.tensor), BP_E_OVERLAP, "inverse, which is written, overlaps A");
    test_refused(bp_inv(&a.tensor, &a.tensor), BP_E_OVERLAP, "inverse, which is written, overlaps A");
    bp_view_init(&x, cells + 16, BP_F64, TEST_SHAPE(3, 3), (const int64_t[]){1, 1});
    test_refused(bp_inv(&a.tensor, &x.tensor), BP_E_OVERLAP, "give two indices the same address");
    bp_view_matrix(&x, cells + 16, BP_F64, 3, 3);
    bp_view_init(&info, cells + 17, BP_I32, 0, NULL, NULL);
    test_refused(bp_inv_ex(&a.tensor, &x.tensor, &info.tensor), BP_E_OVERLAP,
                 "info, which is written, overlaps inverse");
    bp_view_init(&info, numbers, BP_I64, 0, NULL, NULL);
    test_refused(bp_inv_ex(&a.tensor, &x.tensor, &info.tensor), BP_E_DTYPE, "info is i64; it must be i32");
    bp_view_init(&info, numbers, BP_I32, TEST_SHAPE(1), NULL);
    test_refused(bp_inv_ex(&a.tensor, &x.tensor, &info.tensor), BP_E_SHAPE,
                 "info has shape (1); it must have shape ()");
    bp_view_init(&x, cells + 16, BP_F64, TEST_SHAPE(3), NULL);
    test_refused(bp_eigh(&a.tensor, 0, &x.tensor, NULL), BP_E_ARGUMENT, "'V' is NULL");
    test_refused(bp_svd(&a.tensor, 0, NULL, &x.tensor, &v.tensor), BP_E_ARGUMENT, "'U' is NULL");
    bp_view_matrix(&v, cells + 24, BP_F64, 3, 3);
    test_refused(bp_svd(&a.tensor, 0, &v.tensor, &x.tensor, NULL), BP_E_ARGUMENT, "'Vh' is NULL");
    bp_linalg_call svd = {
        .struct_size = sizeof svd, .op = BP_OP_SVD, .input = {&a.tensor}, .output = {&v.tensor, &x.tensor}};
    test_refused(bp_linalg_run(NULL, &svd), BP_E_ARGUMENT, "both be NULL");
    test_refused(bp_qr(&a.tensor, BP_QR_R, &v.tensor, &v.tensor), BP_E_ARGUMENT, "Q is not computed with this mode");
    test_refused(bp_qr(&a.tensor, BP_QR_REDUCED, NULL, &v.tensor), BP_E_ARGUMENT, "tensor 'Q' is NULL");
    assert_int_equal(bp_qr(&a.tensor, BP_QR_R, NULL, &v.tensor), BP_OK);
    assert_int_equal(bp_svdvals(&a.tensor, &x.tensor), BP_OK);
    assert_int_equal(bp_eigvalsh(&a.tensor, 1, &x.tensor), BP_OK);
    assert_true(recorder->planned.op == BP_OP_EIGH && recorder->planned.of.linalg.upper == 1);
    assert_int_equal(recorder->planned.of.linalg.operand[2].dtype, 0);
}

int main(void) {
    recorder = test_recorder();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parameters_are_checked),
        cmocka_unit_test(inputs_are_checked),
        cmocka_unit_test(norms_of_nothing),
        cmocka_unit_test(outputs_are_checked),
    };
    return recorder ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
}
