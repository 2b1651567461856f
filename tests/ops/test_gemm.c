/* test_gemm.c - bp_gemm: factors, transforms, conjugation, accumulation into C, stacks; compared with sums in long
 * double. */
#include "ops/reference.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define I64(...) ((const int64_t[]){__VA_ARGS__})

static unsigned seed = 7;
static const bp_dtype dtypes[] = {BP_F16, BP_BF16, BP_F32, BP_F64, BP_C64, BP_C128};
#define DTYPES ((int)(sizeof dtypes / sizeof dtypes[0]))

static bool transposes(bp_transform t) {
    return t == BP_TRANSPOSE || t == BP_CONJUGATE_TRANSPOSE;
}

static bool conjugates(bp_transform t) {
    return t == BP_CONJUGATE || t == BP_CONJUGATE_TRANSPOSE;
}

/* Makes a view of the same memory with its last two dimensions swapped. */
static void turned(bp_view *v, const bp_view *from, bool turn) {
    bp_view_init(v, from->tensor.data, bp_dtype_from_dlpack(from->tensor.dtype), from->tensor.ndim, from->shape,
                 from->strides);
    v->tensor.byte_offset = from->tensor.byte_offset;
    int last = from->tensor.ndim - 1;
    if (turn) {
        v->shape[last] = from->shape[last - 1];
        v->shape[last - 1] = from->shape[last];
        v->strides[last] = from->strides[last - 1];
        v->strides[last - 1] = from->strides[last];
    }
}

static void check(bp_dtype dtype, int64_t m, int64_t k, int64_t n, bp_transform ta, bp_transform tb, bp_scalar alpha,
                  bp_scalar beta, test_order order) {
    test_tensor a, b, c, before;
    if (dtype != BP_C64 && dtype != BP_C128) {
        alpha.im = beta.im = 0;
    }
    test_tensor_new(&a, dtype, 2, transposes(ta) ? I64(k, m) : I64(m, k), order, &seed);
    test_tensor_new(&b, dtype, 2, transposes(tb) ? I64(n, k) : I64(k, n), ROW_MAJOR, &seed);
    unsigned copy = seed;
    test_tensor_new(&c, dtype, 2, I64(m, n), order, &seed);
    test_tensor_new(&before, dtype, 2, I64(m, n), order, &copy);
    assert_int_equal(bp_gemm(ta, tb, &alpha, &a.view.tensor, &b.view.tensor, &beta, &c.view.tensor), BP_OK);
    bp_view left, right;
    turned(&left, &a.view, transposes(ta));
    turned(&right, &b.view, transposes(tb));
    double error =
        test_product_error(&left.tensor, conjugates(ta), &right.tensor, conjugates(tb), CMPLXL(alpha.re, alpha.im),
                           CMPLXL(beta.re, beta.im), &before.view.tensor, &c.view.tensor);
    if (!(error <= 1.0)) {
        fail_msg("%s %dx%dx%d transforms %d %d alpha %g beta %g order %d: error is %g of its bound",
                 bp_dtype_name(dtype), (int)m, (int)k, (int)n, ta, tb, alpha.re, beta.re, order, error);
    }
    test_tensor_check_guards(&c);
    test_tensor_free(&a);
    test_tensor_free(&b);
    test_tensor_free(&c);
    test_tensor_free(&before);
}

static void factors_and_transforms(void **state) {
    (void)state;
    static const bp_scalar factors[] = {{0, 0}, {1, 0}, {-0.5, 0.25}};
    for (int t = 0; t < DTYPES; t++) {
        for (int i = 0; i < 4 * 4 * 3 * 3; i++) {
            bp_transform ta = (bp_transform)(i % 4);
            bp_transform tb = (bp_transform)(i / 4 % 4);
            check(dtypes[t], 5, 4, 6, ta, tb, factors[i / 16 % 3], factors[i / 48], ROW_MAJOR);
            check(dtypes[t], 3, 6, 2, ta, tb, factors[i / 16 % 3], factors[i / 48], (test_order)(i % ORDERS));
            check(dtypes[t], 1, 7, 5, ta, tb, factors[i / 16 % 3], factors[i / 48], PADDED);
            check(dtypes[t], 5, 7, 1, ta, tb, factors[i / 16 % 3], factors[i / 48], COLUMN_MAJOR);
        }
    }
}

static void an_empty_inner_dimension_scales_c(void **state) {
    (void)state;
    for (int t = 0; t < DTYPES; t++) {
        check(dtypes[t], 4, 0, 3, BP_AS_IS, BP_AS_IS, (bp_scalar){1, 0}, (bp_scalar){0.5, 0.5}, ROW_MAJOR);
        check(dtypes[t], 4, 0, 3, BP_TRANSPOSE, BP_AS_IS, (bp_scalar){1, 0}, (bp_scalar){0, 0}, COLUMN_MAJOR);
        check(dtypes[t], 1, 0, 3, BP_AS_IS, BP_AS_IS, (bp_scalar){1, 0}, (bp_scalar){1, 0}, PADDED);
    }
}

