/* test_reference.c - tests the reference values of compare: more precise than float64, and every wrong element is
 * found. */
#include "reference/linalg.h"
#include "reference/philox.h"
#include "reference/results.h"
#include "support/philox.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

static reference made;

static void make(bp_dtype dtype, void *a, void *b, void *out, int64_t m, int64_t k, int64_t n, bp_view views[3]) {
    assert_int_equal(bp_view_matrix(&views[0], a, dtype, m, k), BP_OK);
    assert_int_equal(bp_view_matrix(&views[1], b, dtype, k, n), BP_OK);
    assert_int_equal(bp_view_matrix(&views[2], out, dtype, m, n), BP_OK);
    assert_int_equal(reference_product(&made, &views[0].tensor, false, &views[1].tensor, false, &views[2].tensor),
                     BP_OK);
}

/* A sum that float64 gets wrong in every order: 1e16 + 1 - 1e16, and products whose rounding errors matter. */
static void cancellation_is_exact(void **state) {
    (void)state;
    double a[] = {1e16, 1, -1e16, 1 + 0x1p-30}, b[] = {1, 1, 1, 1 - 0x1p-30}, out[1] = {0};
    bp_view views[3];
    make(BP_F64, a, b, out, 1, 4, 1, views);
    assert_true(made.values[0].re == 2 - 0x1p-60);
    reference_free(&made);
}

static void complex_products_are_exact(void **state) {
    (void)state;
    double a[] = {1, 2, 3, -1}, b[] = {5, -1, 2, 4}, out[2]; /* (1+2i)(5-i) + (3-i)(2+4i) */
    bp_view views[3];
    make(BP_C128, a, b, out, 1, 2, 1, views);
    assert_true(made.values[0].re == 7 + 10 && made.values[0].im == 9 + 10);
    out[0] = 17;
    out[1] = 19;
    double error;
    assert_int_equal(reference_error(&made, &views[2].tensor, &error), BP_OK);
    assert_true(error == 0);
    out[1] = 20;
    assert_int_equal(reference_error(&made, &views[2].tensor, &error), BP_OK);
    assert_true(error > reference_bound(&made, BP_C128));
    reference_free(&made);
}

static double error_of(float value) {
    float a[] = {1, 2}, b[] = {3, 4}, out[1] = {value};
    bp_view views[3];
    double error;
    make(BP_F32, a, b, out, 1, 2, 1, views);
    assert_int_equal(reference_error(&made, &views[2].tensor, &error), BP_OK);
    reference_free(&made);
    return error;
}

static void wrong_elements_have_an_error(void **state) {
    (void)state;
    assert_true(error_of(11) == 0);
    assert_true(error_of(11.0F + 0x1p-20F) > 0 && error_of(11.0F + 0x1p-20F) < 1e-6);
    assert_true(error_of(12) > 0.09 && error_of(12) < 0.1);
    assert_true(isinf(error_of(NAN)) && isinf(error_of(INFINITY)));
}

/* Infinities and values beyond the range of the type are right if the reference has them too. */
static void overflow_to_infinity_is_right(void **state) {
    (void)state;
    float a[] = {3e38F, 3e38F}, b[] = {1, 1}, out[1] = {INFINITY};
    bp_view views[3];
    double error;
    make(BP_F32, a, b, out, 1, 2, 1, views);
    assert_int_equal(reference_error(&made, &views[2].tensor, &error), BP_OK);
    assert_true(error == 0);
    out[0] = 3e38F;
    assert_int_equal(reference_error(&made, &views[2].tensor, &error), BP_OK);
    assert_true(isinf(error));
    reference_free(&made);
}

