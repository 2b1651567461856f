/* test_fourier.c - compares convolutions by Fourier transforms with the definition: kernels from 2 to hundreds of
 * elements, tiles that overlap, lanes of groups and of tiles, the error bound, and what is refused. */
#include "conv/transformed.h"
#include "support/modes.h"
#include "support/passes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Both types and passes; every third case has one channel in a group of the input, and up to 20 groups. */
static conv_limits limits_of(int i, int channels, int size) {
    return (conv_limits){.dtype = i / 2 % 3 == 2 ? BP_F64 : BP_F32,
                         .pass = i % 2 ? BP_CONV_INPUT : BP_CONV_FORWARD,
                         .most_channels = i % 3 ? channels : 1,
                         .most_size = size,
                         .most_groups = i % 3 ? 4 : 20,
                         .least_kernel = 2,
                         .most_kernel = i % 4 ? 0 : 7,
                         .unit_stride = true};
}

static const transformed by = {"fft", limits_of};

/* Sizes that need several tiles and blocks, in one to three dimensions. */
static conv_limits large_limits(int i, int channels, int size) {
    conv_limits limits = limits_of(i, channels, size);
    limits.ndim = 1 + i % 3;
    limits.most_padding = limits.ndim == 1 ? 70 : 12;
    limits.least_kernel = limits.ndim == 1 ? 60 : limits.ndim == 2 ? 9 : 4;
    limits.most_kernel = limits.ndim == 1 ? 400 : limits.ndim == 2 ? 31 : 7;
    limits.most_size = limits.ndim == 1 ? 6000 : limits.ndim == 2 ? 120 : 36;
    return limits;
}

static void large_kernels(void **state) {
    (void)state;
    static const char *const settings[] = {", num_threads=1", ", num_threads=3",
                                           ", num_threads=1, cpu.capability=default"};
    test_array_random = 20251;
    for (int i = 0; i < (test_takes_all() ? 36 : 18); i++) {
        const conv_limits limits = large_limits(i, 3, 0);
        transformed_compare(&by, &limits, settings[i / 3 % 3]);
    }
}

/* More channels than a block of the products has, and more rows than a panel. */
static void many_channels(void **state) {
    (void)state;
    test_array_random = 613;
    for (int i = 0; i < 8; i++) {
        conv_limits limits = limits_of(3 * i + 1 + i % 2, 70, 7);
        limits.input_channels = i % 4 ? 150 : 600;
        limits.ndim = 1 + i % 2;
        transformed_compare(&by, &limits, ", num_threads=2");
    }
}

/* ---- What is refused ---- */

static float memory[4096];

/* Returns the status of a plan for images of 7, 7x7 or 7x7x7 in a type. */
static bp_status status_of(bp_dtype dtype, bp_conv_pass pass, int ndim, int64_t kernel, int64_t stride,
                           const char *further) {
    const int64_t x[] = {1, 2, 7, 7, 7}, w[] = {3, 2, kernel, kernel, kernel}, strides[] = {stride, stride, stride},
                  size = (7 - kernel) / stride + 1, y[] = {1, 3, size, size, size};
    bp_view input, weight, output;
    bp_plan *made = NULL;
    bp_view_init(&input, memory, dtype, ndim + 2, x, NULL);
    bp_view_init(&weight, memory, dtype, ndim + 2, w, NULL);
    bp_view_init(&output, memory, dtype, ndim + 2, y, NULL);
    weight.tensor.data = output.tensor.data = input.tensor.data = NULL;
    bp_conv_call call = {.struct_size = sizeof call,
                         .ndim = ndim,
                         .stride = strides,
                         .input = &input.tensor,
                         .weight = &weight.tensor,
                         .output = &output.tensor};
    test_call_to_pass("conv", &call, (int)pass);
    const bp_status status = transformed_plan(&by, &made, &call, further);
    bp_plan_release(made);
    return status;
}