/* With beta 0 the old C is not read, and with alpha 0 neither are A and B: NaN in them has no effect. */
static void zero_factors_read_nothing(void **state) {
    (void)state;
    static const int64_t shapes[][3] = {{4, 3, 5}, {1, 3, 5}, {4, 3, 1}, {1, 3, 1}, {40, 50, 60}, {4, 1, 5}};
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        int64_t m = shapes[s][0], k = shapes[s][1], n = shapes[s][2];
        test_tensor a, b, c;
        test_tensor_new(&a, BP_F64, 2, I64(m, k), ROW_MAJOR, &seed);
        test_tensor_new(&b, BP_F64, 2, I64(k, n), ROW_MAJOR, &seed);
        test_tensor_new(&c, BP_F64, 2, I64(m, n), ROW_MAJOR, &seed);
        test_set(&c.view.tensor, I64(0, 0), NAN);
        assert_int_equal(bp_gemm(BP_AS_IS, BP_AS_IS, NULL, &a.view.tensor, &b.view.tensor, NULL, &c.view.tensor),
                         BP_OK);
        assert_true(test_product_error(&a.view.tensor, false, &b.view.tensor, false, 1, 0, NULL, &c.view.tensor) <=
                    1.0);
        test_set(&a.view.tensor, I64(0, 0), NAN);
        test_set(&b.view.tensor, I64(0, 0), INFINITY);
        bp_scalar zero = {0, 0};
        bp_scalar two = {2, 0};
        long double complex old = test_get(&c.view.tensor, I64(0, 0));
        assert_int_equal(bp_gemm(BP_AS_IS, BP_AS_IS, &zero, &a.view.tensor, &b.view.tensor, &two, &c.view.tensor),
                         BP_OK);
        assert_true(test_get(&c.view.tensor, I64(0, 0)) == 2 * old);
        test_tensor_free(&a);
        test_tensor_free(&b);
        test_tensor_free(&c);
    }
}

static void stacks_broadcast_to_c(void **state) {
    (void)state;
    bp_scalar alpha = {2, 0};
    bp_scalar beta = {-1, 0};
    for (int t = 0; t < DTYPES; t++) {
        test_tensor a, b, c, before;
        test_tensor_new(&a, dtypes[t], 3, I64(3, 4, 5), ROW_MAJOR, &seed);
        test_tensor_new(&b, dtypes[t], 2, I64(5, 6), PADDED, &seed);
        unsigned copy = seed;
        test_tensor_new(&c, dtypes[t], 4, I64(2, 3, 4, 6), EVERY_OTHER, &seed);
        test_tensor_new(&before, dtypes[t], 4, I64(2, 3, 4, 6), EVERY_OTHER, &copy);
        assert_int_equal(bp_gemm(BP_AS_IS, BP_AS_IS, &alpha, &a.view.tensor, &b.view.tensor, &beta, &c.view.tensor),
                         BP_OK);
        assert_true(test_product_error(&a.view.tensor, false, &b.view.tensor, false, 2, -1, &before.view.tensor,
                                       &c.view.tensor) <= 1.0);
        test_tensor_check_guards(&c);
        assert_int_equal(bp_gemm(BP_AS_IS, BP_AS_IS, NULL, &c.view.tensor, &b.view.tensor, NULL, &a.view.tensor),
                         BP_E_SHAPE);
        test_tensor_free(&a);
        test_tensor_free(&b);
        test_tensor_free(&c);
        test_tensor_free(&before);
    }
}

