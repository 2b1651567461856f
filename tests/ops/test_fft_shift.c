/* test_fft_shift.c - frequencies and shifts of the zero frequency compared with their definitions, and refused calls.
 */
#include "ops/reference.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define I64(...) ((const int64_t[]){__VA_ARGS__})
#define DIMS(...) ((const int[]){__VA_ARGS__})

static unsigned seed = 1;

static void frequencies(void **state) {
    (void)state;
    for (int64_t n = 1; n <= 12; n++) {
        static const double distances[] = {1, 0.1, -3, 1e-300};
        for (int i = 0; i < 4; i++) {
            double d = distances[i], wide[24];
            float narrow[24];
            int64_t half = n / 2 + 1;
            bp_view all, some;
            bp_view_init(&all, wide + 22, BP_F64, 1, &n, I64(-2));
            bp_view_init(&some, narrow, BP_F32, 1, &half, NULL);
            assert_int_equal(bp_fftfreq(d, &all.tensor), BP_OK);
            assert_int_equal(bp_rfftfreq(n, d, &some.tensor), BP_OK);
            for (int64_t k = 0; k < n; k++) {
                int64_t turns = 2 * k < n ? k : k - n;
                assert_true(wide[22 - 2 * k] == (double)((long double)turns / ((long double)n * d)));
            }
            for (int64_t k = 0; k < half; k++) {
                assert_true(narrow[k] == (float)((long double)k / ((long double)n * d)));
            }
        }
    }
    bp_view none;
    bp_view_init(&none, NULL, BP_F32, 1, I64(0), NULL);
    assert_int_equal(bp_fftfreq(1, &none.tensor), BP_OK);
}

static void refused(bp_status status, bp_status wanted, const char *words) {
    if (status != wanted || !strstr(bp_last_error(), words)) {
        fail_msg("%s instead of %s: \"%s\" should have \"%s\"", bp_status_name(status), bp_status_name(wanted),
                 bp_last_error(), words);
    }
}

static void frequencies_refuse(void **state) {
    (void)state;
    double memory[8];
    bp_view out;
    bp_view_init(&out, memory, BP_F64, 1, I64(4), NULL);
    refused(bp_fftfreq(0, &out.tensor), BP_E_ARGUMENT, "must be finite and not 0");
    refused(bp_fftfreq(NAN, &out.tensor), BP_E_ARGUMENT, "must be finite");
    refused(bp_rfftfreq(6, INFINITY, &out.tensor), BP_E_ARGUMENT, "must be finite");
    refused(bp_rfftfreq(0, 1, &out.tensor), BP_E_ARGUMENT, "n is 0");
    refused(bp_rfftfreq(8, 1, &out.tensor), BP_E_SHAPE, "output has 4 elements; a transform of 8 points has 5");
    refused(bp_fftfreq(1, NULL), BP_E_ARGUMENT, "'output' is NULL");
    out.strides[0] = 0;
    refused(bp_fftfreq(1, &out.tensor), BP_E_OVERLAP, "give two indices the same address");
    bp_view_init(&out, memory, BP_F64, 2, I64(2, 2), NULL);
    refused(bp_fftfreq(1, &out.tensor), BP_E_SHAPE, "rank 2");
    bp_view_init(&out, memory, BP_C64, 1, I64(2), NULL);
    refused(bp_fftfreq(1, &out.tensor), BP_E_DTYPE, "output is c64");
}

/* Checks that each element of the input is at the position of the definition. */
static void check_shift(bp_dtype dtype, int ndim, const int64_t *shape, int count, const int *dims, test_order in_order,
                        test_order out_order) {
    size_t size = bp_dtype_size(dtype);
    for (int inverse = 0; inverse < 2; inverse++) {
        test_tensor in, out;
        bp_dtype like = size == 1 || size == 2 ? BP_F16 : size == 4 ? BP_F32 : size == 8 ? BP_F64 : BP_C128;
        test_tensor_new(&in, like, ndim, shape, in_order, &seed);
        test_tensor_new(&out, like, ndim, shape, out_order, &seed);
        in.view.tensor.dtype = out.view.tensor.dtype = bp_dtype_to_dlpack(dtype);
        bp_status status = inverse ? bp_ifftshift(&in.view.tensor, count, dims, &out.view.tensor)
                                   : bp_fftshift(&in.view.tensor, count, dims, &out.view.tensor);
        if (status != BP_OK) {
            fail_msg("%s", bp_last_error());
        }
        test_tensor_check_guards(&out);
        in.view.tensor.dtype = out.view.tensor.dtype = bp_dtype_to_dlpack(like);
        int64_t elements = 1, index[BP_MAX_NDIM], target[BP_MAX_NDIM];
        for (int i = 0; i < ndim; i++) {
            elements *= shape[i];
        }
        for (int64_t place = 0; place < elements; place++) {
            int64_t rest = place;
            for (int i = ndim - 1; i >= 0; i--) {
                index[i] = target[i] = rest % shape[i];
                rest /= shape[i];
            }
            for (int i = 0; i < (count == BP_FFT_ALL ? ndim : count); i++) {
                int dim = count == BP_FFT_ALL ? i : dims[i] < 0 ? dims[i] + ndim : dims[i];
                int64_t n = shape[dim];
                target[dim] = (index[dim] + (inverse ? n - n / 2 : n / 2)) % n;
            }
            assert_true(test_get(&in.view.tensor, index) == test_get(&out.view.tensor, target));
        }
        test_tensor_free(&in);
        test_tensor_free(&out);
    }
}

