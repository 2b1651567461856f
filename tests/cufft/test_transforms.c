/* test_transforms.c - transforms on a CUDA device with the double of cuFFT, against the reference: kinds, types, sizes,
 * lengths, layouts, dimensions, batches, no elements, and in place. */
#include "cufft/support_cufft.h"

#include "support/modes.h"

#include <math.h>

static const bp_dtype types[] = {BP_F32, BP_F64, BP_C64, BP_C128};

static bool takes(bp_fft_transform t, bp_dtype dtype) {
    const bool from_real = t == BP_RFFT || t == BP_IHFFT, to_real = t == BP_IRFFT || t == BP_HFFT;
    return dtype == BP_F32 || dtype == BP_F64 ? !to_real : !from_real;
}

static void check(bp_fft_call call, bp_fft_transform t, bp_dtype dtype, int ndim, const int64_t *shape,
                  test_layout in_layout, test_layout out_layout) {
    fft_case c = {.call = call};
    char text[160];
    snprintf(text, sizeof text,
             "transform %d norm %d of %s, %d dimensions, the last of %d, %d transformed, layouts %d %d", (int)t,
             (int)call.norm, bp_dtype_name(dtype), ndim, (int)shape[ndim - 1], call.axis_count, (int)in_layout,
             (int)out_layout);
    make_fft(&c, t, dtype, ndim, shape, in_layout, out_layout);
    check_fft(&c, text);
    free_fft(&c);
}

/* Runs every transform with every type that it accepts. */
static void each(int ndim, const int64_t *shape, int axis_count, const int *axes, const int64_t *s, bp_fft_norm norm,
                 test_layout in_layout, test_layout out_layout) {
    static int number;
    for (int t = BP_FFT; t <= BP_IHFFT; t++) {
        const bp_fft_call call = {sizeof call, (bp_fft_transform)t, norm, axis_count, axes, s};
        for (int i = 0; i < 4; i++) {
            if (takes((bp_fft_transform)t, types[i]) && !test_leaves_out(number++, 3)) {
                check(call, (bp_fft_transform)t, types[i], ndim, shape, in_layout, out_layout);
            }
        }
    }
}

static test_layout any_layout(void) {
    return (test_layout)test_array_between(0, TEST_ALL_LAYOUTS - 1);
}

static void sizes(void **state) {
    (void)state;
    for (int n = 2; n <= 20; n++) {
        each(1, I64(n), 1, NULL, NULL, (bp_fft_norm)(n % 3), TEST_COMPACT, TEST_COMPACT);
        each(2, I64(3, n), 1, NULL, NULL, (bp_fft_norm)(n % 3), any_layout(), any_layout());
    }
    each(1, I64(128), 1, NULL, NULL, BP_FFT_BACKWARD, TEST_COMPACT, TEST_COMPACT);
    each(1, I64(101), 1, NULL, NULL, BP_FFT_ORTHO, TEST_COMPACT, TEST_COMPACT);
}

/* Truncated and padded input. */
static void lengths(void **state) {
    (void)state;
    for (int size = 1; size <= 7; size += 2) {
        for (int n = 1; n <= 10; n++) {
            each(1, I64(size), 1, NULL, I64(n), BP_FFT_ORTHO, TEST_COMPACT, TEST_COMPACT);
            each(2, I64(3, size), 1, NULL, I64(n), BP_FFT_BACKWARD, TEST_REVERSED, TEST_SCATTERED);
            each(2, I64(size, 2), 1, (const int[]){0}, I64(n), BP_FFT_BACKWARD, TEST_GAPS, TEST_PERMUTED);
        }
    }
    each(2, I64(4, 5), 2, NULL, I64(7, 9), BP_FFT_BACKWARD, TEST_GAPS, TEST_REVERSED);
    each(3, I64(4, 5, 6), 3, NULL, I64(3, 8, 4), BP_FFT_ORTHO, TEST_PERMUTED, TEST_GAPS);
    each(2, I64(1, 6), 2, NULL, I64(5, 6), BP_FFT_FORWARD, TEST_COMPACT, TEST_COMPACT);
}