static void plans_accept_other_factors_and_memory(void **state) {
    (void)state;
    test_tensor a, b, c, before;
    test_tensor_new(&a, BP_C128, 2, I64(4, 5), ROW_MAJOR, &seed);
    test_tensor_new(&b, BP_C128, 2, I64(5, 3), ROW_MAJOR, &seed);
    bp_view ca, cb, cc;
    bp_view_matrix(&ca, NULL, BP_C128, 4, 5);
    bp_view_matrix(&cb, NULL, BP_C128, 5, 3);
    bp_view_matrix(&cc, NULL, BP_C128, 4, 3);
    bp_scalar any = {3, 1};
    bp_plan *plan;
    assert_int_equal(bp_gemm_plan(&plan, NULL, BP_AS_IS, BP_CONJUGATE, &any, &ca.tensor, &cb.tensor, &any, &cc.tensor),
                     BP_OK);
    for (int i = 0; i < 3; i++) {
        unsigned copy = seed;
        test_tensor_new(&c, BP_C128, 2, I64(4, 3), ROW_MAJOR, &seed);
        test_tensor_new(&before, BP_C128, 2, I64(4, 3), ROW_MAJOR, &copy);
        bp_scalar scalars[2] = {{i + 2.0, -1}, {0.5, i + 1.0}};
        const DLTensor *A = &a.view.tensor, *B = &b.view.tensor, *C = &c.view.tensor;
        const bp_operand operands[] = {{A->data, A->byte_offset}, {B->data, B->byte_offset}, {C->data, C->byte_offset}};
        const bp_exec exec = {.struct_size = sizeof exec, .scalars = scalars};
        assert_int_equal(bp_execute(plan, operands, &exec), BP_OK);
        assert_true(test_product_error(A, false, B, true, CMPLXL(scalars[0].re, scalars[0].im),
                                       CMPLXL(scalars[1].re, scalars[1].im), &before.view.tensor, C) <= 1.0);
        test_tensor_free(&c);
        test_tensor_free(&before);
    }
    bp_plan_info info = {.struct_size = sizeof info};
    assert_int_equal(bp_last_plan(&info), BP_OK);
    assert_string_equal(info.operation, "gemm");
    assert_non_null(strstr(info.problem, "c128"));
    bp_plan_release(plan);
    test_tensor_free(&a);
    test_tensor_free(&b);
}

static void refusals(void **state) {
    (void)state;
    double x[64] = {0}, y[64] = {0}, z[64] = {0};
    bp_view a, b, c;
    bp_view_matrix(&a, x, BP_F64, 2, 3);
    bp_view_matrix(&b, y, BP_F64, 3, 4);
    bp_view_matrix(&c, z, BP_F64, 2, 4);
    assert_int_equal(bp_gemm((bp_transform)4, BP_AS_IS, NULL, &a.tensor, &b.tensor, NULL, &c.tensor), BP_E_ARGUMENT);
    assert_int_equal(bp_gemm(BP_AS_IS, (bp_transform)-1, NULL, &a.tensor, &b.tensor, NULL, &c.tensor), BP_E_ARGUMENT);
    assert_int_equal(bp_gemm(BP_TRANSPOSE, BP_AS_IS, NULL, &a.tensor, &b.tensor, NULL, &c.tensor), BP_E_SHAPE);
    /* Real matrices refuse an imaginary factor, even after the same call with a real one. */
    const bp_scalar two = {2, 0}, imaginary = {2, 1};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(bp_gemm(BP_AS_IS, BP_AS_IS, &two, &a.tensor, &b.tensor, &two, &c.tensor), BP_OK);
        assert_int_equal(bp_gemm(BP_AS_IS, BP_AS_IS, &imaginary, &a.tensor, &b.tensor, &two, &c.tensor), BP_E_ARGUMENT);
        assert_non_null(strstr(bp_last_error(), "alpha has an imaginary part"));
        assert_int_equal(bp_gemm(BP_AS_IS, BP_AS_IS, &two, &a.tensor, &b.tensor, &imaginary, &c.tensor), BP_E_ARGUMENT);
        assert_non_null(strstr(bp_last_error(), "beta has an imaginary part"));
    }
    c.shape[1] = 3;
    assert_int_equal(bp_gemm(BP_AS_IS, BP_AS_IS, NULL, &a.tensor, &b.tensor, NULL, &c.tensor), BP_E_SHAPE);
    bp_view_init(&a, x, BP_F64, 1, I64(3), NULL);
    assert_int_equal(bp_gemm(BP_AS_IS, BP_AS_IS, NULL, &a.tensor, &b.tensor, NULL, &c.tensor), BP_E_SHAPE);
    assert_non_null(strstr(bp_last_error(), "rank 1"));
    bp_plan *plan = (bp_plan *)x;
    assert_int_equal(bp_gemm_plan(&plan, NULL, BP_AS_IS, BP_AS_IS, NULL, &a.tensor, &b.tensor, NULL, &c.tensor),
                     BP_E_SHAPE);
    assert_null(plan);
    assert_int_equal(bp_gemm_plan(NULL, NULL, BP_AS_IS, BP_AS_IS, NULL, &a.tensor, &b.tensor, NULL, &c.tensor),
                     BP_E_ARGUMENT);
    for (int i = 0; i < 64; i++) {
        assert_true(z[i] == 0);
    }
}

static int reset(void **state) {
    (void)state;
    assert_int_equal(bp_reset(), BP_OK);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(factors_and_transforms),
        cmocka_unit_test(an_empty_inner_dimension_scales_c),
        cmocka_unit_test(zero_factors_read_nothing),
        cmocka_unit_test(stacks_broadcast_to_c),
        cmocka_unit_test(plans_accept_other_factors_and_memory),
        cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests(tests, NULL, reset);
}
