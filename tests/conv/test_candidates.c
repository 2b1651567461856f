/* test_candidates.c - runs every candidate that accepts a convolution, over several thousand random geometries: with
 * small integers all sums of products are exact. Also packs weights, and switches oneDNN off. */
#include "conv/cases.h"
#include "support/conditions.h"
#include "support/passes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { CASES = 400 }; /* of each type and pass */

static const bp_dtype dtypes[] = {BP_F32, BP_F64, BP_BF16, BP_F16};

/* Writes settings by which only this candidate runs. */
static void write_settings(char *text, size_t size, const bp_candidate_info *candidate, const char *further) {
    const int word = (int)strcspn(candidate->algorithm, " ");
    snprintf(text, size, "conv.preferred=%s:%.*s,dispatch.fallback=strict%s", candidate->library, word,
             candidate->algorithm, further);
}

static void run(const conv_case *c, const char *settings) {
    bp_options *options;
    assert_int_equal(bp_options_new(&options, settings), BP_OK);
    if (bp_conv_run(options, &c->call) != BP_OK) {
        fail_msg("%s, %s: %s", c->text, settings, bp_last_error());
    }
    bp_options_release(options);
}

/* Runs the candidate with a packed weight. */
static void run_packed(const conv_case *c, const char *settings) {
    bp_options *options;
    bp_plan *plan;
    bp_packed *packed;
    assert_int_equal(bp_options_new(&options, settings), BP_OK);
    assert_int_equal(bp_conv_plan(&plan, options, &c->call), BP_OK);
    bp_options_release(options);
    const bool input = c->call.pass == BP_CONV_INPUT;
    const DLTensor *const tensors[] = {input ? c->call.output_gradient : c->call.input, c->call.weight, c->call.bias,
                                       input ? c->call.input_gradient : c->call.output};
    bp_operand operands[4] = {{0}};
    for (int i = 0; i < 4; i++) {
        if (tensors[i]) {
            operands[i] = (bp_operand){tensors[i]->data, tensors[i]->byte_offset};
        }
    }
    if (bp_plan_pack(&packed, plan, 1, &operands[1]) != BP_OK) {
        fail_msg("%s, %s: %s", c->text, settings, bp_last_error());
    }
    const bp_packed *const list[4] = {NULL, packed};
    const bp_exec exec = {.struct_size = sizeof exec, .packed = list, .operand_count = 4};
    operands[1] = (bp_operand){NULL, 0};
    assert_int_equal(bp_execute(plan, operands, &exec), BP_OK);
    bp_packed_release(packed);
    bp_plan_release(plan);
}

/* Compares the results. Algorithms that transform their inputs are not exact, but keep the bound of conv.h. */
static void compare(conv_case *c, const bp_candidate_info *candidate, const double *expected) {
    const double bound = c->dtype == BP_F64 ? 4e-15 : 2e-6;
    double *sizes = candidate->properties & BP_PROPERTY_LARGER_ERROR ? conv_bounds(c) : NULL;
    conv_compare(c, expected, sizes, sizes ? bound : 0);
    free(sizes);
}

static int cases(void) {
    return test_cases(CASES, 10);
}

/* Every fifth geometry is depthwise, or has one channel; every seventh has larger kernels. */
static conv_limits limits_of(int i) {
    const bp_dtype dtype = dtypes[i / 3 % 4];
    return (conv_limits){.dtype = dtype,
                         .pass = (bp_conv_pass)(i % 3),
                         .most_channels = i / 12 % 5 == 0  ? 1
                                          : dtype < BP_F32 ? 4
                                                           : 18,
                         .most_groups = i / 12 % 5 == 0 ? 20 : 4,
                         .most_kernel = i / 12 % 7 == 0 ? 6 : 0,
                         .most_size = 11,
                         .plain = i / 12 % 3 != 0};
}

/* Limits of few positions: an image of one or two in each dimension is read from the padding in many of its windows. */
static conv_limits few_positions(int i) {
    return (conv_limits){.dtype = dtypes[i / 3 % 4],
                         .pass = (bp_conv_pass)(i % 3),
                         .most_channels = 3,
                         .most_size = 1 + i / 12 % 2,
                         .most_kernel = 3,
                         .plain = i / 12 % 3 != 0};
}

/* Runs each candidate that accepts a convolution. Returns how many did. */
static int run_candidates(conv_case *c, const double *expected, const char *threads) {
    bp_explanation *explanation;
    int ran = 0;
    assert_int_equal(bp_conv_explain(&explanation, NULL, &c->call), BP_OK);
    bp_candidate_info candidate = {.struct_size = sizeof candidate};
    for (int n = 0; bp_explanation_at(explanation, n, &candidate); n++) {
        char settings[192];
        if (!candidate.accepted) {
            continue;
        }
        write_settings(settings, sizeof settings, &candidate, threads);
        const size_t length = strlen(c->text);
        snprintf(c->text + length, sizeof c->text - length, ", %s", settings);
        run(c, settings);
        compare(c, &candidate, expected);
        if (c->call.pass != BP_CONV_WEIGHT && c->input.view.tensor.shape[0] > 0) {
            strcat(settings, ",dispatch.packed=second");
            run_packed(c, settings);
            compare(c, &candidate, expected);
        }
        c->text[length] = '\0';
        ran++;
    }
    bp_explanation_release(explanation);
    return ran;
}

