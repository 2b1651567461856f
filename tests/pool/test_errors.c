/* test_errors.c - refused pooling: status and message, and outputs that stay unchanged; indices that are out of range;
 * shapes that are reported; and that a repeated call is refused as the first one is. */
#include "backplane.h"
#include "support/passes.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define I64(...) ((const int64_t[]){__VA_ARGS__})

static float x[2048], y[2048];
static int64_t at[2048];
static bp_view input, output, indices;
static bp_pool_call call;

/* A valid call: maxima of 2 x 4x7x7 in windows of 3x3, to 2 x 4x3x3. */
static int begin(void **state) {
    (void)state;
    bp_view_init(&input, x, BP_F32, 4, I64(2, 4, 7, 7), NULL);
    bp_view_init(&output, y, BP_F32, 4, I64(2, 4, 3, 3), NULL);
    bp_view_init(&indices, at, BP_I64, 4, I64(2, 4, 3, 3), NULL);
    static const int64_t kernel[] = {3, 3}, stride[] = {2, 2};
    call = (bp_pool_call){.struct_size = sizeof call,
                          .ndim = 2,
                          .kernel = kernel,
                          .stride = stride,
                          .input = &input.tensor,
                          .output = &output.tensor,
                          .indices = &indices.tensor};
    for (size_t i = 0; i < sizeof y / sizeof *y; i++) {
        y[i] = 77;
    }
    return 0;
}

static void refused(bp_status wanted, const char *words) {
    for (int again = 0; again < 2; again++) {
        const bp_status status = bp_pool_run(NULL, &call);
        if (status != wanted || !strstr(bp_last_error(), words)) {
            fail_msg("%s instead of %s: \"%s\" should have \"%s\"", bp_status_name(status), bp_status_name(wanted),
                     bp_last_error(), words);
        }
    }
    for (size_t i = 0; i < sizeof y / sizeof *y; i++) {
        assert_true(y[i] == 77);
    }
}

static void the_call_itself_is_valid(void **state) {
    (void)state;
    for (int again = 0; again < 2; again++) {
        assert_int_equal(bp_pool_run(NULL, &call), BP_OK);
        assert_true(y[0] == 0 && at[0] == 0 && at[8] == 4 * 7 + 4);
    }
}

static void parameters(void **state) {
    (void)state;
    call.ndim = 4;
    refused(BP_E_ARGUMENT, "ndim is 4; it must be 1 to 3");
    call.ndim = 2;
    call.kernel = NULL;
    refused(BP_E_ARGUMENT, "kernel and output_size are NULL");
    call.kernel = I64(3, 0);
    refused(BP_E_ARGUMENT, "kernel is 0 in dimension 1; it must be at least 1");
    call.kernel = I64(3, 3);
    call.stride = I64(0, 1);
    refused(BP_E_ARGUMENT, "stride is 0 in dimension 0");
    call.stride = I64(2, 2);
    call.dilation = I64(-1, 1);
    refused(BP_E_ARGUMENT, "dilation is -1 in dimension 0");
    call.dilation = NULL;
    call.padding = I64(1, 2);
    refused(BP_E_ARGUMENT, "padding is 2 in dimension 1; it must be at most half of the kernel's span, which is 3");
    call.padding = I64(-1, 0);
    refused(BP_E_ARGUMENT, "padding is -1 in dimension 0");
    call.padding = NULL;
    call.divisor = 2;
    refused(BP_E_ARGUMENT, "exclude_padding and divisor are for averages only");
    call.divisor = 0;
    call.kind = BP_POOL_AVERAGE;
    DLTensor *kept = call.indices;
    call.indices = NULL;
    call.divisor = 2;
    call.exclude_padding = 1;
    refused(BP_E_ARGUMENT, "exclude_padding is set, and divisor is 2");
    call.divisor = call.exclude_padding = 0;
    call.indices = kept;
    refused(BP_E_ARGUMENT, "dilation and indices are for maxima only");
    call.kind = (bp_pool_kind)2;
    refused(BP_E_ARGUMENT, "no value of its enumeration");
    call.kind = BP_POOL_MAX;
    call.output_size = I64(3, 3);
    refused(BP_E_ARGUMENT, "adaptive pooling has no parameters but output_size");
    call.kernel = call.stride = NULL;
    call.output_size = I64(3, -1);
    refused(BP_E_ARGUMENT, "output_size is -1 in dimension 1; it must be at least 0");
    call.output_size = I64(3, 4);
    refused(BP_E_SHAPE, "adaptive_max_pool2d: output has shape (2, 4, 3, 3); it must have shape (2, 4, 3, 4)");
    test_call_to_pass("pool", &call, BP_POOL_BACKWARD);
    call.indices = NULL;
    refused(BP_E_ARGUMENT, "the gradient of a maximum needs the indices");
    call.indices = &indices.tensor;
    call.output = &output.tensor;
    refused(BP_E_ARGUMENT, "pool: BACKWARD has no output, which must be NULL");
}

