/* test_fft.c - all transforms through the public interface, on every provider of this tree, compared with sums in long
 * double.
 *
 * Covers sizes, norms, lengths, layouts, dimensions and batches, and the identities of the transform. */
#include "ops/transforms.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define I64(...) ((const int64_t[]){__VA_ARGS__})
#define DIMS(...) ((const int[]){__VA_ARGS__})

static unsigned seed = 1;

/* The element types that a transform accepts. */
static int inputs_of(bp_fft_transform transform, bp_dtype *types) {
    int count = 0;
    if (transform != BP_IRFFT && transform != BP_HFFT) {
        types[count++] = BP_F32;
        types[count++] = BP_F64;
    }
    if (transform != BP_RFFT && transform != BP_IHFFT) {
        types[count++] = BP_C64;
        types[count++] = BP_C128;
    }
    return count;
}

/* Runs every transform with every type that it accepts. */
static void each(int ndim, const int64_t *shape, int call_ndim, const int *dims, const int64_t *s, bp_fft_norm norm,
                 test_order in_order, test_order out_order) {
    for (int t = BP_FFT; t <= BP_IHFFT; t++) {
        bp_dtype types[4];
        int count = inputs_of((bp_fft_transform)t, types);
        bp_fft_call call = {sizeof call, (bp_fft_transform)t, norm, call_ndim, dims, s};
        for (int i = 0; i < count; i++) {
            test_transform(&call, types[i], ndim, shape, in_order, out_order, &seed);
        }
    }
}

static void sizes_and_norms(void **state) {
    (void)state;
    for (int n = 2; n <= 24; n++) {
        each(1, I64(n), 1, NULL, NULL, (bp_fft_norm)(n % 3), ROW_MAJOR, ROW_MAJOR);
    }
    for (int norm = 0; norm < 3; norm++) {
        each(1, I64(9), 1, NULL, NULL, (bp_fft_norm)norm, ROW_MAJOR, ROW_MAJOR);
        each(2, I64(5, 6), 2, NULL, NULL, (bp_fft_norm)norm, ROW_MAJOR, ROW_MAJOR);
    }
}

static void lengths_truncate_and_pad(void **state) {
    (void)state;
    for (int size = 1; size <= 7; size++) {
        for (int n = 1; n <= 14; n++) {
            each(1, I64(size), 1, NULL, I64(n), BP_FFT_ORTHO, ROW_MAJOR, ROW_MAJOR);
            each(2, I64(3, size), 1, NULL, I64(n), BP_FFT_BACKWARD, REVERSED, EVERY_OTHER);
            each(2, I64(size, 2), 1, DIMS(0), I64(n), BP_FFT_BACKWARD, PADDED, COLUMN_MAJOR);
        }
    }
}

static void layouts(void **state) {
    (void)state;
    for (int orders = 0; orders < ORDERS * ORDERS; orders++) {
        for (int dim = 0; dim < 3; dim++) {
            each(3, I64(4, 3, 5), 1, &dim, NULL, BP_FFT_BACKWARD, (test_order)(orders % ORDERS),
                 (test_order)(orders / ORDERS));
        }
    }
}

static void dimensions(void **state) {
    (void)state;
    static const int pairs[][2] = {{0, 1}, {1, 0}, {0, 2}, {2, 0}, {-1, -2}, {1, -1}};
    for (int i = 0; i < (int)(sizeof pairs / sizeof pairs[0]); i++) {
        each(3, I64(4, 3, 6), 2, pairs[i], NULL, BP_FFT_BACKWARD, ROW_MAJOR, ROW_MAJOR);
        each(3, I64(4, 3, 6), 2, pairs[i], I64(5, BP_FFT_LENGTH), BP_FFT_FORWARD, COLUMN_MAJOR, PADDED);
        each(3, I64(4, 3, 6), 2, pairs[i], I64(2, 9), BP_FFT_ORTHO, REVERSED, ROW_MAJOR);
        each(3, I64(4, 3, 6), 2, pairs[i], I64(7, 1), BP_FFT_ORTHO, ROW_MAJOR, EVERY_OTHER);
    }
    each(3, I64(4, 3, 6), BP_FFT_ALL, NULL, NULL, BP_FFT_BACKWARD, ROW_MAJOR, ROW_MAJOR);
    each(3, I64(4, 3, 6), BP_FFT_ALL, NULL, I64(3, 5, 4), BP_FFT_BACKWARD, ROW_MAJOR, ROW_MAJOR);
    each(4, I64(2, 3, 4, 5), 3, NULL, NULL, BP_FFT_BACKWARD, PADDED, REVERSED);
    each(4, I64(2, 3, 4, 5), 3, NULL, I64(2, 5, 6), BP_FFT_BACKWARD, REVERSED, PADDED);
    each(5, I64(2, 3, 2, 3, 2), 4, DIMS(4, 0, 3, 1), I64(3, 2, 4, 3), BP_FFT_BACKWARD, ROW_MAJOR, ROW_MAJOR);
    each(5, I64(2, 3, 2, 3, 2), 5, DIMS(4, 0, 3, 1, 2), I64(3, 2, 4, 3, 1), BP_FFT_BACKWARD, ROW_MAJOR, ROW_MAJOR);
}

