/* test_winograd.c - compares Winograd's convolution with the definition: every layout and padding, its error bound,
 * independence of threads, batch and packing, and what it refuses. */
#include "conv/cases.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ONLY "conv.preferred=native:winograd, dispatch.fallback=strict"

/* The error bound of conv.h: relative to the largest absolute value of the image times the sum of those of the weights
 * that a result has. */
#define BOUND 2e-6

static int cases(void) {
    const char *asked = getenv("CONV_CASES");
    return asked ? atoi(asked) : 160;
}

static bp_options *options_of(const char *settings) {
    bp_options *options;
    if (bp_options_new(&options, settings) != BP_OK) {
        fail_msg("%s: %s", settings, bp_last_error());
    }
    return options;
}

static void run(const bp_conv_call *call, const char *settings, const char *text) {
    bp_options *options = options_of(settings);
    if (bp_conv_run(options, call) != BP_OK) {
        fail_msg("%s: %s", text, bp_last_error());
    }
    bp_options_release(options);
}

static bp_status plan(bp_plan **made, const bp_conv_call *call, const char *settings) {
    bp_options *options = options_of(settings);
    const bp_status status = bp_conv_plan(made, options, call);
    bp_options_release(options);
    return status;
}

static conv_limits limits_of(int i, int channels, int size) {
    return (conv_limits){.dtype = BP_F32,
                         .pass = i % 2 ? BP_CONV_INPUT : BP_CONV_FORWARD,
                         .most_channels = channels,
                         .most_size = size,
                         .kernel = 3};
}

static void run_and_compare(conv_case *c, const char *settings) {
    double *expected = conv_reference(c, NULL), *sizes = conv_bounds(c);
    run(&c->call, settings, c->text);
    conv_compare(c, expected, sizes, BOUND);
    free(expected);
    free(sizes);
}

static void errors_are_bounded(void **state) {
    (void)state;
    static const char *const settings[] = {ONLY ", num_threads=1", ONLY ", num_threads=2",
                                           ONLY ", num_threads=1, cpu.capability=default"};
    uint64_t random = 88172645463325252u;
    for (int i = 0; i < cases() * 3; i++) {
        const conv_limits limits = limits_of(i, i % 5 ? 12 : 60, 20);
        conv_case c;
        conv_make(&c, &random, &limits, false);
        run_and_compare(&c, settings[i % 3]);
        conv_free(&c);
    }
}
/* Channels of several blocks of the products, several units of rows, and padding by more than a tile. */
static void large_sizes(void **state) {
    (void)state;
    uint64_t random = 4711;
    for (int i = 0; i < 16; i++) {
        conv_limits limits = limits_of(i, 3, 9);
        conv_case c;
        limits.input_channels = i % 4 < 2 ? 400 : 130;
        limits.most_padding = 11;
        conv_make(&c, &random, &limits, false);
        run_and_compare(&c, ONLY ", num_threads=4");
        conv_free(&c);
    }
}

static void bits_do_not_depend_on_threads(void **state) {
    (void)state;
    uint64_t random = 7654321;
    static const char *const settings[] = {ONLY ", num_threads=2", ONLY ", num_threads=3", ONLY ", num_threads=7"};
    for (int i = 0; i < cases() / 4; i++) {
        const conv_limits limits = limits_of(i, 90, 20);
        conv_case c;
        conv_tensor first, *written[2];
        conv_make(&c, &random, &limits, false);
        conv_written(&c, written);
        run(&c.call, ONLY ", num_threads=1", c.text);
        conv_copy(&first, written[0]);
        for (size_t s = 0; s < sizeof settings / sizeof *settings; s++) {
            run(&c.call, settings[s], c.text);
            if (memcmp(first.memory, written[0]->memory, written[0]->bytes) != 0) {
                fail_msg("%s: %s gives other bits", c.text, settings[s]);
            }
        }
        conv_free_tensor(&first);
        conv_free(&c);
    }
}

/* A tensor of one item of a batch: the same strides without the first dimension. */
static void item_of(const DLTensor *batch, int64_t item, bp_view *one) {
    char *data = batch->data;
    assert_int_equal(bp_view_init(one, data + item * batch->strides[0] * (int64_t)sizeof(float), BP_F32,
                                  batch->ndim - 1, batch->shape + 1, batch->strides + 1),
                     BP_OK);
}