static void shifts(void **state) {
    (void)state;
    static const bp_dtype dtypes[] = {BP_F16, BP_BF16, BP_F32, BP_F64, BP_C64, BP_C128, BP_I16, BP_U32, BP_I64};
    for (int64_t n = 0; n <= 9; n++) {
        check_shift(BP_F64, 1, &n, BP_FFT_ALL, NULL, ROW_MAJOR, REVERSED);
        check_shift(BP_F32, 2, I64(3, n), 1, DIMS(1), EVERY_OTHER, COLUMN_MAJOR);
    }
    for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++) {
        check_shift(dtypes[i], 3, I64(4, 5, 6), BP_FFT_ALL, NULL, ROW_MAJOR, ROW_MAJOR);
        check_shift(dtypes[i], 3, I64(4, 5, 6), 2, DIMS(-1, 0), PADDED, REVERSED);
    }
    check_shift(BP_F64, 4, I64(2, 1, 3, 1), BP_FFT_ALL, NULL, ROW_MAJOR, PADDED);
    check_shift(BP_F64, 2, I64(2, 3), 0, NULL, ROW_MAJOR, ROW_MAJOR);
    check_shift(BP_C64, 0, NULL, BP_FFT_ALL, NULL, ROW_MAJOR, ROW_MAJOR);
}

static void single_bytes(void **state) {
    (void)state;
    uint8_t x[5] = {0, 1, 2, 3, 4}, y[5] = {9, 9, 9, 9, 9}, z[5];
    bp_view a, b, c;
    bp_view_init(&a, x, BP_BOOL, 1, I64(5), NULL);
    bp_view_init(&b, y, BP_BOOL, 1, I64(5), NULL);
    bp_view_init(&c, z, BP_BOOL, 1, I64(5), NULL);
    assert_int_equal(bp_fftshift(&a.tensor, BP_FFT_ALL, NULL, &b.tensor), BP_OK);
    assert_memory_equal(y, ((uint8_t[]){3, 4, 0, 1, 2}), 5);
    assert_int_equal(bp_ifftshift(&b.tensor, BP_FFT_ALL, NULL, &c.tensor), BP_OK);
    assert_memory_equal(z, x, 5);
}

static void shifts_refuse(void **state) {
    (void)state;
    double memory[32];
    bp_view in, out;
    bp_view_init(&in, memory, BP_F64, 2, I64(2, 4), NULL);
    bp_view_init(&out, memory + 16, BP_F64, 2, I64(2, 4), NULL);
    refused(bp_fftshift(&in.tensor, 1, DIMS(2), &out.tensor), BP_E_ARGUMENT, "dimension 2 is outside of -2 to 1");
    refused(bp_fftshift(&in.tensor, 2, DIMS(1, -1), &out.tensor), BP_E_ARGUMENT, "axes must be unique");
    refused(bp_fftshift(&in.tensor, 2, NULL, &out.tensor), BP_E_ARGUMENT, "axis_count is 2");
    refused(bp_fftshift(&in.tensor, -2, NULL, &out.tensor), BP_E_ARGUMENT, "axis_count is -2");
    refused(bp_fftshift(NULL, -1, NULL, &out.tensor), BP_E_ARGUMENT, "'input' is NULL");
    refused(bp_ifftshift(&in.tensor, -1, NULL, &in.tensor), BP_E_OVERLAP, "output, which is written, overlaps input");
    out.tensor.data = memory + 4;
    refused(bp_fftshift(&in.tensor, -1, NULL, &out.tensor), BP_E_OVERLAP, "output, which is written, overlaps input");
    bp_view_init(&out, memory + 16, BP_F64, 2, I64(4, 2), NULL);
    refused(bp_fftshift(&in.tensor, -1, NULL, &out.tensor), BP_E_SHAPE, "(4, 2)");
    bp_view_init(&out, memory + 16, BP_I64, 2, I64(2, 4), NULL);
    refused(bp_fftshift(&in.tensor, -1, NULL, &out.tensor), BP_E_DTYPE, "the input is f64, but output is i64");
    bp_view_init(&out, memory + 16, BP_F64, 2, I64(2, 4), I64(0, 1));
    refused(bp_fftshift(&in.tensor, -1, NULL, &out.tensor), BP_E_OVERLAP, "give two indices the same address");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frequencies),  cmocka_unit_test(frequencies_refuse), cmocka_unit_test(shifts),
        cmocka_unit_test(single_bytes), cmocka_unit_test(shifts_refuse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