/* Dimensions of one element are transformed as well, without effect on the others. */
static void single_elements(void **state) {
    (void)state;
    each(4, I64(1, 5, 1, 3), BP_FFT_ALL, NULL, NULL, BP_FFT_BACKWARD, ROW_MAJOR, ROW_MAJOR);
    each(3, I64(4, 1, 2), 2, DIMS(0, 1), I64(4, 1), BP_FFT_ORTHO, ROW_MAJOR, PADDED);
    each(3, I64(1, 1, 1), BP_FFT_ALL, NULL, I64(1, 1, 1), BP_FFT_BACKWARD, ROW_MAJOR, ROW_MAJOR);
    each(2, I64(3, 4), 2, NULL, I64(1, 1), BP_FFT_BACKWARD, ROW_MAJOR, ROW_MAJOR);
}

/* Many dimensions, where only a few have an effect; and batches that do not merge. */
static void ranks(void **state) {
    (void)state;
    int64_t shape[BP_MAX_NDIM];
    for (int i = 0; i < BP_MAX_NDIM; i++) {
        shape[i] = 1;
    }
    shape[0] = 2;
    shape[31] = 3;
    shape[63] = 4;
    each(64, shape, BP_FFT_ALL, NULL, NULL, BP_FFT_BACKWARD, ROW_MAJOR, ROW_MAJOR);
    each(64, shape, 1, NULL, NULL, BP_FFT_BACKWARD, PADDED, ROW_MAJOR);
    each(6, I64(2, 3, 2, 3, 2, 4), 1, DIMS(2), NULL, BP_FFT_BACKWARD, PADDED, PADDED);
    each(6, I64(2, 3, 2, 3, 2, 4), 1, DIMS(2), I64(5), BP_FFT_BACKWARD, PADDED, PADDED);
}

/* A transform of no dimension is a copy, also from real to complex. */
static void no_dimension(void **state) {
    (void)state;
    bp_fft_call call = {sizeof call, BP_FFT, BP_FFT_FORWARD, 0, NULL, NULL};
    bp_dtype types[] = {BP_F32, BP_F64, BP_C64, BP_C128};
    for (int i = 0; i < 4; i++) {
        test_transform(&call, types[i], 2, I64(3, 4), COLUMN_MAJOR, ROW_MAJOR, &seed);
        test_transform(&call, types[i], 0, NULL, ROW_MAJOR, ROW_MAJOR, &seed);
        call.axis_count = BP_FFT_ALL;
        test_transform(&call, types[i], 0, NULL, ROW_MAJOR, ROW_MAJOR, &seed);
        call.axis_count = 0;
    }
}

/* Padding an empty input gives zeros. */
static void input_without_elements(void **state) {
    (void)state;
    for (int n = 1; n <= 4; n++) {
        each(1, I64(0), 1, NULL, I64(n), BP_FFT_BACKWARD, ROW_MAJOR, ROW_MAJOR);
        each(3, I64(2, 0, 3), 2, NULL, I64(n, 4), BP_FFT_BACKWARD, ROW_MAJOR, ROW_MAJOR);
    }
}

static void empty_batches(void **state) {
    (void)state;
    each(2, I64(0, 4), 1, NULL, NULL, BP_FFT_BACKWARD, ROW_MAJOR, ROW_MAJOR);
    each(3, I64(4, 0, 3), 1, DIMS(0), I64(8), BP_FFT_BACKWARD, ROW_MAJOR, ROW_MAJOR);
}

static void broadcast_input(void **state) {
    (void)state;
    for (int t = BP_FFT; t <= BP_IHFFT; t++) {
        bp_dtype types[4];
        int count = inputs_of((bp_fft_transform)t, types);
        for (int i = 0; i < count; i++) {
            for (int64_t n = 4; n <= 6; n++) { /* truncated, unchanged, or padded */
                double memory[10] = {0.5, -1, 2, 0.25, 3, -0.125, 1, 1, -2, 7}, result[64];
                float *narrow = (float *)memory;
                for (int j = 0; j < 10 && (types[i] == BP_F32 || types[i] == BP_C64); j++) {
                    narrow[j] = 0.5f - (float)(j * j % 7);
                }
                bp_fft_call call = {sizeof call, (bp_fft_transform)t, BP_FFT_BACKWARD, 1, NULL, &n};
                bp_view in, out;
                bp_dtype dtype;
                int ndim;
                int64_t shape[BP_MAX_NDIM];
                bp_view_init(&in, memory, types[i], 2, I64(3, 5), I64(0, 1));
                assert_int_equal(bp_fft_shape(&call, &in.tensor, &dtype, &ndim, shape), BP_OK);
                bp_view_init(&out, result, dtype, ndim, shape, NULL);
                assert_int_equal(bp_fft_run(NULL, &call, &in.tensor, &out.tensor), BP_OK);
                assert_true(test_transform_error(&call, &in.tensor, &out.tensor) <= 1);
            }
        }
    }
}