/* The checked elements of a large result are distributed over all of it, and have the right indices. */
static void large_results_are_sampled(void **state) {
    (void)state;
    enum { SIZE = 300 };
    static float a[SIZE * SIZE], b[SIZE * SIZE], out[SIZE * SIZE];
    for (int i = 0; i < SIZE; i++) {
        for (int j = 0; j < SIZE; j++) {
            a[i * SIZE + j] = i == j;
            b[i * SIZE + j] = out[i * SIZE + j] = (float)(i * SIZE + j);
        }
    }
    bp_view views[3];
    double error;
    make(BP_F32, a, b, out, SIZE, SIZE, SIZE, views);
    assert_true(made.total == SIZE * SIZE);
    assert_int_equal(reference_error(&made, &views[2].tensor, &error), BP_OK);
    assert_true(error == 0);
    for (int64_t i = 0; i < made.count; i++) {
        assert_true(made.values[i].re == (double)made.values[i].index);
    }
    reference_free(&made);
}

/* Broadcast batches: (2,1,2,2) @ (3,2,2). */
static void batches_are_broadcast(void **state) {
    (void)state;
    double a[8], b[12], out[24];
    for (int i = 0; i < 12; i++) {
        b[i] = i + 1;
        a[i % 8] = i % 8 - 3;
    }
    const int64_t shape_a[] = {2, 1, 2, 2}, shape_b[] = {3, 2, 2}, shape_out[] = {2, 3, 2, 2};
    bp_view va, vb, vout;
    bp_view_init(&va, a, BP_F64, 4, shape_a, NULL);
    bp_view_init(&vb, b, BP_F64, 3, shape_b, NULL);
    bp_view_init(&vout, out, BP_F64, 4, shape_out, NULL);
    assert_int_equal(reference_product(&made, &va.tensor, false, &vb.tensor, false, &vout.tensor), BP_OK);
    assert_true(made.count == 24);
    for (int x = 0; x < 24; x++) {
        int batch_a = x / 12, batch_b = x / 4 % 3, row = x / 2 % 2, column = x % 2;
        double wanted = 0;
        for (int p = 0; p < 2; p++) {
            wanted += a[batch_a * 4 + row * 2 + p] * b[batch_b * 4 + p * 2 + column];
        }
        assert_true(made.values[x].re == wanted);
    }
    reference_free(&made);
}

/* Bounds grow in each step of a layer. Beyond the largest double nothing is known of a result, and none is wrong; a
 * wrong element with a bound is still found. */
static void elements_without_a_bound_are_not_checked(void **state) {
    (void)state;
    double out[] = {1, 2, 3};
    double error;
    bp_view view;
    const long double unit = 0x1p-53L;
    for (int wrong = 0; wrong < 3; wrong++) {
        const reference_number numbers[] = {{1, unit}, {wrong == 1 ? 7 : 2, 1e300L}, {wrong == 2 ? 4 : 3, unit}};
        assert_int_equal(bp_view_matrix(&view, out, BP_F64, 1, 3), BP_OK);
        assert_int_equal(reference_begin(&made, &view.tensor, 1, 0), BP_OK);
        reference_take(&made, numbers, BP_F64);
        assert_int_equal(reference_error(&made, &view.tensor, &error), BP_OK);
        assert_int_equal(error > reference_bound(&made, BP_F64), wrong == 2);
        assert_int_equal(made.count, 2);
        reference_free(&made);
    }
}

/* In f32, products of the first row overflow to infinities of two signs, and their sum is NaN, although the exact sum
 * is 0. The second row is checked. */
