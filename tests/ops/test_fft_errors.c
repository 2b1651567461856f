/* test_fft_errors.c - refused transforms: status, message and unchanged outputs; the shapes that are reported; and that
 * the fast path refuses whatever the slow path refuses. */
#include "ops/transforms.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define I64(...) ((const int64_t[]){__VA_ARGS__})
#define DIMS(...) ((const int[]){__VA_ARGS__})

static double memory[256];
static double result[256];
static bp_view in, out;

static void views(bp_dtype from, int ndim, const int64_t *shape, bp_dtype to, int out_ndim, const int64_t *out_shape) {
    assert_int_equal(bp_view_init(&in, memory, from, ndim, shape, NULL), BP_OK);
    assert_int_equal(bp_view_init(&out, result, to, out_ndim, out_shape, NULL), BP_OK);
}

static void refused(bp_status status, bp_status wanted, const char *words) {
    if (status != wanted || !strstr(bp_last_error(), words)) {
        fail_msg("%s instead of %s: \"%s\" should have \"%s\"", bp_status_name(status), bp_status_name(wanted),
                 bp_last_error(), words);
    }
}

static bp_status run(bp_fft_transform transform, int ndim, const int *dims, const int64_t *s) {
    bp_fft_call call = {sizeof call, transform, BP_FFT_BACKWARD, ndim, dims, s};
    return bp_fft_run(NULL, &call, &in.tensor, &out.tensor);
}

static void types(void **state) {
    (void)state;
    views(BP_F16, 1, I64(8), BP_C64, 1, I64(8));
    refused(run(BP_FFT, 1, NULL, NULL), BP_E_DTYPE, "the input is f16; fft takes f32, f64, c64 and c128");
    views(BP_I32, 1, I64(8), BP_C64, 1, I64(8));
    refused(run(BP_IFFT, BP_FFT_ALL, NULL, NULL), BP_E_DTYPE, "the input is i32; ifftn takes");
    refused(run(BP_RFFT, 1, NULL, NULL), BP_E_DTYPE, "i32");
    views(BP_C64, 1, I64(8), BP_C64, 1, I64(5));
    refused(run(BP_RFFT, 1, NULL, NULL), BP_E_DTYPE, "rfft takes real input");
    refused(run(BP_IHFFT, 1, NULL, NULL), BP_E_DTYPE, "ihfft takes real input");
    views(BP_F64, 1, I64(5), BP_F64, 1, I64(8));
    refused(run(BP_IRFFT, 1, NULL, NULL), BP_E_DTYPE, "irfft takes complex input");
    refused(run(BP_HFFT, 1, NULL, NULL), BP_E_DTYPE, "hfft takes complex input");
    views(BP_F64, 1, I64(8), BP_F64, 1, I64(8));
    refused(run(BP_FFT, 1, NULL, NULL), BP_E_DTYPE, "output is f64; fft of f64 gives c128");
    views(BP_C64, 1, I64(5), BP_F64, 1, I64(8));
    refused(run(BP_IRFFT, 1, NULL, NULL), BP_E_DTYPE, "output is f64; irfft of c64 gives f32");
}

static void shapes(void **state) {
    (void)state;
    views(BP_C128, 2, I64(3, 8), BP_C128, 2, I64(8, 3));
    refused(run(BP_FFT, 1, NULL, NULL), BP_E_SHAPE, "output has shape (8, 3); the result of fft has shape (3, 8)");
    views(BP_C128, 2, I64(3, 8), BP_C128, 1, I64(24));
    refused(run(BP_FFT, 1, NULL, NULL), BP_E_SHAPE, "output has shape (24)");
    views(BP_F64, 2, I64(3, 8), BP_C128, 2, I64(3, 8));
    refused(run(BP_RFFT, 1, NULL, NULL), BP_E_SHAPE, "(3, 5)");
    views(BP_C128, 1, I64(8), BP_C128, 1, I64(8));
    refused(run(BP_FFT, 1, NULL, I64(9)), BP_E_SHAPE, "(9)");
}