static void layouts(void **state) {
    (void)state;
    for (int orders = 0; orders < TEST_ALL_LAYOUTS * TEST_ALL_LAYOUTS; orders++) {
        for (int dim = 0; dim < 3; dim++) {
            each(3, I64(4, 3, 5), 1, &dim, NULL, BP_FFT_BACKWARD, (test_layout)(orders % TEST_ALL_LAYOUTS),
                 (test_layout)(orders / TEST_ALL_LAYOUTS));
        }
    }
}

static void dimensions(void **state) {
    static const int pairs[][2] = {{0, 1}, {1, 0}, {2, 0}, {1, 2}, {-1, -3}};
    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        each(3, I64(6, 4, 7), 2, pairs[i], NULL, (bp_fft_norm)(i % 3), any_layout(), any_layout());
        each(3, I64(6, 4, 7), 2, pairs[i], NULL, (bp_fft_norm)(i % 3), TEST_COMPACT, TEST_COMPACT);
    }
    for (int i = 0; i < 6; i++) {
        each(4, I64(3, 2 + i, 4, 5), 3, NULL, NULL, BP_FFT_ORTHO, any_layout(), any_layout());
        each(4, I64(2, 3, 1, 4 + i), BP_FFT_ALL, NULL, NULL, BP_FFT_BACKWARD, any_layout(), any_layout());
        each(4, I64(2, 3, 3, 2 + i), BP_FFT_ALL, NULL, NULL, BP_FFT_FORWARD, any_layout(), any_layout());
    }
    each(2, I64(1, 2), 2, NULL, NULL, BP_FFT_BACKWARD, TEST_COMPACT, TEST_COMPACT);
    each(1, I64(2), 1, NULL, I64(1), BP_FFT_BACKWARD, TEST_COMPACT, TEST_COMPACT);
}

/* More dimensions than a plan of the library takes, with and without a batch. */
static void many_dimensions(void **state) {
    (void)state;
    each(5, I64(3, 2, 2, 3, 4), 4, NULL, NULL, BP_FFT_ORTHO, TEST_COMPACT, TEST_COMPACT);
    each(5, I64(3, 2, 2, 3, 4), 5, NULL, NULL, BP_FFT_BACKWARD, TEST_COMPACT, TEST_COMPACT);
    each(5, I64(3, 2, 2, 3, 4), 4, (const int[]){0, 1, 3, 4}, NULL, BP_FFT_ORTHO, any_layout(), any_layout());
    each(7, I64(2, 2, 2, 2, 2, 3, 2), BP_FFT_ALL, NULL, NULL, BP_FFT_ORTHO, TEST_COMPACT, TEST_COMPACT);
    each(8, I64(3, 2, 2, 2, 2, 2, 2, 3), 7, NULL, NULL, BP_FFT_ORTHO, any_layout(), any_layout());
}

static void no_elements(void **state) {
    (void)state;
    each(2, I64(0, 8), 1, NULL, NULL, BP_FFT_BACKWARD, TEST_COMPACT, TEST_COMPACT);
    each(3, I64(3, 0, 8), 1, NULL, NULL, BP_FFT_BACKWARD, TEST_COMPACT, TEST_COMPACT);
}

/* The same memory is read and written. */
static void in_place(void **state) {
    (void)state;
    for (int i = 0; i < 16; i++) {
        fft_case c = {.call = {.struct_size = sizeof c.call, .norm = BP_FFT_ORTHO, .axis_count = 2}};
        reference_results made;
        make_fft(&c, i % 2 ? BP_IFFT : BP_FFT, i / 2 % 2 ? BP_C128 : BP_C64, 3, I64(5, 6, i < 4 ? 8 : 7),
                 (test_layout)(i % TEST_ALL_LAYOUTS), TEST_COMPACT);
        assert_ok(reference_of_fft(&made, &c.call, &c.in.view.tensor, &c.in.view.tensor));
        DLTensor result = c.device_in.tensor;
        assert_ok(bp_fft_run(NULL, &c.call, &c.device_in.tensor, &result));
        get(&c.device_in);
        test_check_results(&made, "in place");
        test_array_check_gaps(&c.in, "in place");
        free_fft(&c);
    }
}