static void shapes(void **state) {
    (void)state;
    bp_view_init(&input, x, BP_F32, 2, I64(7, 7), NULL);
    refused(BP_E_SHAPE, "max_pool2d: input has shape (7, 7); it must have 4 dimensions, or 3 without items");
    bp_view_init(&input, x, BP_F32, 4, I64(2, 4, 7, 0), NULL);
    refused(BP_E_SHAPE, "only the number of items may be 0");
    bp_view_init(&input, x, BP_F32, 4, I64(2, 4, 7, 2), NULL);
    refused(BP_E_SHAPE, "the kernel spans 3 elements in dimension 1, more than the padded input, which has 2");
    bp_view_init(&input, x, BP_F32, 4, I64(2, 4, 7, 8), NULL);
    call.ceil_mode = 1;
    refused(BP_E_SHAPE, "output has shape (2, 4, 3, 3); it must have shape (2, 4, 3, 4)");
    call.ceil_mode = 0;
    bp_view_init(&indices, at, BP_I64, 4, I64(2, 4, 3, 2), NULL);
    refused(BP_E_SHAPE, "indices has shape (2, 4, 3, 2); it must have shape (2, 4, 3, 3)");
    call.kernel = I64(INT64_MAX, 1);
    refused(BP_E_OVERFLOW, "exceeds 64 bits");
    call.kernel = I64(3, 3);
    call.dilation = I64(INT64_MAX / 2, 1);
    refused(BP_E_OVERFLOW, "exceeds 64 bits");
}

static void types(void **state) {
    (void)state;
    bp_view_init(&indices, at, BP_I32, 4, I64(2, 4, 3, 3), NULL);
    refused(BP_E_DTYPE, "indices is i32; it must be i64");
    bp_view_init(&output, y, BP_F16, 4, I64(2, 4, 3, 3), NULL);
    refused(BP_E_DTYPE, "output is f16; it must be f32");
    bp_view_init(&input, x, BP_C64, 4, I64(2, 4, 7, 7), NULL);
    refused(BP_E_DTYPE, "input is c64; pooling takes f16, bf16, f32 and f64");
}

static void overlap(void **state) {
    (void)state;
    bp_view_init(&output, y, BP_F32, 4, I64(2, 4, 3, 3), I64(36, 9, 0, 1));
    refused(BP_E_OVERLAP, "output");
    bp_view_init(&output, x + 100, BP_F32, 4, I64(2, 4, 3, 3), NULL);
    refused(BP_E_OVERLAP, "output, which is written, overlaps input");
    bp_view_init(&output, y, BP_F32, 4, I64(2, 4, 3, 3), NULL);
    bp_view_init(&indices, x, BP_I64, 4, I64(2, 4, 3, 3), NULL);
    refused(BP_E_OVERLAP, "indices, which is written, overlaps input");
}

