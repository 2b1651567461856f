/* support_transformed.c - compares algorithms that transform their inputs with the definition: every layout and
 * padding, the error bound, independence of threads, batch and packing, and what is not finite. */
#include "conv/transformed.h"
#include "support/modes.h"
#include "support/passes.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static int cases(void) {
    const char *asked = getenv("CONV_CASES");
    return asked ? atoi(asked) : test_takes_all() ? 160 : 80;
}

static bp_options *options_of(const transformed *by, const char *further) {
    char settings[192];
    bp_options *options;
    snprintf(settings, sizeof settings, "conv.preferred=native:%s, dispatch.fallback=strict%s", by->algorithm, further);
    if (bp_options_new(&options, settings) != BP_OK) {
        fail_msg("%s: %s", settings, bp_last_error());
    }
    return options;
}

static void run(const transformed *by, const bp_conv_call *call, const char *further, const char *text) {
    bp_options *options = options_of(by, further);
    if (bp_conv_run(options, call) != BP_OK) {
        fail_msg("%s: %s", text, bp_last_error());
    }
    bp_options_release(options);
}

bp_status transformed_plan(const transformed *by, bp_plan **made, const bp_conv_call *call, const char *further) {
    bp_options *options = options_of(by, further);
    const bp_status status = bp_conv_plan(made, options, call);
    bp_options_release(options);
    return status;
}

void transformed_compare(const transformed *by, const conv_limits *limits, const char *further) {
    conv_case c;
    conv_make(&c, limits, false);
    double *expected = conv_reference(&c, NULL), *sizes = conv_bounds(&c);
    run(by, &c.call, further, c.text);
    conv_compare(&c, expected, sizes, c.dtype == BP_F64 ? TRANSFORMED_BOUND_F64 : TRANSFORMED_BOUND_F32);
    free(expected);
    free(sizes);
    conv_free(&c);
}

void transformed_errors_are_bounded(void **state) {
    const transformed *by = *state;
    static const char *const settings[] = {", num_threads=1", ", num_threads=2",
                                           ", num_threads=1, cpu.capability=default"};
    test_array_random = 88172645463325252;
    for (int i = 0; i < cases() * 3; i++) {
        const conv_limits limits = by->limits(i, i % 5 ? 12 : 60, 20);
        transformed_compare(by, &limits, settings[i % 3]);
    }
}

/* Channels of several blocks of the products, several units of rows, and padding by more than a tile. */
void transformed_large_sizes(void **state) {
    const transformed *by = *state;
    test_array_random = 4711;
    for (int i = 0; i < 16; i++) {
        conv_limits limits = by->limits(i, 3, 9);
        limits.input_channels = i % 4 < 2 ? 400 : 130;
        limits.most_padding = 11;
        transformed_compare(by, &limits, ", num_threads=4");
    }
}

void transformed_bits_do_not_depend_on_threads(void **state) {
    const transformed *by = *state;
    test_array_random = 7654321;
    static const char *const settings[] = {", num_threads=2", ", num_threads=3", ", num_threads=7"};
    for (int i = 0; i < cases() / 4; i++) {
        const conv_limits limits = by->limits(i, 90, 20);
        conv_case c;
        test_array first, *written[2];
        conv_make(&c, &limits, false);
        conv_written(&c, written);
        run(by, &c.call, ", num_threads=1", c.text);
        test_array_copy(&first, written[0]);
        for (size_t s = 0; s < sizeof settings / sizeof *settings; s++) {
            run(by, &c.call, settings[s], c.text);
            if (memcmp(first.memory, written[0]->memory, written[0]->bytes) != 0) {
                fail_msg("%s: %s gives other bits", c.text, settings[s]);
            }
        }
        test_array_free(&first);
        conv_free(&c);
    }
}

/* A tensor of one item of a batch: the same strides without the first dimension. */
static void item_of(const DLTensor *batch, int64_t item, bp_view *one) {
    const bp_dtype dtype = bp_dtype_from_dlpack(batch->dtype);
    char *data = batch->data;
    assert_int_equal(bp_view_init(one, data + item * batch->strides[0] * (int64_t)bp_dtype_size(dtype), dtype,
                                  batch->ndim - 1, batch->shape + 1, batch->strides + 1),
                     BP_OK);
}