static void dimensions(void **state) {
    (void)state;
    views(BP_C128, 2, I64(3, 8), BP_C128, 2, I64(3, 8));
    refused(run(BP_FFT, 1, DIMS(2), NULL), BP_E_ARGUMENT, "dimension 2 is outside of -2 to 1");
    refused(run(BP_FFT, 1, DIMS(-3), NULL), BP_E_ARGUMENT, "dimension -3 is outside");
    refused(run(BP_FFT, 1, DIMS(256), NULL), BP_E_ARGUMENT, "dimension 256 is outside");
    refused(run(BP_FFT, 2, DIMS(0, 0), NULL), BP_E_ARGUMENT, "axes must be unique");
    refused(run(BP_FFT, 2, DIMS(1, -1), NULL), BP_E_ARGUMENT, "dimension 1 is given twice");
    refused(run(BP_FFT, 3, DIMS(1, 0, 1), NULL), BP_E_ARGUMENT, "axes must be unique");
    refused(run(BP_FFT, 3, NULL, NULL), BP_E_ARGUMENT, "3 dimensions are given, but the input has rank 2");
    refused(run(BP_FFT, -2, NULL, NULL), BP_E_ARGUMENT, "axis_count is -2");
    refused(run(BP_FFT, BP_FFT_ALL, DIMS(0), NULL), BP_E_ARGUMENT, "axes is given, but axis_count is BP_FFT_ALL");
    refused(bp_fft2(&in.tensor, NULL, DIMS(0, 2), BP_FFT_BACKWARD, &out.tensor), BP_E_ARGUMENT, "dimension 2");
    views(BP_F64, 2, I64(3, 8), BP_C128, 2, I64(3, 8));
    refused(run(BP_RFFT, 0, NULL, NULL), BP_E_ARGUMENT, "rfftn must transform at least one dimension");
    views(BP_C128, 0, NULL, BP_C128, 0, NULL);
    refused(run(BP_FFT, 1, DIMS(-1), NULL), BP_E_ARGUMENT, "dimension -1 is given, but the input has none");
    refused(run(BP_FFT, 1, NULL, NULL), BP_E_ARGUMENT, "the input has rank 0");
}

static void lengths(void **state) {
    (void)state;
    views(BP_C128, 1, I64(8), BP_C128, 1, I64(8));
    refused(run(BP_FFT, 1, NULL, I64(0)), BP_E_ARGUMENT, "invalid number of data points (0) in dimension 0");
    refused(run(BP_FFT, 1, NULL, I64(-2)), BP_E_ARGUMENT, "invalid number of data points (-2)");
    views(BP_C128, 1, I64(0), BP_C128, 1, I64(0));
    refused(run(BP_FFT, 1, NULL, NULL), BP_E_ARGUMENT, "invalid number of data points (0)");
    views(BP_C128, 1, I64(1), BP_F64, 1, I64(1));
    refused(run(BP_IRFFT, 1, NULL, NULL), BP_E_ARGUMENT, "invalid number of data points (0)");
    refused(bp_hfft(&in.tensor, -5, 0, BP_FFT_BACKWARD, &out.tensor), BP_E_ARGUMENT, "(-5) in dimension 0; hfft needs");
}

static void calls(void **state) {
    (void)state;
    views(BP_C128, 1, I64(8), BP_C128, 1, I64(8));
    bp_fft_call call = {sizeof call, BP_FFT, BP_FFT_BACKWARD, 1, NULL, NULL};
    bp_plan *plan = (bp_plan *)(uintptr_t)1;
    refused(bp_fft_run(NULL, NULL, &in.tensor, &out.tensor), BP_E_ARGUMENT, "call must not be NULL");
    refused(bp_fft_plan(&plan, NULL, NULL, &in.tensor, &out.tensor), BP_E_ARGUMENT, "call must not be NULL");
    assert_null(plan);
    refused(bp_fft_plan(NULL, NULL, &call, &in.tensor, &out.tensor), BP_E_ARGUMENT, "plan must not be NULL");
    refused(bp_fft_explain(NULL, NULL, &call, &in.tensor, &out.tensor), BP_E_ARGUMENT, "explanation must not be NULL");
    refused(bp_fft_run(NULL, &call, NULL, &out.tensor), BP_E_ARGUMENT, "'input' is NULL");
    refused(bp_fft_run(NULL, &call, &in.tensor, NULL), BP_E_ARGUMENT, "'output' is NULL");
    call.struct_size--;
    refused(bp_fft_run(NULL, &call, &in.tensor, &out.tensor), BP_E_ARGUMENT, "struct_size");
    call.struct_size++;
    call.transform = (bp_fft_transform)6;
    refused(bp_fft_run(NULL, &call, &in.tensor, &out.tensor), BP_E_ARGUMENT, "transform is 6");
    call.transform = (bp_fft_transform)-1;
    refused(bp_fft_run(NULL, &call, &in.tensor, &out.tensor), BP_E_ARGUMENT, "transform is -1");
    call.transform = BP_FFT;
    call.norm = (bp_fft_norm)3;
    refused(bp_fft_run(NULL, &call, &in.tensor, &out.tensor), BP_E_ARGUMENT, "norm is 3");
    bp_fft_norm norm;
    refused(bp_fft_norm_from_name("orthogonal", &norm), BP_E_BAD_VALUE, "'orthogonal'; it must be backward, ortho");
    refused(bp_fft_norm_from_name("ortho", NULL), BP_E_ARGUMENT, "must not be NULL");
    assert_true(bp_fft_norm_from_name(NULL, &norm) == BP_OK && norm == BP_FFT_BACKWARD);
    assert_true(bp_fft_norm_from_name("forward", &norm) == BP_OK && norm == BP_FFT_FORWARD);
    assert_true(bp_fft_norm_from_name("ortho", &norm) == BP_OK && norm == BP_FFT_ORTHO);
}