static void run_cases(conv_limits (*limits_for)(int i), uint64_t random) {
    test_array_random = random;
    int ran = 0;
    for (int i = 0; i < cases() * 12; i++) {
        const conv_limits limits = limits_for(i);
        conv_case c;
        conv_make(&c, &limits, true);
        double *expected = conv_reference(&c, NULL);
        ran += run_candidates(&c, expected, i % 2 ? ",num_threads=1" : ",num_threads=2");
        free(expected);
        conv_free(&c);
    }
    assert_true(ran > cases() * 12);
}

static void all_are_right(void **state) {
    (void)state;
    run_cases(limits_of, 424242);
}

static void all_are_right_for_few_positions(void **state) {
    (void)state;
    run_cases(few_positions, 434343);
}

/* Measuring the candidates neither reads nor writes the program's memory, and the chosen one is right. */
static void measured_calls_are_right(void **state) {
    (void)state;
    static const char settings[] = "benchmark=true,tuning.start=now,tuning.store=off,num_threads=2";
    test_array_random = 55555;
    int measured = 0;
    for (int i = 0; i < 24; i++) {
        const conv_limits limits = {.dtype = dtypes[i / 3 % 2],
                                    .pass = (bp_conv_pass)(i % 3),
                                    .most_channels = 12, /* of a group */
                                    .most_size = 12,
                                    .plain = i % 2 != 0};
        conv_case c;
        bp_plan_info info = {.struct_size = sizeof info};
        conv_make(&c, &limits, true);
        double *expected = conv_reference(&c, NULL), *sizes = limits.pass == BP_CONV_WEIGHT ? NULL : conv_bounds(&c);
        run(&c, settings);
        conv_compare(&c, expected, sizes, 2e-6);
        if (bp_last_plan(&info) == BP_OK) {
            measured += strstr(info.reason, "measured time") != NULL;
        }
        free(expected);
        free(sizes);
        conv_free(&c);
    }
    assert_true(measured > 2);
}

/* A 3x3 layer with channels-last tensors, which oneDNN takes. */
static bp_status plan_layer(const char *settings, bp_plan_info *info) {
    const int64_t image[] = {1, 16, 14, 14}, strides[] = {16 * 14 * 14, 1, 16 * 14, 16}, taps[] = {16, 16, 3, 3};
    bp_view in, weight, out;
    bp_options *options;
    bp_plan *plan;
    bp_view_init(&in, NULL, BP_F32, 4, image, strides);
    bp_view_init(&out, NULL, BP_F32, 4, image, strides);
    bp_view_init(&weight, NULL, BP_F32, 4, taps, NULL);
    const bp_conv_call call = {.struct_size = sizeof call,
                               .ndim = 2,
                               .mode = BP_CONV_SAME,
                               .input = &in.tensor,
                               .weight = &weight.tensor,
                               .output = &out.tensor};
    assert_int_equal(bp_options_new(&options, settings), BP_OK);
    const bp_status status = bp_conv_plan(&plan, options, &call);
    bp_options_release(options);
    if (status == BP_OK) {
        assert_int_equal(bp_plan_describe(plan, info), BP_OK);
        bp_plan_release(plan);
    }
    return status;
}

static void onednn_is_switched(void **state) {
    (void)state;
    bp_library_info library = {.struct_size = sizeof library};
    bp_plan_info info = {.struct_size = sizeof info};
    if (bp_library_find("onednn", &library) != BP_OK || library.state != BP_LIBRARY_OK) {
        print_message("skipped: oneDNN 3 is not installed\n");
        skip();
    }
    static const char strict[] = "conv.preferred=onednn,dispatch.fallback=strict";
    char settings[160];
    assert_int_equal(plan_layer(strict, &info), BP_OK);
    assert_string_equal(info.library, "onednn");
    snprintf(settings, sizeof settings, "%s,mkldnn.enabled=false", strict);
    assert_int_equal(plan_layer(settings, &info), BP_E_FALLBACK);
    assert_non_null(strstr(bp_last_error(), "mkldnn.enabled is false"));
    snprintf(settings, sizeof settings, "%s,mkldnn.deterministic=true", strict);
    assert_int_equal(plan_layer(settings, &info), BP_OK);
    assert_true(info.properties & BP_PROPERTY_REPRODUCIBLE);
    snprintf(settings, sizeof settings, "%s,mkldnn.conv.fp32_precision=ieee", strict);
    assert_int_equal(plan_layer(settings, &info), BP_OK);
    assert_false(info.properties & (BP_PROPERTY_ROUNDS_BELOW_TF32 | BP_PROPERTY_INPUTS_TF32));
    snprintf(settings, sizeof settings, "%s,mkldnn.conv.fp32_precision=bf16", strict);
    assert_int_equal(plan_layer(settings, &info), BP_OK);
    assert_true(info.properties & BP_PROPERTY_ROUNDS_BELOW_TF32);
}