/* Items that are broadcast, in reverse order, or overlap in the input. */
static void odd_batches(void **state) {
    static const struct {
        int64_t in[3], out[3];
    } cases[] = {{{0, 6, 1}, {24, 6, 1}},  {{6, 0, 1}, {24, 6, 1}}, {{3, 1, 2}, {24, 6, 1}},
                 {{24, 6, 1}, {1, 40, 5}}, {{1, 9, 3}, {30, 7, 1}}, {{2, 12, 2}, {60, 14, 2}}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int t = BP_FFT; t <= BP_IHFFT; t++) {
            for (int type = 0; type < 4; type++) {
                fft_case c = {.call = {.struct_size = 0}};
                if (takes((bp_fft_transform)t, types[type])) {
                    c.call = (bp_fft_call){.struct_size = sizeof c.call, .axis_count = 1, .s = I64(6)};
                    make_strided_fft(&c, (bp_fft_transform)t, types[type], 3, I64(5, 4, 6), cases[i].in, cases[i].out,
                                     0, 0);
                    check_fft(&c, "odd batches");
                    free_fft(&c);
                }
            }
        }
    }
}

/* Addresses that are aligned to parts of complex elements only. */
static void addresses(void **state) {
    (void)state;
    for (int bits = 1; bits < 4; bits++) {
        for (int t = BP_FFT; t <= BP_IHFFT; t++) {
            for (int type = 0; type < 4; type++) {
                const size_t past = type % 2 ? 8 : 4;
                fft_case c = {.call = {.struct_size = sizeof c.call, .axis_count = 1, .s = I64(6)}};
                if (takes((bp_fft_transform)t, types[type])) {
                    make_strided_fft(&c, (bp_fft_transform)t, types[type], 2, I64(3, 6), I64(6, 1), I64(6, 1),
                                     bits & 1 ? past : 0, bits & 2 ? past : 0);
                    check_fft(&c, "addresses");
                    free_fft(&c);
                }
            }
        }
    }
}

/* NaN spreads over its item, but not from imaginary parts that are ignored. */
static void not_a_number(void **state) {
    (void)state;
    for (int n = 7; n <= 8; n++) {
        fft_case c = {.call = {.struct_size = sizeof c.call, .axis_count = 1, .s = I64(n)}};
        make_fft(&c, BP_IRFFT, BP_C64, 1, I64(5), TEST_COMPACT, TEST_COMPACT);
        for (int i = 0; i < 5; i++) {
            test_array_set_complex(&c.in, i, (bp_scalar){i == 0, i == 0 || 2 * i >= n ? NAN : 0});
        }
        drop(&c.device_in);
        put(&c.device_in, &c.in, 0, 0);
        assert_ok(bp_fft_run(NULL, &c.call, &c.device_in.tensor, &c.device_out.tensor));
        get(&c.device_out);
        for (int i = 0; i < n; i++) {
            assert_true(fabs(test_array_get(&c.out, i) - 1.0 / n) < 1e-6);
        }
        free_fft(&c);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(sizes, begin_cufft, end_cufft),
        cmocka_unit_test_setup_teardown(lengths, begin_cufft, end_cufft),
        cmocka_unit_test_setup_teardown(layouts, begin_cufft, end_cufft),
        cmocka_unit_test_setup_teardown(dimensions, begin_cufft, end_cufft),
        cmocka_unit_test_setup_teardown(many_dimensions, begin_cufft, end_cufft),
        cmocka_unit_test_setup_teardown(no_elements, begin_cufft, end_cufft),
        cmocka_unit_test_setup_teardown(in_place, begin_cufft, end_cufft),
        cmocka_unit_test_setup_teardown(odd_batches, begin_cufft, end_cufft),
        cmocka_unit_test_setup_teardown(addresses, begin_cufft, end_cufft),
        cmocka_unit_test_setup_teardown(not_a_number, begin_cufft, end_cufft),
    };
    return cmocka_run_group_tests_name("transforms", tests, start_cufft, stop_cufft);
}