void transformed_items_of_a_batch_are_independent(void **state) {
    const transformed *by = *state;
    test_array_random = 99;
    for (int i = 0; i < cases() / 4; i++) {
        const conv_limits limits = by->limits(i, 30, 20);
        conv_case c;
        test_array first, *written[2];
        conv_make(&c, &limits, false);
        conv_written(&c, written);
        run(by, &c.call, ", num_threads=2", c.text);
        test_array_copy(&first, written[0]);
        for (int64_t n = 0; c.input.view.tensor.ndim == c.call.ndim + 2 && n < c.input.view.tensor.shape[0]; n++) {
            bp_view input, output;
            bp_conv_call call = c.call;
            item_of(&c.input.view.tensor, n, &input);
            item_of(&c.output.view.tensor, n, &output);
            call.input = &input.tensor;
            call.output = &output.tensor;
            call.input_gradient = NULL;
            call.output_gradient = NULL;
            test_call_to_pass("conv", &call, (int)call.pass);
            run(by, &call, ", num_threads=1", c.text);
        }
        if (memcmp(first.memory, written[0]->memory, written[0]->bytes) != 0) {
            fail_msg("%s: an item alone gives other bits", c.text);
        }
        test_array_free(&first);
        conv_free(&c);
    }
}

/* Runs a plan with its weight packed beforehand, or not. */
static void execute(const conv_case *c, const bp_plan *made, const bp_packed *packed) {
    const bool is_forward = c->call.pass == BP_CONV_FORWARD;
    const DLTensor *first = is_forward ? c->call.input : c->call.output_gradient;
    const DLTensor *last = is_forward ? c->call.output : c->call.input_gradient;
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

void transformed_packed_weights_give_the_same_bits(void **state) {
    const transformed *by = *state;
    test_array_random = 5;
    for (int i = 0; i < cases() / 4; i++) {
        const conv_limits limits = by->limits(i, i % 7 ? 40 : 100, 14);
        conv_case c;
        test_array first, kept, *written[2];
        bp_plan *made;
        bp_packed *packed;
        conv_make(&c, &limits, false);
        conv_written(&c, written);
        assert_int_equal(transformed_plan(by, &made, &c.call, ", num_threads=2, dispatch.packed=second"), BP_OK);
        const bp_operand weight = {c.call.weight->data, c.call.weight->byte_offset};
        assert_int_equal(bp_plan_pack(&packed, made, 1, &weight), BP_OK);
        bp_plan_info info = {.struct_size = sizeof info};
        bp_plan_describe(made, &info);
        assert_int_equal(info.packs & 2u, 2u);
        execute(&c, made, NULL);
        test_array_copy(&first, written[0]);
        /* The weight itself is not read any more. */
        test_array_copy(&kept, &c.weight);
        memset(c.weight.memory, 0xff, c.weight.bytes);
        execute(&c, made, packed);
        if (memcmp(first.memory, written[0]->memory, written[0]->bytes) != 0) {
            fail_msg("%s: a packed weight gives other bits", c.text);
        }
        bp_packed_release(packed);
        bp_plan_release(made);
        test_array_free(&first);
        test_array_free(&kept);
        conv_free(&c);
    }
}

/* NaN and infinity in the image, or in the weight, reach every result whose sum has them. */
void transformed_not_finite_reaches_results(void **state) {
    const transformed *by = *state;
    static const float values[] = {NAN, INFINITY, -INFINITY};
    test_array_random = 31;
    for (int i = 0; i < cases(); i++) {
        const conv_limits limits = by->limits(i, 12, 20);
        conv_case c;
        test_array *written[2];
        conv_make(&c, &limits, false);
        conv_written(&c, written);
        c.call.activation = BP_UNARY_COPY;
        test_array *read = i % 5 == 0 ? &c.weight : c.call.pass == BP_CONV_FORWARD ? &c.input : &c.output;
        if (test_array_count(read) > 0) {
            test_array_set(read, test_array_between(0, test_array_count(read) - 1), (double)values[i % 3]);
        }
        double *expected = conv_reference(&c, NULL);
        run(by, &c.call, "", c.text);
        for (int64_t e = 0; e < test_array_count(written[0]); e++) {
            if (!isfinite(expected[e]) && isfinite(test_array_get(written[0], e))) {
                fail_msg("%s: element %d is %g, not %g", c.text, (int)e, test_array_get(written[0], e), expected[e]);
            }
        }
        free(expected);
        conv_free(&c);
    }
}

void transformed_not_a_number_passes_the_activation(void **state) {
    const transformed *by = *state;
    test_array_random = 8;
    conv_limits limits = by->limits(0, 5, 12);
    for (int i = 0; i < 40; i++) {
        conv_case c;
        conv_make(&c, &limits, false);
        c.call.activation = BP_UNARY_RELU;
        for (int64_t e = 0; e < test_array_count(&c.input); e++) {
            test_array_set(&c.input, e, (double)NAN);
        }
        double *expected = conv_reference(&c, NULL);
        run(by, &c.call, "", c.text);
        for (int64_t e = 0; e < test_array_count(&c.output); e++) {
            assert_true(!isnan(expected[e]) || isnan(test_array_get(&c.output, e)));
            assert_true(!(test_array_get(&c.output, e) < 0));
        }
        free(expected);
        conv_free(&c);
    }
}