static void recurrent_layers_that_overflow_inside_are_not_checked(void **state) {
    (void)state;
    float x[] = {3e38F, -3e38F, 1, -2}, ih[] = {2, 2}, hh[] = {0.5F}, out[2];
    bp_view input, weight_ih, weight_hh, output;
    reference_results results;
    assert_int_equal(bp_view_init(&input, x, BP_F32, 3, (const int64_t[]){1, 2, 2}, NULL), BP_OK);
    assert_int_equal(bp_view_matrix(&weight_ih, ih, BP_F32, 1, 2), BP_OK);
    assert_int_equal(bp_view_matrix(&weight_hh, hh, BP_F32, 1, 1), BP_OK);
    assert_int_equal(bp_view_init(&output, out, BP_F32, 3, (const int64_t[]){1, 2, 1}, NULL), BP_OK);
    const bp_rnn_call call = {.struct_size = sizeof call,
                              .directions = 1,
                              .input = &input.tensor,
                              .weight_ih = &weight_ih.tensor,
                              .weight_hh = &weight_hh.tensor,
                              .output = &output.tensor};
    assert_int_equal(reference_of_rnn(&results, &call), BP_OK);
    assert_int_equal(results.count, 1);
    assert_int_equal(results.of[0].values.count, 1);
    assert_int_equal(results.of[0].values.values[0].index, 1);
    reference_results_free(&results);
}

/* Of the generalized inverses of a column of ones, only the pseudoinverse has Hermitian products. */
static void other_generalized_inverses_are_wrong(void **state) {
    (void)state;
    double a[] = {1, 1}, x[] = {1, 0}, error;
    bp_view views[2];
    assert_int_equal(bp_view_matrix(&views[0], a, BP_F64, 2, 1), BP_OK);
    assert_int_equal(bp_view_matrix(&views[1], x, BP_F64, 1, 2), BP_OK);
    const bp_linalg_call call = {
        .struct_size = sizeof call, .op = BP_OP_PINV, .input = {&views[0].tensor}, .output = {&views[1].tensor}};
    assert_int_equal(reference_linalg_error(&call, &error), BP_OK);
    assert_true(error > reference_linalg_bound(&call));
    x[0] = x[1] = 0.5;
    assert_int_equal(reference_linalg_error(&call, &error), BP_OK);
    assert_true(error <= reference_linalg_bound(&call));
}

/* The norm of 8 elements of 2^1020 is in range, 60 times the sum of their sizes is not. */
static void norms_near_the_largest_number_are_right(void **state) {
    (void)state;
    double a[8], norm = 0x1p1020 * sqrt(8) * (1 + 0x1p-50), error;
    bp_view views[2];
    reference_results results;
    for (int i = 0; i < 8; i++) {
        a[i] = 0x1p1020;
    }
    assert_int_equal(bp_view_matrix(&views[0], a, BP_F64, 4, 2), BP_OK);
    assert_int_equal(bp_view_init(&views[1], &norm, BP_F64, 0, NULL, NULL), BP_OK);
    const bp_linalg_call call = {.struct_size = sizeof call,
                                 .op = BP_OP_MATRIX_NORM,
                                 .mode = BP_NORM_FRO,
                                 .input = {&views[0].tensor},
                                 .output = {&views[1].tensor}};
    assert_int_equal(reference_of_matrix_values(&results, &call), BP_OK);
    assert_int_equal(reference_error(&results.of[0].values, &views[1].tensor, &error), BP_OK);
    assert_true(error <= reference_bound(&results.of[0].values, BP_F64));
    reference_results_free(&results);
}

static void philox_has_the_known_answers(void **state) {
    (void)state;
    for (int i = 0; i < TEST_PHILOX_ANSWERS; i++) {
        const struct test_philox *known = &test_philox_answers[i];
        uint32_t got[4];
        reference_philox(known->low, known->high, known->key, got);
        assert_memory_equal(got, known->result, sizeof got);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cancellation_is_exact),
        cmocka_unit_test(complex_products_are_exact),
        cmocka_unit_test(wrong_elements_have_an_error),
        cmocka_unit_test(overflow_to_infinity_is_right),
        cmocka_unit_test(large_results_are_sampled),
        cmocka_unit_test(batches_are_broadcast),
        cmocka_unit_test(elements_without_a_bound_are_not_checked),
        cmocka_unit_test(recurrent_layers_that_overflow_inside_are_not_checked),
        cmocka_unit_test(other_generalized_inverses_are_wrong),
        cmocka_unit_test(norms_near_the_largest_number_are_right),
        cmocka_unit_test(philox_has_the_known_answers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
