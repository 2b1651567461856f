/* test_fft.c - Fourier transforms on an OpenCL device: all transforms, against the reference. */
#include "device_array.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_empty(int ndim, const int64_t *shape) {
    bool empty = false;
    for (int d = 0; d < ndim; d++) {
        empty = empty || shape[d] == 0;
    }
    return empty;
}

static reference_results expect(const bp_fft_call *call, const device_array *in, const device_array *out) {
    reference_results made;
    assert_ok(reference_of_fft(&made, call, &in->host.view.tensor, &out->host.view.tensor));
    return made;
}

static void run(const bp_fft_call *call, bp_dtype dtype, int ndim, const int64_t *shape, test_layout in_layout,
                test_layout out_layout) {
    device_array in, out;
    test_array before;
    bp_dtype out_dtype;
    int out_ndim;
    int64_t out_shape[BP_MAX_NDIM];
    char text[160];
    device_array_make(&in, dtype, ndim, shape, in_layout, 0);
    device_array_fill(&in);
    test_array_copy(&before, &in.host);
    assert_ok(bp_fft_shape(call, &in.host.view.tensor, &out_dtype, &out_ndim, out_shape));
    device_array_make(&out, out_dtype, out_ndim, out_shape, out_layout, 0);
    snprintf(text, sizeof text, "transform %d norm %d of %s, last size %d of %d dimensions, layouts %d %d",
             (int)call->transform, (int)call->norm, bp_dtype_name(dtype), ndim ? (int)shape[ndim - 1] : 0, ndim,
             (int)in_layout, (int)out_layout);
    reference_results made = expect(call, &in, &out);
    if (bp_fft_run(NULL, call, &in.tensor, &out.tensor) != BP_OK) {
        fail_msg("%s: %s", text, bp_last_error());
    }
    if (!is_empty(out_ndim, out_shape)) {
        assert_on_device(text);
    }
    device_array_fetch(&out, text);
    device_array_fetch(&in, text);
    test_check_results(&made, text);
    test_array_check_unchanged(&in.host, &before, text);
    test_array_free(&before);
    device_array_free(&in);
    device_array_free(&out);
}

/* Runs every transform with every type that it accepts. */
static void each(int ndim, const int64_t *shape, int call_ndim, const int *dims, const int64_t *s, bp_fft_norm norm,
                 test_layout in_layout, test_layout out_layout) {
    static const bp_dtype types[] = {BP_F32, BP_F64, BP_C64, BP_C128};
    for (int t = BP_FFT; t <= BP_IHFFT; t++) {
        const bp_fft_call call = {sizeof call, (bp_fft_transform)t, norm, call_ndim, dims, s};
        for (int i = 0; i < 4; i++) {
            const bool from_real = t == BP_RFFT || t == BP_IHFFT, to_real = t == BP_IRFFT || t == BP_HFFT;
            if (i < 2 ? !to_real : !from_real) {
                run(&call, types[i], ndim, shape, in_layout, out_layout);
            }
        }
    }
}

static test_layout any_layout(void) {
    return (test_layout)test_array_between(0, TEST_ALL_LAYOUTS - 1);
}

/* All small sizes: each radix, products of them, and primes. */
static void test_sizes(void **state) {
    (void)state;
    test_device_need();
    for (int n = 2; n <= 40; n++) {
        each(1, I64(n), 1, NULL, NULL, (bp_fft_norm)(n % 3), TEST_COMPACT, TEST_COMPACT);
    }
    for (int n = 2; n <= 64; n += 3) { /* with rows for all lanes */
        each(2, I64(19, n), 1, NULL, NULL, (bp_fft_norm)(n % 3), any_layout(), any_layout());
    }
}

static void test_large(void **state) {
    static const int sizes[] = {128, 243, 625, 1001, 1024, 2197, 509, 1331, 3000, 2018};
    (void)state;
    test_device_need();
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        each(1, I64(sizes[i]), 1, NULL, NULL, BP_FFT_BACKWARD, TEST_COMPACT, TEST_COMPACT);
    }
    each(2, I64(17, 512), 1, NULL, NULL, BP_FFT_ORTHO, TEST_COMPACT, TEST_COMPACT);
    each(2, I64(17, 131), 1, NULL, NULL, BP_FFT_ORTHO, TEST_COMPACT, TEST_COMPACT);
}

static void test_lengths(void **state) {
    (void)state;
    test_device_need();
    for (int size = 1; size <= 7; size += 2) {
        for (int n = 1; n <= 14; n++) {
            each(1, I64(size), 1, NULL, I64(n), BP_FFT_ORTHO, TEST_COMPACT, TEST_COMPACT);
            each(2, I64(3, size), 1, NULL, I64(n), BP_FFT_BACKWARD, TEST_REVERSED, TEST_SCATTERED);
            each(2, I64(size, 2), 1, (const int[]){0}, I64(n), BP_FFT_BACKWARD, TEST_GAPS, TEST_PERMUTED);
        }
    }
    each(2, I64(4, 5), 2, NULL, I64(7, 9), BP_FFT_BACKWARD, TEST_GAPS, TEST_REVERSED);
    each(3, I64(4, 5, 6), 3, NULL, I64(3, 8, 4), BP_FFT_ORTHO, TEST_PERMUTED, TEST_GAPS);
    each(2, I64(1, 6), 2, NULL, I64(5, 6), BP_FFT_FORWARD, TEST_COMPACT, TEST_COMPACT);
}