static void items_of_a_batch_are_independent(void **state) {
    (void)state;
    uint64_t random = 99;
    for (int i = 0; i < cases() / 4; i++) {
        const conv_limits limits = limits_of(i, 30, 20);
        conv_case c;
        conv_tensor first, *written[2];
        conv_make(&c, &random, &limits, false);
        conv_written(&c, written);
        run(&c.call, ONLY ", num_threads=2", c.text);
        conv_copy(&first, written[0]);
        for (int64_t n = 0; c.input.view.tensor.ndim == 4 && n < c.input.view.tensor.shape[0]; n++) {
            bp_view input, output;
            bp_conv_call call = c.call;
            item_of(&c.input.view.tensor, n, &input);
            item_of(&c.output.view.tensor, n, &output);
            call.input = &input.tensor;
            call.output = &output.tensor;
            run(&call, ONLY ", num_threads=1", c.text);
        }
        if (memcmp(first.memory, written[0]->memory, written[0]->bytes) != 0) {
            fail_msg("%s: an item alone gives other bits", c.text);
        }
        conv_free_tensor(&first);
        conv_free(&c);
    }
}

/* Runs a plan with its weight packed beforehand, or not. */
static void execute(const conv_case *c, const bp_plan *made, const bp_packed *packed) {
    const DLTensor *first = c->call.pass == BP_CONV_FORWARD ? c->call.input : c->call.output;
    const DLTensor *last = c->call.pass == BP_CONV_FORWARD ? c->call.output : c->call.input;
    const DLTensor *const tensors[] = {first, c->call.weight, c->call.bias, last};
    const bp_packed *list[] = {NULL, packed, NULL, NULL};
    const bp_exec exec = {.struct_size = sizeof exec, .packed = packed ? list : NULL};
    bp_operand operands[4] = {{NULL, 0}};
    for (int i = 0; i < 4; i++) {
        if (tensors[i]) {
            operands[i] = (bp_operand){tensors[i]->data, tensors[i]->byte_offset};
        }
    }
    if (bp_execute(made, operands, &exec) != BP_OK) {
        fail_msg("%s: %s", c->text, bp_last_error());
    }
}

static void packed_weights_give_the_same_bits(void **state) {
    (void)state;
    uint64_t random = 5;
    for (int i = 0; i < cases() / 4; i++) {
        const conv_limits limits = limits_of(i, i % 7 ? 40 : 100, 14);
        conv_case c;
        conv_tensor first, kept, *written[2];
        bp_plan *made;
        bp_packed *packed;
        conv_make(&c, &random, &limits, false);
        conv_written(&c, written);
        assert_int_equal(plan(&made, &c.call, ONLY ", num_threads=2, dispatch.packed=second"), BP_OK);
        const bp_operand weight = {c.call.weight->data, c.call.weight->byte_offset};
        assert_int_equal(bp_plan_pack(made, 1, &weight, &packed), BP_OK);
        bp_plan_info info = {.struct_size = sizeof info};
        bp_plan_describe(made, &info);
        assert_int_equal(info.packs & 2u, 2u);
        execute(&c, made, NULL);
        conv_copy(&first, written[0]);
        /* The weight itself is not read any more. */
        conv_copy(&kept, &c.weight);
        memset(c.weight.memory, 0xff, c.weight.bytes);
        execute(&c, made, packed);
        if (memcmp(first.memory, written[0]->memory, written[0]->bytes) != 0) {
            fail_msg("%s: a packed weight gives other bits", c.text);
        }
        bp_packed_release(packed);
        bp_plan_release(made);
        conv_free_tensor(&first);
        conv_free_tensor(&kept);
        conv_free(&c);
    }
}

/* NaN and infinity in the image, or in the weight, reach every result whose sum has them. */
static void not_finite_elements_reach_the_results(void **state) {
    (void)state;
    static const float values[] = {NAN, INFINITY, -INFINITY};
    uint64_t random = 31;
    for (int i = 0; i < cases(); i++) {
        const conv_limits limits = limits_of(i, 12, 20);
        conv_case c;
        conv_tensor *written[2];
        conv_make(&c, &random, &limits, false);
        conv_written(&c, written);
        c.call.activation = BP_CONV_LINEAR;
        conv_tensor *read = i % 5 == 0 ? &c.weight : c.call.pass == BP_CONV_FORWARD ? &c.input : &c.output;
        if (conv_elements(read) > 0) {
            conv_set(read, (int64_t)(conv_random(&random) % (uint64_t)conv_elements(read)), (double)values[i % 3]);
        }
        double *expected = conv_reference(&c, NULL);
        run(&c.call, ONLY, c.text);
        for (int64_t e = 0; e < conv_elements(written[0]); e++) {
            if (!isfinite(expected[e]) && isfinite(conv_get(written[0], e))) {
                fail_msg("%s: element %d is %g, not %g", c.text, (int)e, conv_get(written[0], e), expected[e]);
            }
        }
        free(expected);
        conv_free(&c);
    }
}

