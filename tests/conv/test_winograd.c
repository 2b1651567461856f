/* test_winograd.c - compares Winograd's convolution with the definition, and tests what it refuses. */
#include "conv/transformed.h"
#include "support/passes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static conv_limits limits_of(int i, int channels, int size) {
    return (conv_limits){.dtype = BP_F32,
                         .pass = i % 2 ? BP_CONV_INPUT : BP_CONV_FORWARD,
                         .most_channels = channels,
                         .most_size = size,
                         .kernel = 3};
}

static const transformed by = {"winograd", limits_of};

/* ---- What is refused ---- */

static float memory[4096];

/* Returns the status of a plan for images of 7x7, or 7x7x7, in a type. */
static bp_status status_of(bp_dtype dtype, bp_conv_pass pass, int ndim, int64_t kernel, int64_t stride,
                           int64_t dilation, const char *settings) {
    const int64_t x[] = {1, 2, 7, 7, 7}, w[] = {3, 2, kernel, kernel, kernel}, strides[] = {stride, stride, stride},
                  dilations[] = {dilation, dilation, dilation}, size = (6 - dilation * (kernel - 1)) / stride + 1,
                  y[] = {1, 3, size, size, size};
    bp_view input, weight, output;
    bp_plan *made = NULL;
    bp_view_init(&input, memory, dtype, ndim + 2, x, NULL);
    bp_view_init(&weight, memory, dtype, ndim + 2, w, NULL);
    bp_view_init(&output, memory, dtype, ndim + 2, y, NULL);
    weight.tensor.data = output.tensor.data = input.tensor.data = NULL;
    bp_conv_call call = {.struct_size = sizeof call,
                         .ndim = ndim,
                         .stride = strides,
                         .dilation = dilations,
                         .input = &input.tensor,
                         .weight = &weight.tensor,
                         .output = &output.tensor};
    test_call_to_pass("conv", &call, (int)pass);
    const bp_status status = transformed_plan(&by, &made, &call, settings);
    bp_plan_release(made);
    return status;
}

static void other_problems_are_refused(void **state) {
    (void)state;
    assert_int_equal(status_of(BP_F32, BP_CONV_FORWARD, 2, 3, 1, 1, ""), BP_OK);
    assert_int_equal(status_of(BP_F32, BP_CONV_INPUT, 2, 3, 1, 1, ""), BP_OK);
    assert_int_equal(status_of(BP_F32, BP_CONV_WEIGHT, 2, 3, 1, 1, ""), BP_E_FALLBACK);
    assert_int_equal(status_of(BP_F64, BP_CONV_FORWARD, 2, 3, 1, 1, ""), BP_E_FALLBACK);
    assert_int_equal(status_of(BP_F16, BP_CONV_FORWARD, 2, 3, 1, 1, ""), BP_E_FALLBACK);
    assert_int_equal(status_of(BP_F32, BP_CONV_FORWARD, 1, 3, 1, 1, ""), BP_E_FALLBACK);
    assert_int_equal(status_of(BP_F32, BP_CONV_FORWARD, 3, 3, 1, 1, ""), BP_E_FALLBACK);
    assert_int_equal(status_of(BP_F32, BP_CONV_FORWARD, 2, 2, 1, 1, ""), BP_E_FALLBACK);
    assert_int_equal(status_of(BP_F32, BP_CONV_FORWARD, 2, 3, 2, 1, ""), BP_E_FALLBACK);
    assert_int_equal(status_of(BP_F32, BP_CONV_FORWARD, 2, 3, 1, 2, ""), BP_E_FALLBACK);
}

static void ieee_refuses(void **state) {
    (void)state;
    assert_int_equal(status_of(BP_F32, BP_CONV_FORWARD, 2, 3, 1, 1, ", mkldnn.conv.fp32_precision=ieee"),
                     BP_E_FALLBACK);
    assert_non_null(strstr(bp_last_error(), "larger rounding errors than mkldnn.conv.fp32_precision=ieee allows"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(transformed_errors_are_bounded, (void *)(uintptr_t)&by),
        cmocka_unit_test_prestate(transformed_large_sizes, (void *)(uintptr_t)&by),
        cmocka_unit_test_prestate(transformed_bits_do_not_depend_on_threads, (void *)(uintptr_t)&by),
        cmocka_unit_test_prestate(transformed_items_of_a_batch_are_independent, (void *)(uintptr_t)&by),
        cmocka_unit_test_prestate(transformed_packed_weights_give_the_same_bits, (void *)(uintptr_t)&by),
        cmocka_unit_test_prestate(transformed_not_finite_reaches_results, (void *)(uintptr_t)&by),
        cmocka_unit_test_prestate(transformed_not_a_number_passes_the_activation, (void *)(uintptr_t)&by),
        cmocka_unit_test(other_problems_are_refused),
        cmocka_unit_test(ieee_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