static void assert_refused(bp_status status, const char *why) {
    assert_int_equal(status, BP_E_FALLBACK);
    if (!strstr(bp_last_error(), why)) {
        fail_msg("%s", bp_last_error());
    }
}

static void other_problems_are_refused(void **state) {
    (void)state;
    for (int ndim = 1; ndim <= 3; ndim++) {
        assert_int_equal(status_of(BP_F32, BP_CONV_FORWARD, ndim, 3, 1, ""), BP_OK);
        assert_int_equal(status_of(BP_F64, BP_CONV_INPUT, ndim, 3, 1, ""), BP_OK);
        assert_refused(status_of(BP_F32, BP_CONV_WEIGHT, ndim, 3, 1, ""), "gradients by the weight");
        assert_refused(status_of(BP_F16, BP_CONV_FORWARD, ndim, 3, 1, ""), "only f32 and f64");
        assert_refused(status_of(BP_BF16, BP_CONV_FORWARD, ndim, 3, 1, ""), "only f32 and f64");
        assert_refused(status_of(BP_F32, BP_CONV_FORWARD, ndim, 3, 2, ""), "stride is above 1");
        assert_refused(status_of(BP_F32, BP_CONV_INPUT, ndim, 1, 2, ""), "stride is above 1");
        assert_refused(status_of(BP_F64, BP_CONV_FORWARD, ndim, 1, 1, ""), "one tap");
    }
}

/* Tiles and spectra have a limit. */
static void large_problems_are_refused(void **state) {
    (void)state;
    static const int64_t x[][4] = {{1, 1, 1, 300000}, {1, 4096, 40, 40}},
                         y[][4] = {{1, 1, 1, 100001}, {1, 4096, 10, 10}},
                         w[][4] = {{1, 1, 1, 200000}, {4096, 4096, 31, 31}};
    for (int i = 0; i < 2; i++) {
        bp_view input, weight, output;
        bp_plan *made = NULL;
        bp_view_init(&input, NULL, BP_F32, 4, x[i], NULL);
        bp_view_init(&weight, NULL, BP_F32, 4, w[i], NULL);
        bp_view_init(&output, NULL, BP_F32, 4, y[i], NULL);
        const bp_conv_call call = {.struct_size = sizeof call,
                                   .ndim = 2,
                                   .input = &input.tensor,
                                   .weight = &weight.tensor,
                                   .output = &output.tensor};
        assert_refused(transformed_plan(&by, &made, &call, ""), "too large");
        bp_plan_release(made);
    }
}

static void ieee_refuses(void **state) {
    (void)state;
    static const char ieee[] = ", mkldnn.conv.fp32_precision=ieee",
                      why[] = "larger rounding errors than mkldnn.conv.fp32_precision=ieee allows";
    assert_refused(status_of(BP_F32, BP_CONV_FORWARD, 2, 3, 1, ieee), why);
    assert_refused(status_of(BP_F64, BP_CONV_FORWARD, 2, 3, 1, ieee), why);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(transformed_errors_are_bounded, (void *)(uintptr_t)&by),
        cmocka_unit_test_prestate(transformed_bits_do_not_depend_on_threads, (void *)(uintptr_t)&by),
        cmocka_unit_test_prestate(transformed_items_of_a_batch_are_independent, (void *)(uintptr_t)&by),
        cmocka_unit_test_prestate(transformed_packed_weights_give_the_same_bits, (void *)(uintptr_t)&by),
        cmocka_unit_test_prestate(transformed_not_finite_reaches_results, (void *)(uintptr_t)&by),
        cmocka_unit_test_prestate(transformed_not_a_number_passes_the_activation, (void *)(uintptr_t)&by),
        cmocka_unit_test(large_kernels),
        cmocka_unit_test(many_channels),
        cmocka_unit_test(other_problems_are_refused),
        cmocka_unit_test(large_problems_are_refused),
        cmocka_unit_test(ieee_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