static void in_place(void **state) {
    (void)state;
    for (int i = 0; i < 4; i++) {
        test_tensor in;
        bp_fft_call call = {sizeof call, i % 2 ? BP_IFFT : BP_FFT, BP_FFT_ORTHO, i < 2 ? 1 : 2, NULL, NULL};
        test_tensor_new(&in, i % 2 ? BP_C64 : BP_C128, 3, I64(3, 4, 5), i == 3 ? REVERSED : PADDED, &seed);
        for (int again = 0; again < 2; again++) {
            test_array before;
            test_array_copy(&before, &in.array);
            assert_int_equal(bp_fft_run(NULL, &call, &in.view.tensor, &in.view.tensor), BP_OK);
            assert_true(test_transform_error(&call, &before.view.tensor, &in.view.tensor) <= 1);
            test_array_free(&before);
        }
        test_tensor_check_guards(&in);
        test_tensor_free(&in);
    }
}

/* ---- The functions by name ---- */

typedef bp_status (*one_dim)(const DLTensor *, int64_t, int, bp_fft_norm, DLTensor *);
typedef bp_status (*two_dims)(const DLTensor *, const int64_t *, const int *, bp_fft_norm, DLTensor *);
typedef bp_status (*any_dims)(const DLTensor *, int, const int64_t *, const int *, bp_fft_norm, DLTensor *);

static const struct {
    bp_dtype dtype;
    one_dim one;
    two_dims two;
    any_dims any;
} named[] = {
    [BP_FFT] = {BP_C128, bp_fft, bp_fft2, bp_fftn},     [BP_IFFT] = {BP_C128, bp_ifft, bp_ifft2, bp_ifftn},
    [BP_RFFT] = {BP_F64, bp_rfft, bp_rfft2, bp_rfftn},  [BP_IRFFT] = {BP_C128, bp_irfft, bp_irfft2, bp_irfftn},
    [BP_HFFT] = {BP_C128, bp_hfft, bp_hfft2, bp_hfftn}, [BP_IHFFT] = {BP_F64, bp_ihfft, bp_ihfft2, bp_ihfftn},
};

static void by_name(void **state) {
    (void)state;
    for (int t = BP_FFT; t <= BP_IHFFT; t++) {
        for (int form = 0; form < 5; form++) {
            static const int dims[] = {2, 0}, one_dimension[] = {1};
            static const int64_t s[] = {4, 5}, length[] = {6};
            bp_fft_call call = {.struct_size = sizeof call, .transform = (bp_fft_transform)t, .norm = BP_FFT_ORTHO};
            call.axis_count = (int[]){1, 2, 2, BP_FFT_ALL, 2}[form];
            call.axes = (const int *[]){one_dimension, NULL, dims, NULL, dims}[form];
            call.s = (const int64_t *[]){length, NULL, s, NULL, s}[form];
            test_tensor in, out;
            bp_dtype dtype;
            int ndim;
            int64_t shape[BP_MAX_NDIM];
            test_tensor_new(&in, named[t].dtype, 3, I64(3, 4, 5), ROW_MAJOR, &seed);
            assert_int_equal(bp_fft_shape(&call, &in.view.tensor, &dtype, &ndim, shape), BP_OK);
            test_tensor_new(&out, dtype, ndim, shape, ROW_MAJOR, &seed);
            const DLTensor *x = &in.view.tensor;
            DLTensor *y = &out.view.tensor;
            bp_status status = form == 0   ? named[t].one(x, 6, 1, BP_FFT_ORTHO, y)
                               : form <= 2 ? named[t].two(x, call.s, call.axes, BP_FFT_ORTHO, y)
                                           : named[t].any(x, call.axis_count, call.s, call.axes, BP_FFT_ORTHO, y);
            assert_int_equal(status, BP_OK);
            assert_true(test_transform_error(&call, x, y) <= 1);
            test_tensor_free(&in);
            test_tensor_free(&out);
        }
    }
}

/* ---- Identities, on sizes of any kind ---- */

static double apart(const double *x, const double *y, int64_t count) {
    double most = 0;
    for (int64_t i = 0; i < count; i++) {
        most = fmax(most, fabs(x[i] - y[i]));
    }
    return most;
}