static void not_a_number_passes_the_activation(void **state) {
    (void)state;
    uint64_t random = 8;
    conv_limits limits = limits_of(0, 5, 12);
    for (int i = 0; i < 40; i++) {
        conv_case c;
        conv_make(&c, &random, &limits, false);
        c.call.activation = BP_CONV_RELU;
        for (int64_t e = 0; e < conv_elements(&c.input); e++) {
            conv_set(&c.input, e, (double)NAN);
        }
        double *expected = conv_reference(&c, NULL);
        run(&c.call, ONLY, c.text);
        for (int64_t e = 0; e < conv_elements(&c.output); e++) {
            assert_true(!isnan(expected[e]) || isnan(conv_get(&c.output, e)));
            assert_true(!(conv_get(&c.output, e) < 0));
        }
        free(expected);
        conv_free(&c);
    }
}

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
    const bp_conv_call call = {.struct_size = sizeof call,
                               .pass = pass,
                               .ndim = ndim,
                               .stride = strides,
                               .dilation = dilations,
                               .input = &input.tensor,
                               .weight = &weight.tensor,
                               .output = &output.tensor};
    const bp_status status = plan(&made, &call, settings);
    bp_plan_release(made);
    return status;
}

static void other_problems_are_refused(void **state) {
    (void)state;
    assert_int_equal(status_of(BP_F32, BP_CONV_FORWARD, 2, 3, 1, 1, ONLY), BP_OK);
    assert_int_equal(status_of(BP_F32, BP_CONV_INPUT, 2, 3, 1, 1, ONLY), BP_OK);
    assert_int_equal(status_of(BP_F32, BP_CONV_WEIGHT, 2, 3, 1, 1, ONLY), BP_E_FALLBACK);
    assert_int_equal(status_of(BP_F64, BP_CONV_FORWARD, 2, 3, 1, 1, ONLY), BP_E_FALLBACK);
    assert_int_equal(status_of(BP_F16, BP_CONV_FORWARD, 2, 3, 1, 1, ONLY), BP_E_FALLBACK);
    assert_int_equal(status_of(BP_F32, BP_CONV_FORWARD, 1, 3, 1, 1, ONLY), BP_E_FALLBACK);
    assert_int_equal(status_of(BP_F32, BP_CONV_FORWARD, 3, 3, 1, 1, ONLY), BP_E_FALLBACK);
    assert_int_equal(status_of(BP_F32, BP_CONV_FORWARD, 2, 2, 1, 1, ONLY), BP_E_FALLBACK);
    assert_int_equal(status_of(BP_F32, BP_CONV_FORWARD, 2, 3, 2, 1, ONLY), BP_E_FALLBACK);
    assert_int_equal(status_of(BP_F32, BP_CONV_FORWARD, 2, 3, 1, 2, ONLY), BP_E_FALLBACK);
}

static void ieee_refuses(void **state) {
    (void)state;
    assert_int_equal(status_of(BP_F32, BP_CONV_FORWARD, 2, 3, 1, 1, ONLY ", mkldnn.conv.fp32_precision=ieee"),
                     BP_E_FALLBACK);
    assert_non_null(strstr(bp_last_error(), "larger rounding errors than fp32_precision=ieee allows"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_are_bounded),
        cmocka_unit_test(large_sizes),
        cmocka_unit_test(bits_do_not_depend_on_threads),
        cmocka_unit_test(items_of_a_batch_are_independent),
        cmocka_unit_test(packed_weights_give_the_same_bits),
        cmocka_unit_test(not_finite_elements_reach_the_results),
        cmocka_unit_test(not_a_number_passes_the_activation),
        cmocka_unit_test(other_problems_are_refused),
        cmocka_unit_test(ieee_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
