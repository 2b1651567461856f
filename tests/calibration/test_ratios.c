/* test_ratios.c - tests that ratios of measured times to estimates decide: of transforms, linear algebra and
 * convolutions. */
#include "calibration/steps.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SKIPPED = 77 }; /* ctest counts it as skipped */

/* ---- Steps, in processes of their own ---- */

/* Measures everything, and looks at the times of a transform and a decomposition. */
static void step_ratios(void) {
    const bp_fft_call transform = {.struct_size = sizeof transform, .transform = BP_FFT, .axis_count = 1};
    bp_linalg_call inverse = {.struct_size = sizeof inverse, .op = BP_OP_INV};
    bp_explanation *e;
    bp_time_source source;
    bp_view in, out;
    expect(bp_calibrate(0, NULL, NULL) == BP_OK, "the whole machine is measured");
    for (int length = 64; length <= 65; length++) {
        bp_view_matrix(&in, NULL, BP_C128, 1, length);
        bp_view_matrix(&out, NULL, BP_C128, 1, length);
        expect(bp_fft_explain(&e, NULL, &transform, &in.tensor, &out.tensor) == BP_OK, "a transform is explained");
        expect(is_chosen(e, "native", &source), "the only provider is chosen");
        expect(source == (length == 64 ? BP_TIME_MEASURED : BP_TIME_INTERPOLATED), "the source belongs to the length");
        bp_explanation_release(e);
    }
    const bp_fft_call square = {.struct_size = sizeof square, .transform = BP_FFT, .axis_count = 2};
    for (int length = 64; length <= 65; length++) {
        bp_view_matrix(&in, NULL, BP_C64, 64, length);
        bp_view_matrix(&out, NULL, BP_C64, 64, length);
        expect(bp_fft_explain(&e, NULL, &square, &in.tensor, &out.tensor) == BP_OK, "two dimensions are explained");
        is_chosen(e, "native", &source);
        expect(source == (length == 64 ? BP_TIME_MEASURED : BP_TIME_INTERPOLATED), "they have times of their own");
        bp_explanation_release(e);
    }
    bp_view_matrix(&in, NULL, BP_F32, 8, 8);
    bp_view_matrix(&out, NULL, BP_F32, 8, 8);
    inverse.input[0] = &in.tensor;
    inverse.output[0] = &out.tensor;
    expect(bp_linalg_explain(&e, NULL, &inverse) == BP_OK, "an inverse is explained");
    expect(is_chosen(e, "native", &source) && source == BP_TIME_MEASURED, "inverses are measured");
    bp_explanation_release(e);
}

/* Explains a convolution with 16 channels and an image of 20x20; the kernel has `side` rows and columns. */
static bp_explanation *convolution(int64_t side, int64_t groups, const char *settings) {
    const int64_t image[] = {1, 16, 20, 20}, taps[] = {16, 16 / groups, side, side};
    bp_view in, weight, out;
    bp_options *options;
    bp_explanation *e = NULL;
    bp_view_init(&in, NULL, BP_F32, 4, image, NULL);
    bp_view_init(&weight, NULL, BP_F32, 4, taps, NULL);
    bp_view_init(&out, NULL, BP_F32, 4, image, NULL);
    const bp_conv_call call = {.struct_size = sizeof call,
                               .ndim = 2,
                               .mode = BP_CONV_SAME,
                               .groups = groups,
                               .input = &in.tensor,
                               .weight = &weight.tensor,
                               .output = &out.tensor};
    expect(bp_options_new(&options, settings) == BP_OK && bp_conv_explain(&e, options, &call) == BP_OK,
           "a convolution is explained");
    bp_options_release(options);
    return e;
}

/* Returns whether an algorithm of the provider is chosen; *source is the source of its time. */
static bool runs_by(const bp_explanation *e, const char *library, const char *algorithm, bp_time_source *source) {
    bp_candidate_info info = {.struct_size = sizeof info};
    for (int i = 0; bp_explanation_at(e, i, &info); i++) {
        if (strcmp(info.library, library) == 0 && strcmp(info.algorithm, algorithm) == 0) {
            *source = info.time_source;
            return info.chosen != 0;
        }
    }
    return false;
}

/* Measured times decide between the libraries and algorithms of a convolution, each with the ratio of its own class. */
static void step_convolutions(void) {
    bp_time_source source;
    bp_explanation *e = convolution(3, 1, "num_threads=1,calibration=off");
    expect(runs_by(e, "convolving", "loops", &source) && source == BP_TIME_ESTIMATED, "the least estimate decides");
    bp_explanation_release(e);
    expect(bp_calibrate(0, NULL, NULL) == BP_OK, "the whole machine is measured");
    e = convolution(3, 1, "num_threads=1");
    expect(runs_by(e, "convolving", "winograd", &source), "the fastest algorithm runs, against its estimate");
    expect(source == BP_TIME_INTERPOLATED, "its time comes from measurements");
    bp_explanation_release(e);
    static const struct { int64_t kernel, groups; } cases[] = {{3, 1}, {1, 1}, {5, 1}, {3, 16}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        e = convolution(cases[i].kernel, cases[i].groups, "num_threads=1,conv.fp32_precision=ieee");
        expect(!runs_by(e, "convolving", "loops", &source), "a slow algorithm does not run");
        expect(source == BP_TIME_INTERPOLATED, "the slow one has times");
        bp_explanation_release(e);
    }
}

/* A candidate that refuses one thread is measured with all, so that choices among all candidates have times. */
static void step_all_threads(void) {
    bp_linalg_call inverse = {.struct_size = sizeof inverse, .op = BP_OP_INV};
    bp_machine_info machine = {.struct_size = sizeof machine};
    bp_time_source source;
    bp_explanation *e;
    bp_view in, out;
    expect(bp_machine(&machine) == BP_OK && bp_calibrate(0, NULL, NULL) == BP_OK, "the whole machine is measured");
    bp_view_matrix(&in, NULL, BP_F64, 8, 8);
    bp_view_matrix(&out, NULL, BP_F64, 8, 8);
    inverse.input[0] = &in.tensor;
    inverse.output[0] = &out.tensor;
    expect(bp_linalg_explain(&e, NULL, &inverse) == BP_OK, "an inverse is explained");
    is_chosen(e, "inverting", &source);
    expect(source == BP_TIME_MEASURED || machine.usable_cpus == 1, "inverses are measured with all threads");
    bp_explanation_release(e);
}

static const step steps[] = {
    {"ratios", step_ratios},
    {"convolutions", step_convolutions},
    {"threads", step_all_threads},
};

/* ---- Tests ---- */

static void transforms_and_linear_algebra_are_measured(void **state) {
    (void)state;
    assert_int_equal(run_with("uneven", "ratios"), 0);
}

static void convolutions_are_measured(void **state) {
    (void)state;
    assert_int_equal(run_with("convolving", "convolutions"), 0);
}

static void candidates_that_refuse_one_thread_are_measured(void **state) {
    (void)state;
    assert_int_equal(run_with("inverting", "threads"), 0);
}

int main(int count, char **words) {
    if (!steps_begin(count, words, steps, (int)(sizeof steps / sizeof *steps))) {
        return SKIPPED;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(transforms_and_linear_algebra_are_measured, clear_store),
        cmocka_unit_test_setup(convolutions_are_measured, clear_store),
        cmocka_unit_test_setup(candidates_that_refuse_one_thread_are_measured, clear_store),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    steps_end();
    return failed;
}