static void test_layouts(void **state) {
    (void)state;
    test_device_need();
    for (int orders = 0; orders < TEST_ALL_LAYOUTS * TEST_ALL_LAYOUTS; orders++) {
        for (int dim = 0; dim < 3; dim++) {
            each(3, I64(4, 3, 5), 1, &dim, NULL, BP_FFT_BACKWARD, (test_layout)(orders % TEST_ALL_LAYOUTS),
                 (test_layout)(orders / TEST_ALL_LAYOUTS));
        }
    }
}

static void test_dimensions(void **state) {
    static const int pairs[][2] = {{0, 1}, {1, 0}, {2, 0}, {1, 2}, {-1, -3}};
    (void)state;
    test_device_need();
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        each(3, I64(6, 4, 7), 2, pairs[i], NULL, (bp_fft_norm)(i % 3), any_layout(), any_layout());
    }
    for (int i = 0; i < 6; i++) {
        each(4, I64(3, 2 + i, 4, 5), 3, NULL, NULL, BP_FFT_ORTHO, any_layout(), any_layout());
        each(4, I64(2, 3, 1, 4 + i), BP_FFT_ALL, NULL, NULL, BP_FFT_BACKWARD, any_layout(), any_layout());
    }
    each(2, I64(1, 2), 2, NULL, NULL, BP_FFT_BACKWARD, TEST_COMPACT, TEST_COMPACT);
    each(1, I64(2), 1, NULL, I64(1), BP_FFT_BACKWARD, TEST_COMPACT, TEST_COMPACT);
}

static void test_empty(void **state) {
    (void)state;
    test_device_need();
    each(2, I64(0, 8), 1, NULL, NULL, BP_FFT_BACKWARD, TEST_COMPACT, TEST_COMPACT);
    each(3, I64(3, 0, 8), 1, NULL, NULL, BP_FFT_BACKWARD, TEST_COMPACT, TEST_COMPACT);
}

/* In place: the same memory is read and written. */
static void test_in_place(void **state) {
    (void)state;
    test_device_need();
    for (int i = 0; i < 8; i++) {
        const bp_fft_call call = {sizeof call, i % 2 ? BP_IFFT : BP_FFT, BP_FFT_ORTHO, 2, NULL, NULL};
        const bp_dtype dtype = i / 2 % 2 ? BP_C128 : BP_C64;
        device_array in;
        device_array_make(&in, dtype, 3, I64(5, 6, i < 4 ? 8 : 17), (test_layout)(i % TEST_ALL_LAYOUTS), 0);
        device_array_fill(&in);
        reference_results made = expect(&call, &in, &in);
        DLTensor result = in.tensor;
        assert_ok(bp_fft_run(NULL, &call, &in.tensor, &result));
        assert_on_device("in place");
        device_array_fetch(&in, "in place");
        test_check_results(&made, "in place");
        device_array_free(&in);
    }
}

/* Imaginary parts of elements that are their own mirror image are not read. */
static void test_ignored(void **state) {
    (void)state;
    test_device_need();
    for (int n = 7; n <= 8; n++) {
        const bp_fft_call call = {sizeof call, BP_IRFFT, BP_FFT_BACKWARD, 1, NULL, I64(n)};
        device_array in, out;
        device_array_make(&in, BP_C64, 1, I64(5), TEST_COMPACT, 0);
        device_array_make(&out, BP_F32, 1, I64(n), TEST_COMPACT, 0);
        for (int i = 0; i < 5; i++) {
            device_array_set(&in, i, i == 0, i == 0 || 2 * i >= n ? NAN : 0);
        }
        device_array_send(&in);
        assert_ok(bp_fft_run(NULL, &call, &in.tensor, &out.tensor));
        device_array_fetch(&out, "irfft");
        for (int i = 0; i < n; i++) {
            assert_close("irfft", i, device_array_re(&out, i), 1.0 / n, 1e-6);
        }
        device_array_free(&in);
        device_array_free(&out);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_sizes),      cmocka_unit_test(test_large),
                                       cmocka_unit_test(test_lengths),    cmocka_unit_test(test_layouts),
                                       cmocka_unit_test(test_dimensions), cmocka_unit_test(test_empty),
                                       cmocka_unit_test(test_in_place),   cmocka_unit_test(test_ignored)};
    return cmocka_run_group_tests(tests, test_device_setup, NULL);
}
