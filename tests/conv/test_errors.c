/* test_errors.c - refused convolutions: status and message, and outputs that stay unchanged; shapes that are reported;
 * and that a repeated call is refused as the first one is. */
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

static float x[2048], w[2048], b[64], y[2048];
static bp_view input, weight, bias, output;
static bp_conv_call call;

/* A valid call: 2 x 4x7x7 with 6 kernels of 4x3x3, to 2 x 6x5x5. */
static int begin(void **state) {
    (void)state;
    bp_view_init(&input, x, BP_F32, 4, I64(2, 4, 7, 7), NULL);
    bp_view_init(&weight, w, BP_F32, 4, I64(6, 4, 3, 3), NULL);
    bp_view_init(&bias, b, BP_F32, 1, I64(6), NULL);
    bp_view_init(&output, y, BP_F32, 4, I64(2, 6, 5, 5), NULL);
    call = (bp_conv_call){.struct_size = sizeof call,
                          .ndim = 2,
                          .input = &input.tensor,
                          .weight = &weight.tensor,
                          .bias = &bias.tensor,
                          .output = &output.tensor};
    for (size_t i = 0; i < sizeof y / sizeof *y; i++) {
        y[i] = 77;
    }
    return 0;
}

static void refused(bp_status wanted, const char *words) {
    for (int again = 0; again < 2; again++) {
        const bp_status status = bp_conv_run(NULL, &call);
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
    assert_int_equal(bp_conv_run(NULL, &call), BP_OK);
    assert_int_equal(bp_conv_run(NULL, &call), BP_OK);
}

static void parameters(void **state) {
    (void)state;
    call.ndim = 4;
    refused(BP_E_ARGUMENT, "ndim is 4; it must be 1 to 3");
    call.ndim = 0;
    refused(BP_E_ARGUMENT, "ndim is 0");
    call.ndim = 2;
    call.stride = I64(1, 0);
    refused(BP_E_ARGUMENT, "stride is 0 in dimension 1; it must be at least 1");
    call.stride = NULL;
    call.dilation = I64(-1, 1);
    refused(BP_E_ARGUMENT, "dilation is -1 in dimension 0");
    call.dilation = NULL;
    call.padding = I64(0, -2);
    refused(BP_E_ARGUMENT, "padding is -2 in dimension 1; it must be at least 0");
    call.padding = NULL;
    call.groups = -1;
    refused(BP_E_ARGUMENT, "groups is -1");
    call.groups = 0;
    call.output_padding = I64(0, 0);
    refused(BP_E_ARGUMENT, "output_padding is for transposed convolutions");
    call.output_padding = NULL;
    call.mode = BP_CONV_SAME;
    call.stride = I64(1, 2);
    refused(BP_E_ARGUMENT, "padding 'same' needs stride 1; it is 2 in dimension 1");
    call.stride = NULL;
    call.padding = I64(1, 1);
    refused(BP_E_ARGUMENT, "take no padding");
    call.padding = NULL;
    call.mode = (bp_conv_padding)9;
    refused(BP_E_ARGUMENT, "no value of its enumeration");
    call.mode = BP_CONV_EXPLICIT;
    call.pass = (bp_conv_pass)3;
    refused(BP_E_ARGUMENT, "no value of its enumeration");
    call.pass = BP_CONV_INPUT;
    refused(BP_E_ARGUMENT, "does not depend on the bias");
    call.bias = NULL;
    call.activation = BP_UNARY_RELU;
    refused(BP_E_ARGUMENT, "an activation is for the pass FORWARD");
    call.activation = BP_UNARY_COPY;
    call.input_gradient = &input.tensor;
    call.output_gradient = &output.tensor;
    refused(BP_E_ARGUMENT, "conv: INPUT has no input, which must be NULL");
    call.pass = BP_CONV_FORWARD;
    refused(BP_E_ARGUMENT, "conv: FORWARD has no output_gradient, which must be NULL");
    call.output_gradient = NULL;
    refused(BP_E_ARGUMENT, "conv: FORWARD has no input_gradient, which must be NULL");
}

static void shapes(void **state) {
    (void)state;
    bp_view_init(&input, x, BP_F32, 2, I64(7, 7), NULL);
    refused(BP_E_SHAPE, "conv2d: input has shape (7, 7); it must have 4 dimensions, or 3 without items");
    bp_view_init(&input, x, BP_F32, 4, I64(2, 5, 7, 7), NULL);
    refused(BP_E_SHAPE,
            "input has 5 channels (shape (2, 5, 7, 7)); weight of shape (6, 4, 3, 3) with groups 1 needs 4");
    bp_view_init(&input, x, BP_F32, 4, I64(2, 4, 7, 0), NULL);
    refused(BP_E_SHAPE, "only the number of items may be 0");
    bp_view_init(&input, x, BP_F32, 4, I64(2, 4, 7, 2), NULL);
    refused(BP_E_SHAPE, "the kernel spans 3 elements in dimension 1, more than the padded input, which has 2");
    bp_view_init(&input, x, BP_F32, 4, I64(2, 4, 7, 7), NULL);
    call.groups = 4;
    refused(BP_E_SHAPE, "its first size must be a multiple of groups, which is 4");
    call.groups = 0;
    bp_view_init(&weight, w, BP_F32, 3, I64(6, 4, 3), NULL);
    refused(BP_E_SHAPE, "weight has shape (6, 4, 3); it must have 4 dimensions");
    bp_view_init(&weight, w, BP_F32, 4, I64(6, 4, 3, 3), NULL);
    bp_view_init(&bias, b, BP_F32, 1, I64(5), NULL);
    refused(BP_E_SHAPE, "bias has shape (5); it must have shape (6)");
    call.bias = NULL;
    bp_view_init(&output, y, BP_F32, 4, I64(2, 6, 5, 6), NULL);
    refused(BP_E_SHAPE, "output has shape (2, 6, 5, 6); it must have shape (2, 6, 5, 5)");
}

static void transposed_parameters(void **state) {
    (void)state;
    bp_view_init(&weight, w, BP_F32, 4, I64(4, 6, 3, 3), NULL);
    bp_view_init(&output, y, BP_F32, 4, I64(2, 6, 9, 9), NULL);
    call.transposed = 1;
    bp_plan *plan;
    assert_int_equal(bp_conv_plan(&plan, NULL, &call), BP_OK);
    bp_plan_release(plan);
    call.output_padding = I64(1, 0);
    refused(BP_E_ARGUMENT, "output_padding is 1 in dimension 0; it must be less than stride or dilation; the "
                           "larger one is 1");
    call.output_padding = NULL;
    call.padding = I64(5, 0);
    refused(BP_E_SHAPE, "conv_transpose2d: the padding of dimension 0 removes 10 of the 9 elements of the output");
    call.padding = NULL;
    call.mode = BP_CONV_SAME;
    refused(BP_E_ARGUMENT, "no transposed convolution");
}

/* The padding removes the whole output: it is empty, and the gradients are zeros, also between other elements. */
static void an_output_without_elements(void **state) {
    (void)state;
    bp_plan *plan;
    float *const written[] = {NULL, x, w};
    for (int pass = BP_CONV_FORWARD; pass <= BP_CONV_WEIGHT; pass++) {
        for (int i = 0; i < 2 * 2 * 4 * 2 * 2; i++) {
            x[i] = 7;
        }
        for (int i = 0; i < 4 * 6 * 3 * 3 * 2; i++) {
            w[i] = 7;
        }
        for (int i = 0; i < 6; i++) {
            b[i] = 7;
        }
        const int64_t steps[] = {2 * 4 * 2 * 2, 2 * 2 * 2, 2 * 2, 2}, kernel[] = {6 * 3 * 3 * 2, 3 * 3 * 2, 3 * 2, 2};
        bp_view_init(&input, x, BP_F32, 4, I64(2, 4, 2, 2), steps);
        bp_view_init(&weight, w, BP_F32, 4, I64(4, 6, 3, 3), kernel);
        bp_view_init(&bias, b, BP_F32, 1, I64(6), NULL);
        bp_view_init(&output, pass == BP_CONV_FORWARD ? NULL : y, BP_F32, 4, I64(2, 6, 0, 2), NULL);
        call.transposed = 1;
        call.padding = I64(2, 1);
        call.bias = pass == BP_CONV_INPUT ? NULL : &bias.tensor;
        test_call_to_pass("conv", &call, pass);
        int64_t shape[4];
        int ndim;
        bp_dtype dtype;
        assert_int_equal(bp_conv_shape(&call, &dtype, &ndim, shape), BP_OK);
        assert_int_equal(ndim, 4);
        assert_int_equal(shape[2], 0);
        assert_int_equal(shape[3], 2);
        assert_int_equal(bp_conv_run(NULL, &call), BP_OK);
        assert_true(bp_conv_plan(&plan, NULL, &call) == BP_E_UNSUPPORTED && strstr(bp_last_error(), "nothing to plan"));
        const int count = pass == BP_CONV_INPUT ? 2 * 4 * 2 * 2 : pass == BP_CONV_WEIGHT ? 4 * 6 * 3 * 3 : 0;
        for (int i = 0; i < count; i++) {
            assert_true(written[pass][2 * i] == 0 && written[pass][2 * i + 1] == 7);
        }
        for (int i = 0; i < 6; i++) {
            assert_true(b[i] == (pass == BP_CONV_WEIGHT ? 0 : 7));
        }
        bp_view_init(&output, y, BP_F32, 4, I64(2, 6, 1, 2), NULL);
        refused(BP_E_SHAPE, pass == BP_CONV_FORWARD
                                ? "output has shape (2, 6, 1, 2); it must have shape (2, 6, 0, 2)"
                                : "output_gradient has shape (2, 6, 1, 2); it must have shape (2, 6, 0, 2)");
        begin(state);
    }
}

static void types(void **state) {
    (void)state;
    bp_view_init(&input, x, BP_C64, 4, I64(2, 4, 7, 7), NULL);
    refused(BP_E_DTYPE, "input is c64; convolutions take f16, bf16, f32 and f64");
    bp_view_init(&input, x, BP_F16, 4, I64(2, 4, 7, 7), NULL);
    refused(BP_E_DTYPE, "weight is f32; it must be f16, as the input is");
    bp_view_init(&input, x, BP_F32, 4, I64(2, 4, 7, 7), NULL);
    bp_view_init(&bias, b, BP_BF16, 1, I64(6), NULL);
    refused(BP_E_DTYPE, "bias is bf16");
    call.bias = NULL;
    bp_view_init(&output, y, BP_F64, 4, I64(2, 6, 5, 5), NULL);
    refused(BP_E_DTYPE, "output is f64");
}

static void overlaps(void **state) {
    (void)state;
    call.output = &output.tensor;
    bp_view_init(&output, x, BP_F32, 4, I64(2, 6, 5, 5), NULL);
    refused(BP_E_OVERLAP, "output, which is written, overlaps input");
    bp_view_init(&output, y, BP_F32, 4, I64(2, 6, 5, 5), I64(150, 25, 5, 0));
    refused(BP_E_OVERLAP, "output");
}

static void overflow(void **state) {
    (void)state;
    call.padding = I64(INT64_MAX - 3, 0);
    refused(BP_E_OVERFLOW, "a size in dimension 0 exceeds 64 bits");
    call.padding = NULL;
    call.dilation = I64(INT64_MAX, 1);
    refused(BP_E_OVERFLOW, "a size in dimension 0 exceeds 64 bits");
    call.mode = BP_CONV_SAME;
    refused(BP_E_OVERFLOW, "the padding exceeds 64 bits");
    call.mode = BP_CONV_EXPLICIT;
    call.dilation = NULL;
    call.transposed = 1;
    call.stride = I64(INT64_MAX / 2, 1);
    bp_view_init(&weight, w, BP_F32, 4, I64(4, 6, 3, 3), NULL);
    refused(BP_E_OVERFLOW, "a size in dimension 0 exceeds 64 bits");
    bp_view_init(&weight, w, BP_F32, 4, I64(4, INT64_MAX / 16, 1, 1), I64(0, 0, 0, 0));
    call.groups = 64;
    refused(BP_E_SHAPE, "its first size must be a multiple of groups");
}

static void absent_tensors(void **state) {
    (void)state;
    call.input = NULL;
    refused(BP_E_ARGUMENT, "input");
    call.input = &input.tensor;
    call.output = NULL;
    refused(BP_E_ARGUMENT, "output");
    assert_int_equal(bp_conv_run(NULL, NULL), BP_E_ARGUMENT);
}

static void the_shape_is_reported(void **state) {
    (void)state;
    bp_dtype dtype;
    int ndim;
    int64_t shape[BP_MAX_NDIM];
    call.stride = I64(2, 3);
    call.padding = I64(1, 2);
    call.padding_end = I64(0, 1);
    call.output = NULL;
    assert_int_equal(bp_conv_shape(&call, &dtype, &ndim, shape), BP_OK);
    assert_int_equal(dtype, BP_F32);
    assert_int_equal(ndim, 4);
    assert_memory_equal(shape, I64(2, 6, 3, 3), 4 * sizeof *shape);
    bp_view_init(&input, NULL, BP_F32, 3, I64(4, 7, 7), NULL);
    assert_int_equal(bp_conv_shape(&call, &dtype, &ndim, shape), BP_OK);
    assert_int_equal(ndim, 3);
    assert_memory_equal(shape, I64(6, 3, 3), 3 * sizeof *shape);
    assert_int_equal(bp_conv_shape(&call, &dtype, &ndim, NULL), BP_E_ARGUMENT);
}

static void an_empty_batch_is_valid(void **state) {
    (void)state;
    bp_view_init(&input, NULL, BP_F32, 4, I64(0, 4, 7, 7), NULL);
    bp_view_init(&output, NULL, BP_F32, 4, I64(0, 6, 5, 5), NULL);
    assert_int_equal(bp_conv_run(NULL, &call), BP_OK);
    test_call_to_pass("conv", &call, BP_CONV_WEIGHT);
    for (size_t i = 0; i < sizeof w / sizeof *w; i++) {
        w[i] = 5;
    }
    b[0] = b[5] = 5;
    assert_int_equal(bp_conv_run(NULL, &call), BP_OK);
    for (size_t i = 0; i < 6 * 4 * 3 * 3; i++) {
        assert_true(w[i] == 0);
    }
    assert_true(b[0] == 0 && b[5] == 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(the_call_itself_is_valid, begin),
        cmocka_unit_test_setup(parameters, begin),
        cmocka_unit_test_setup(shapes, begin),
        cmocka_unit_test_setup(transposed_parameters, begin),
        cmocka_unit_test_setup(an_output_without_elements, begin),
        cmocka_unit_test_setup(types, begin),
        cmocka_unit_test_setup(overlaps, begin),
        cmocka_unit_test_setup(overflow, begin),
        cmocka_unit_test_setup(absent_tensors, begin),
        cmocka_unit_test_setup(the_shape_is_reported, begin),
        cmocka_unit_test_setup(an_empty_batch_is_valid, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