static void overlapping_memory_is_refused(void **state) {
    (void)state;
    double before[256];
    for (int i = 0; i < 256; i++) {
        memory[i] = before[i] = i;
    }
    views(BP_C128, 2, I64(3, 8), BP_C128, 2, I64(3, 8));
    out.tensor.data = memory + 2;
    refused(run(BP_FFT, 1, NULL, NULL), BP_E_OVERLAP, "output, which is written, overlaps input");
    out.tensor.data = memory;
    out.strides[0] = 1;
    out.strides[1] = 3;
    refused(run(BP_FFT, 1, NULL, NULL), BP_E_OVERLAP, "or the address, type, shape and strides of the input");
    views(BP_F64, 1, I64(8), BP_C128, 1, I64(5));
    out.tensor.data = memory;
    refused(run(BP_RFFT, 1, NULL, NULL), BP_E_OVERLAP, "output, which is written, overlaps input");
    views(BP_C128, 1, I64(5), BP_C128, 1, I64(8)); /* longer, at the same address */
    out.tensor.data = memory;
    refused(run(BP_FFT, 1, NULL, I64(8)), BP_E_OVERLAP, "output, which is written, overlaps input");
    views(BP_C128, 2, I64(3, 8), BP_C128, 2, I64(3, 8));
    out.strides[0] = 0;
    refused(run(BP_FFT, 1, NULL, NULL), BP_E_OVERLAP, "give two indices the same address");
    in.strides[0] = 0;
    in.tensor.data = out.tensor.data = memory; /* in place, which is not allowed here */
    refused(run(BP_FFT, 1, NULL, NULL), BP_E_OVERLAP, "give two indices the same address");
    assert_memory_equal(memory, before, sizeof memory);
}

static void too_many_dimensions(void **state) {
    (void)state;
    enum { RANK = 18, ELEMENTS = 4 << 17 };
    int64_t shape[RANK], in_strides[RANK] = {0};
    float one[2] = {1, 2};
    float *wide = calloc(ELEMENTS, 2 * sizeof *wide);
    assert_non_null(wide);
    for (int i = 0; i < RANK; i++) {
        shape[i] = i < RANK - 1 ? 2 : 4;
        in_strides[i] = i % 2; /* never a multiple of the next one, so that nothing merges */
    }
    assert_int_equal(bp_view_init(&in, wide, BP_C64, RANK, shape, in_strides), BP_OK);
    in.tensor.data = one;
    assert_int_equal(bp_view_init(&out, wide, BP_C64, RANK, shape, NULL), BP_OK);
    for (int i = 0; i < RANK; i++) {
        in.strides[i] = 0;
    }
    refused(run(BP_FFT, 17, NULL, NULL), BP_E_LAYOUT, "17 dimensions are to be transformed; at most 16");
    static float few[2 * 64];
    in.tensor.data = few;
    for (int i = 0; i < RANK; i++) {
        in.strides[i] = i % 2;
    }
    refused(run(BP_FFT, 1, DIMS(RANK - 1), NULL), BP_E_LAYOUT, "17 batch dimensions remain after merging; at most 16");
    free(wide);
}