/* Indices of a gradient come from outside, and must not lead out of the memory of the result. */
static void indices_out_of_range(void **state) {
    (void)state;
    static const int64_t bad[] = {49, -2, INT64_MAX, INT64_MIN};
    test_call_to_pass("pool", &call, BP_POOL_BACKWARD);
    bp_view_init(&input, x, BP_F32, 4, I64(2, 4, 7, 7), NULL);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        memset(at, 0, sizeof at);
        at[70] = bad[i];
        for (int channels_last = 0; channels_last < 2; channels_last++) {
            const int64_t *in = channels_last ? I64(196, 1, 28, 4) : NULL,
                          *out = channels_last ? I64(36, 1, 12, 4) : NULL;
            bp_view_init(&input, x, BP_F32, 4, I64(2, 4, 7, 7), in);
            bp_view_init(&output, y, BP_F32, 4, I64(2, 4, 3, 3), out);
            bp_view_init(&indices, at, BP_I64, 4, I64(2, 4, 3, 3), out);
            assert_int_equal(bp_pool_run(NULL, &call), BP_E_ARGUMENT);
            assert_non_null(strstr(bp_last_error(), "an index is outside of its channel, which has 49 elements"));
        }
    }
    memset(at, -1, sizeof at);
    assert_int_equal(bp_pool_run(NULL, &call), BP_OK);
    for (int i = 0; i < 2 * 4 * 49; i++) {
        assert_true(x[i] == 0);
    }
}

static void nothing_to_do(void **state) {
    (void)state;
    bp_view_init(&input, NULL, BP_F32, 4, I64(0, 4, 7, 7), NULL);
    bp_view_init(&output, NULL, BP_F32, 4, I64(0, 4, 3, 3), NULL);
    bp_view_init(&indices, NULL, BP_I64, 4, I64(0, 4, 3, 3), NULL);
    assert_int_equal(bp_pool_run(NULL, &call), BP_OK);
    test_call_to_pass("pool", &call, BP_POOL_BACKWARD);
    assert_int_equal(bp_pool_run(NULL, &call), BP_OK);
}

static void plans_and_explanations(void **state) {
    (void)state;
    bp_plan *plan;
    bp_explanation *explanation;
    bp_exec exec = {.struct_size = sizeof exec, .operand_count = 3};
    const bp_operand operands[] = {{x, 0}, {y, 0}, {NULL, 0}};
    bp_dtype dtype;
    int ndim;
    int64_t shape[BP_MAX_NDIM];
    call.indices = NULL;
    assert_int_equal(bp_pool_plan(&plan, NULL, &call), BP_OK);
    assert_int_equal(bp_execute(plan, operands, &exec), BP_OK);
    assert_true(y[0] == 0 && y[2 * 4 * 9 - 1] == 0 && y[2 * 4 * 9] == 77);
    bp_plan_release(plan);
    assert_int_equal(bp_pool_explain(&explanation, NULL, &call), BP_OK);
    bp_explanation_release(explanation);
    assert_int_equal(bp_pool_shape(&call, &dtype, &ndim, shape), BP_OK);
    assert_true(dtype == BP_F32 && ndim == 4 && shape[3] == 3);
    assert_int_equal(bp_pool_shape(&call, NULL, &ndim, shape), BP_E_ARGUMENT);
    assert_int_equal(bp_pool_run(NULL, NULL), BP_E_ARGUMENT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(the_call_itself_is_valid, begin),
        cmocka_unit_test_setup(parameters, begin),
        cmocka_unit_test_setup(shapes, begin),
        cmocka_unit_test_setup(types, begin),
        cmocka_unit_test_setup(overlap, begin),
        cmocka_unit_test_setup(indices_out_of_range, begin),
        cmocka_unit_test_setup(nothing_to_do, begin),
        cmocka_unit_test_setup(plans_and_explanations, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