/* ---- Padded positions of size 1 ---- */

/* Image, kernel and result have one row, which is read from the padding: all products are with 0. */
static void a_padded_row_of_one_element_is_read_from_the_padding(void **state) {
    static const char *const candidates[] = {"", "dispatch.exclude=native", "dispatch.exclude=onednn"};
    static const bp_conv_pass passes[] = {BP_CONV_FORWARD, BP_CONV_INPUT, BP_CONV_WEIGHT};
    const int64_t shape[] = {1, 1, 1, 4}, one[] = {1, 1, 1, 1}, stride[] = {3, 1}, padding[] = {1, 0};
    (void)state;
    for (int i = 0; i < 9; i++) {
        float image[] = {1, 2, 3, 4}, weight[] = {1}, result[] = {5, 6, 7, 8};
        bp_view views[3];
        bp_options *options;
        assert_int_equal(bp_view_init(&views[0], image, BP_F32, 4, shape, NULL), BP_OK);
        assert_int_equal(bp_view_init(&views[1], weight, BP_F32, 4, one, NULL), BP_OK);
        assert_int_equal(bp_view_init(&views[2], result, BP_F32, 4, shape, NULL), BP_OK);
        bp_conv_call call = {.struct_size = sizeof call,
                             .pass = passes[i % 3],
                             .ndim = 2,
                             .stride = stride,
                             .padding = padding,
                             .input = &views[0].tensor,
                             .weight = &views[1].tensor,
                             .output = &views[2].tensor};
        test_call_to_pass("conv", &call, (int)call.pass);
        assert_int_equal(bp_options_new(&options, candidates[i / 3]), BP_OK);
        const bp_status status = bp_conv_run(options, &call);
        bp_options_release(options);
        if (status == BP_E_NO_CANDIDATE && i / 3 == 1) {
            continue; /* oneDNN is not there, or refuses */
        }
        assert_int_equal(status, BP_OK);
        const float *written = call.pass == BP_CONV_FORWARD ? result : call.pass == BP_CONV_INPUT ? image : weight;
        for (int j = 0; j < (call.pass == BP_CONV_WEIGHT ? 1 : 4); j++) {
            if (written[j] != 0) {
                fail_msg("pass %d, '%s': element %d is %g instead of 0", (int)call.pass, candidates[i / 3], j,
                         (double)written[j]);
            }
        }
    }
}

/* ---- Reference loops ---- */

/* Large kernels and one channel: oneDNN has nothing but reference loops for the gradient by this image. */
static void reference_loops_are_not_chosen(void **state) {
    enum { SIZE = 64, CHANNELS = 16 };
    static float image[CHANNELS * SIZE * SIZE], weight[CHANNELS * SIZE * SIZE], result[1];
    const int64_t images[] = {1, CHANNELS, SIZE, SIZE}, weights[] = {1, CHANNELS, SIZE, SIZE}, results[] = {1, 1, 1, 1};
    bp_view views[3];
    (void)state;
    assert_int_equal(bp_view_init(&views[0], image, BP_F32, 4, images, NULL), BP_OK);
    assert_int_equal(bp_view_init(&views[1], weight, BP_F32, 4, weights, NULL), BP_OK);
    assert_int_equal(bp_view_init(&views[2], result, BP_F32, 4, results, NULL), BP_OK);
    for (int64_t i = 0; i < CHANNELS * SIZE * SIZE; i++) {
        weight[i] = (float)(i % 7);
    }
    result[0] = 2;
    for (int pass = BP_CONV_FORWARD; pass <= BP_CONV_WEIGHT; pass++) {
        bp_plan_info ran = {.struct_size = sizeof ran};
        bp_conv_call call = {.struct_size = sizeof call,
                             .pass = (bp_conv_pass)pass,
                             .ndim = 2,
                             .input = &views[0].tensor,
                             .weight = &views[1].tensor,
                             .output = &views[2].tensor};
        test_call_to_pass("conv", &call, pass);
        assert_int_equal(bp_conv_run(NULL, &call), BP_OK);
        assert_int_equal(bp_last_plan(&ran), BP_OK);
        if (strstr(ran.algorithm, "reference")) {
            fail_msg("pass %d runs on %s: %s", pass, ran.library, ran.algorithm);
        }
        for (int64_t i = 0; pass == BP_CONV_INPUT && i < CHANNELS * SIZE * SIZE; i++) {
            assert_true(image[i] == 2 * (float)(i % 7));
        }
        result[0] = 2;
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_padded_row_of_one_element_is_read_from_the_padding),
                                       cmocka_unit_test(reference_loops_are_not_chosen),
                                       cmocka_unit_test(all_are_right),
                                       cmocka_unit_test(all_are_right_for_few_positions),
                                       cmocka_unit_test(measured_calls_are_right),
                                       cmocka_unit_test(onednn_is_switched)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