static void transform(bp_fft_transform t, int64_t n, double *in, double *out) {
    bp_view x, y;
    bp_view_init(&x, in, BP_C128, 1, &n, NULL);
    bp_view_init(&y, out, BP_C128, 1, &n, NULL);
    bp_fft_call call = {sizeof call, t, BP_FFT_BACKWARD, 1, NULL, NULL};
    assert_int_equal(bp_fft_run(NULL, &call, &x.tensor, &y.tensor), BP_OK);
}

enum { LONGEST = 300 };

static void identities(void **state) {
    (void)state;
    static double x[2 * LONGEST], y[2 * LONGEST], z[2 * LONGEST], fx[2 * LONGEST], fy[2 * LONGEST], fz[2 * LONGEST];
    for (int round = 0; round < 12; round++) {
        const int64_t n = test_array_between(1, LONGEST);
        double near = 1e-13 * (double)n, a = test_array_uniform(), b = test_array_uniform();
        for (int64_t i = 0; i < 2 * n; i++) {
            x[i] = test_array_uniform();
            y[i] = test_array_uniform();
            z[i] = a * x[i] + b * y[i];
        }
        transform(BP_FFT, n, x, fx);
        transform(BP_FFT, n, y, fy);
        transform(BP_FFT, n, z, fz);
        for (int64_t i = 0; i < 2 * n; i++) {
            fy[i] = a * fx[i] + b * fy[i];
        }
        assert_true(apart(fy, fz, 2 * n) < near); /* linearity */
        transform(BP_IFFT, n, fx, z);
        assert_true(apart(x, z, 2 * n) < near); /* the inverse restores the input */
        for (int64_t i = 0; i < n; i++) {       /* shifting x by one multiplies each frequency by its own phase */
            z[2 * ((i + 1) % n)] = x[2 * i];
            z[2 * ((i + 1) % n) + 1] = x[2 * i + 1];
        }
        transform(BP_FFT, n, z, fz);
        for (int64_t k = 0; k < n; k++) {
            double angle = -2 * acos(-1) * (double)k / (double)n;
            fy[2 * k] = fx[2 * k] * cos(angle) - fx[2 * k + 1] * sin(angle);
            fy[2 * k + 1] = fx[2 * k] * sin(angle) + fx[2 * k + 1] * cos(angle);
        }
        assert_true(apart(fy, fz, 2 * n) < near);
        memset(z, 0, sizeof z);
        z[0] = 1; /* an impulse has every frequency */
        transform(BP_FFT, n, z, fz);
        for (int64_t k = 0; k < n; k++) {
            assert_true(fabs(fz[2 * k] - 1) < near && fabs(fz[2 * k + 1]) < near);
        }
    }
}

static void non_finite_values_stay_in_their_item(void **state) {
    (void)state;
    double x[3 * 8], y[3 * 10];
    for (int i = 0; i < 24; i++) {
        x[i] = test_array_uniform();
    }
    x[9] = strtod("nan", NULL);
    bp_view in, out;
    bp_view_init(&in, x, BP_F64, 2, I64(3, 8), NULL);
    bp_view_init(&out, y, BP_C128, 2, I64(3, 5), NULL);
    assert_int_equal(bp_rfft(&in.tensor, BP_FFT_LENGTH, -1, BP_FFT_BACKWARD, &out.tensor), BP_OK);
    for (int i = 0; i < 30; i += 2) { /* some imaginary parts are 0 for any input */
        assert_int_equal(isnan(y[i]) || isnan(y[i + 1]), i / 10 == 1);
    }
}

/* Each test, on each library. */
#define ON_EACH(function)                                                                                              \
    { #function, function, test_transform_setup, NULL, NULL }

int main(void) {
    struct CMUnitTest tests[] = {
        ON_EACH(sizes_and_norms), ON_EACH(lengths_truncate_and_pad),
        ON_EACH(layouts),         ON_EACH(dimensions),
        ON_EACH(single_elements), ON_EACH(ranks),
        ON_EACH(no_dimension),    ON_EACH(input_without_elements),
        ON_EACH(empty_batches),   ON_EACH(broadcast_input),
        ON_EACH(in_place),        ON_EACH(by_name),
        ON_EACH(identities),      ON_EACH(non_finite_values_stay_in_their_item),
    };
    int failed = 0;
    test_transform_environment();
    for (int i = 0; test_transform_libraries[i]; i++) {
        for (size_t j = 0; j < sizeof tests / sizeof tests[0]; j++) {
            tests[j].initial_state = (void *)(uintptr_t)test_transform_libraries[i];
        }
        failed += cmocka_run_group_tests_name(test_transform_libraries[i], tests, NULL, NULL);
    }
    return failed;
}