/* The fast path must refuse what the slow path refuses: the same layout with other addresses, other numbers. */
static void fast_path_checks_addresses(void **state) {
    (void)state;
    bp_fft_call call = {sizeof call, BP_FFT, BP_FFT_BACKWARD, 1, NULL, NULL};
    views(BP_C128, 1, I64(8), BP_C128, 1, I64(8));
    for (int i = 0; i < 3; i++) {
        assert_int_equal(bp_fft_run(NULL, &call, &in.tensor, &out.tensor), BP_OK);
        assert_int_equal(bp_fft(&in.tensor, BP_FFT_LENGTH, 0, BP_FFT_BACKWARD, &out.tensor), BP_OK);
    }
    out.tensor.data = memory + 8;
    assert_int_equal(bp_fft_run(NULL, &call, &in.tensor, &out.tensor), BP_E_OVERLAP);
    out.tensor.data = NULL;
    assert_int_equal(bp_fft_run(NULL, &call, &in.tensor, &out.tensor), BP_E_ARGUMENT);
    out.tensor.data = (char *)result + 4;
    assert_int_equal(bp_fft_run(NULL, &call, &in.tensor, &out.tensor), BP_E_LAYOUT);
    out.tensor.data = result;
    assert_int_equal(bp_fft_run(NULL, &call, &in.tensor, &out.tensor), BP_OK);
    assert_int_equal(bp_fft(&in.tensor, BP_FFT_LENGTH, 1, BP_FFT_BACKWARD, &out.tensor), BP_E_ARGUMENT);
    assert_int_equal(bp_fft(&in.tensor, 7, 0, BP_FFT_BACKWARD, &out.tensor), BP_E_SHAPE);
    assert_int_equal(bp_fft(&in.tensor, BP_FFT_LENGTH, 0, (bp_fft_norm)4, &out.tensor), BP_E_ARGUMENT);
    call.axis_count = 62;
    assert_int_equal(bp_fft_run(NULL, &call, &in.tensor, &out.tensor), BP_E_ARGUMENT);
    call.axis_count = 65; /* one more than a multiple of the key's field for it */
    assert_int_equal(bp_fft_run(NULL, &call, &in.tensor, &out.tensor), BP_E_ARGUMENT);
    call.axis_count = 1;
    out.tensor.data = memory; /* an in-place call differs from one with separate memory */
    assert_int_equal(bp_fft_run(NULL, &call, &in.tensor, &out.tensor), BP_OK);
    assert_int_equal(bp_fft_run(NULL, &call, &in.tensor, &out.tensor), BP_OK);
    bp_plan_info info = {.struct_size = sizeof info};
    assert_int_equal(bp_last_plan(&info), BP_OK);
    assert_non_null(strstr(info.problem, "in place"));
    out.tensor.data = result;
    assert_int_equal(bp_fft_run(NULL, &call, &in.tensor, &out.tensor), BP_OK);
    assert_int_equal(bp_last_plan(&info), BP_OK);
    assert_null(strstr(info.problem, "in place"));
}

static void shapes_are_reported(void **state) {
    (void)state;
    static const struct {
        bp_fft_transform transform;
        bp_dtype from, to;
        int64_t plain[2], with_s[2];
    } rows[] = {
        {BP_FFT, BP_F32, BP_C64, {4, 6}, {5, 7}},    {BP_IFFT, BP_C128, BP_C128, {4, 6}, {5, 7}},
        {BP_RFFT, BP_F64, BP_C128, {4, 4}, {5, 4}},  {BP_IRFFT, BP_C64, BP_F32, {4, 10}, {5, 7}},
        {BP_HFFT, BP_C128, BP_F64, {4, 10}, {5, 7}}, {BP_IHFFT, BP_F32, BP_C64, {4, 4}, {5, 4}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        bp_fft_call call = {sizeof call, rows[i].transform, BP_FFT_BACKWARD, 2, NULL, NULL};
        bp_dtype dtype;
        int ndim;
        int64_t shape[BP_MAX_NDIM];
        assert_int_equal(bp_view_init(&in, NULL, rows[i].from, 2, I64(4, 6), NULL), BP_OK);
        assert_int_equal(bp_fft_shape(&call, &in.tensor, &dtype, &ndim, shape), BP_OK);
        assert_true(dtype == rows[i].to && ndim == 2 && shape[0] == rows[i].plain[0] && shape[1] == rows[i].plain[1]);
        call.s = I64(5, 7);
        assert_int_equal(bp_fft_shape(&call, &in.tensor, &dtype, &ndim, shape), BP_OK);
        assert_true(shape[0] == rows[i].with_s[0] && shape[1] == rows[i].with_s[1]);
        refused(bp_fft_shape(&call, &in.tensor, NULL, &ndim, shape), BP_E_ARGUMENT, "must not be NULL");
        refused(bp_fft_shape(&call, NULL, &dtype, &ndim, shape), BP_E_ARGUMENT, "'input' is NULL");
    }
    bp_fft_call longest = {sizeof longest, BP_RFFT, BP_FFT_BACKWARD, 1, NULL, I64(INT64_MAX)};
    bp_dtype dtype;
    int ndim;
    int64_t shape[BP_MAX_NDIM];
    assert_int_equal(bp_view_init(&in, memory, BP_F64, 1, I64(6), NULL), BP_OK);
    assert_int_equal(bp_fft_shape(&longest, &in.tensor, &dtype, &ndim, shape), BP_OK);
    assert_true(shape[0] == INT64_MAX / 2 + 1);
}

int main(void) {
    struct CMUnitTest tests[] = {
        cmocka_unit_test(types),
        cmocka_unit_test(shapes),
        cmocka_unit_test(dimensions),
        cmocka_unit_test(lengths),
        cmocka_unit_test(calls),
        cmocka_unit_test(overlapping_memory_is_refused),
        cmocka_unit_test(too_many_dimensions),
        cmocka_unit_test(fast_path_checks_addresses),
        cmocka_unit_test(shapes_are_reported),
    };
    for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++) {
        tests[i].setup_func = test_transform_setup;
        tests[i].initial_state = (void *)(uintptr_t)test_transform_libraries[0];
    }
    test_transform_environment();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
