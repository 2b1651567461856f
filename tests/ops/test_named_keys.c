/* test_named_keys.c - calls that differ in one field only have plans of their own, so that none gets the result of
 * another one. */
#include "backplane.h"
#include "ops/linalg/linalg.h"
#include "named_tensors.h"

#include <math.h>
#include <string.h>

static double sum_of(const double *first, int step) {
    return first[0] + first[step] + first[2 * step];
}

static void axes_are_in_the_key(void **state) {
    bp_view *to = view(out, BP_F64, 2, I64(3, 3)), *transformed = view(out, BP_C128, 2, I64(3, 3));
    const DLTensor *x = TENSOR(in[0], BP_F64, 2, 3, 3), *sums = TENSOR(out, BP_F64, 1, 3);
    const DLTensor *y = TENSOR(in[1], BP_C128, 2, 3, 3);
    (void)state;
    for (int times = 0; times < 2; times++) {
        for (int axis = 0; axis < 2; axis++) {
            const int step = axis ? 1 : 3, other = axis ? 3 : 1;
            assert_int_equal(bp_softmax_run(NULL, BP_SOFTMAX, x, axis, &to->tensor), BP_OK);
            assert_true(fabs(sum_of(out + other, step) - 1) < 1e-12);
            assert_int_equal(bp_reduce_run(NULL, BP_REDUCE_SUM, x, 1, &axis, 0, written(sums)), BP_OK);
            assert_true(fabs(sum_of(in[0] + other, step) - out[1]) < 1e-12);
            assert_int_equal(bp_vector_norm(x, 1, 1, &axis, 0, written(sums)), BP_OK);
            const double *at = in[0] + other;
            assert_true(fabs(fabs(at[0]) + fabs(at[step]) + fabs(at[2 * step]) - out[1]) < 1e-12);
            assert_int_equal(bp_fft(y, BP_FFT_LENGTH, axis, BP_FFT_BACKWARD, &transformed->tensor), BP_OK);
            assert_true(fabs(sum_of(in[1] + 2 * other, 2 * step) - out[2 * other]) < 1e-12);
        }
    }
}

static void indexed_axes_are_in_the_key(void **state) {
    static int64_t indices[] = {2, 0, 1};
    bp_view at;
    const DLTensor *x = TENSOR(in[0], BP_F64, 2, 3, 3), *to = TENSOR(out, BP_F64, 2, 3, 3);
    (void)state;
    assert_int_equal(bp_view_init(&at, indices, BP_I64, 1, I64(3), NULL), BP_OK);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(bp_take_run(NULL, x, &at.tensor, i % 2, written(to)), BP_OK);
        assert_true(out[1] == in[0][i % 2 ? 0 : 7]);
    }
}

/* 6 and 7 real points have as many frequencies. */
static void lengths_are_in_the_key(void **state) {
    const DLTensor *x = TENSOR(in[0], BP_F64, 1, 8);
    bp_view *to = view(out, BP_C128, 1, I64(4));
    (void)state;
    for (int i = 0; i < 4; i++) {
        const int n = 6 + i % 2;
        double sum = 0;
        for (int k = 0; k < n; k++) {
            sum += in[0][k];
        }
        assert_int_equal(bp_rfft(x, n, 0, BP_FFT_BACKWARD, &to->tensor), BP_OK);
        assert_true(fabs(out[0] - sum) < 1e-12);
    }
}

static void tolerances_are_in_the_key(void **state) {
    static double scaled[] = {10, 0, 0, 0, 5e-3, 0, 0, 0, 5e-6}, limits[] = {1e-8, 1e-5, 1e-3};
    static const int64_t relative[] = {3, 2, 1}, absolute[] = {3, 2, 2};
    int64_t rank = 0;
    bp_view to;
    const DLTensor *x = TENSOR(scaled, BP_F64, 2, 3, 3);
    (void)state;
    assert_int_equal(bp_view_init(&to, &rank, BP_I64, 0, NULL, NULL), BP_OK);
    for (int i = 0; i < 6; i++) {
        assert_int_equal(bp_matrix_rank(x, &limits[i % 3], NULL, 0, &to.tensor), BP_OK);
        assert_int_equal(rank, relative[i % 3]);
        assert_int_equal(bp_matrix_rank(x, NULL, &limits[i % 3], 0, &to.tensor), BP_OK);
        assert_int_equal(rank, absolute[i % 3]);
    }
}

static void modes_orders_and_flags_are_in_the_key(void **state) {
    static double upper[] = {2, 1, 4, 0, 3, 5, 0, 0, 6};
    bp_view *norm = view(out, BP_F64, 0, NULL);
    bp_view *to = view(out + 1, BP_F64, 2, I64(3, 3)), *ones = view(in[3], BP_F64, 2, I64(3, 3));
    const DLTensor *x = TENSOR(upper, BP_F64, 2, 3, 3);
    (void)state;
    for (int i = 0; i < 9; i++) {
        ones->tensor.data = in[3];
        in[3][i] = 1;
    }
    for (int times = 0; times < 2; times++) {
        assert_int_equal(bp_matrix_norm(x, BP_NORM_FRO, 0, &norm->tensor), BP_OK);
        assert_true(fabs(out[0] - sqrt(91)) < 1e-12);
        assert_int_equal(bp_matrix_norm(x, BP_NORM_P, 1, &norm->tensor), BP_OK);
        assert_true(out[0] == 15);
        assert_int_equal(bp_matrix_norm(x, BP_NORM_P, HUGE_VAL, &norm->tensor), BP_OK);
        assert_true(out[0] == 8);
        for (int unit = 0; unit < 2; unit++) { /* the last row of X is the last row of B, divided by the diagonal */
            assert_int_equal(bp_solve_triangular(x, &ones->tensor, 1, 0, unit, &to->tensor), BP_OK);
            assert_true(fabs(out[1 + 6] - (unit ? 1 : 1.0 / 6)) < 1e-12);
        }
    }
}

/* An input that is the output may overlap it; another one at the same address, with other strides, may not. */
static void inputs_in_place_are_in_the_key(void **state) {
    const int64_t turned[] = {1, 3};
    bp_view *a = view(out, BP_F64, 2, I64(3, 3)), *c = view(in[2], BP_F64, 2, I64(3, 3)), b;
    (void)state;
    assert_int_equal(bp_view_init(&b, in[1], BP_F64, 2, I64(3, 3), turned), BP_OK);
    assert_int_equal(bp_binary_run(NULL, BP_BINARY_ADD, &a->tensor, &b.tensor, &a->tensor), BP_OK);
    b.tensor.data = out;
    assert_int_equal(bp_binary_run(NULL, BP_BINARY_ADD, &c->tensor, &b.tensor, &a->tensor), BP_E_OVERLAP);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(axes_are_in_the_key),
        cmocka_unit_test(indexed_axes_are_in_the_key),
        cmocka_unit_test(lengths_are_in_the_key),
        cmocka_unit_test(tolerances_are_in_the_key),
        cmocka_unit_test(modes_orders_and_flags_are_in_the_key),
        cmocka_unit_test(inputs_in_place_are_in_the_key),
    };
    return cmocka_run_group_tests(tests, fill, NULL);
}
