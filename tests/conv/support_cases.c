/* support_cases.c - implements cases.h. */
#include "conv/cases.h"
#include "reference/conv.h"

#include "support/passes.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- Tensors ---- */

/* Chooses strides: the dimensions in random order or in the order of channels-last, with gaps and reversed ones. */
static void random_layout(bool plain, int ndim, const int64_t *shape, int64_t *strides) {
    int order[BP_MAX_NDIM];
    const int kind = plain ? 0 : (int)test_array_between(0, 3);
    for (int i = 0; i < ndim; i++) {
        order[i] = i;
    }
    if (kind == 1 && ndim > 2) { /* channels last */
        for (int i = 1; i < ndim - 1; i++) {
            order[i] = i + 1;
        }
        order[ndim - 1] = 1;
    }
    for (int i = ndim - 1; kind == 3 && i > 0; i--) {
        const int other = (int)test_array_between(0, i), kept = order[i];
        order[i] = order[other];
        order[other] = kept;
    }
    int64_t all = 1;
    for (int i = ndim - 1; i >= 0; i--) {
        const int d = order[i];
        strides[d] = all * (kind == 2 ? test_array_between(1, 2) : 1);
        all = strides[d] * (shape[d] > 0 ? shape[d] : 1) + (kind == 2 ? test_array_between(0, 1) : 0);
    }
    for (int d = 0; d < ndim; d++) {
        if (kind >= 2 && test_array_between(0, 3) == 0 && shape[d] > 0) {
            strides[d] = -strides[d];
        }
    }
}

static void make_tensor(test_array *t, const conv_limits *limits, int ndim, const int64_t *shape) {
    int64_t strides[BP_MAX_NDIM];
    random_layout(limits->plain, ndim, shape, strides);
    test_array_make_strided(t, limits->dtype, ndim, shape, strides, 0);
    test_array_guard(t);
}

static void fill(test_array *t, bool integers, int64_t most) {
    for (int64_t i = 0; i < test_array_count(t); i++) {
        test_array_set(t, i, integers ? (double)test_array_between(-most, most) : test_array_uniform());
    }
}

/* ---- Cases ---- */

static void random_parameters(conv_case *c, const conv_limits *limits) {
    bp_conv_call *call = &c->call;
    *call = (bp_conv_call){.struct_size = sizeof *call, .pass = limits->pass};
    call->ndim = limits->kernel ? 2 : limits->ndim ? limits->ndim : (int)test_array_between(1, 3);
    call->transposed = test_array_between(0, 2) == 0;
    call->groups = test_array_between(0, 2) == 0 ? test_array_between(2, limits->most_groups ? limits->most_groups : 4)
                                                 : test_array_between(0, 1);
    for (int d = 0; d < call->ndim; d++) {
        c->stride[d] = limits->kernel || limits->unit_stride || test_array_between(0, 1) ? 1 : test_array_between(1, 3);
        c->dilation[d] = limits->kernel || test_array_between(0, 1) ? 1 : test_array_between(1, 3);
        c->padding[d] = test_array_between(0, limits->most_padding ? limits->most_padding : 3);
        c->padding_end[d] = test_array_between(0, limits->most_padding ? limits->most_padding : 3);
        const int64_t most = c->stride[d] > c->dilation[d] ? c->stride[d] : c->dilation[d];
        c->output_padding[d] = test_array_between(0, most - 1);
    }
    call->stride = c->stride;
    call->dilation = c->dilation;
    call->output_padding = call->transposed && test_array_between(0, 1) ? c->output_padding : NULL;
    if (!call->transposed && test_array_between(0, 5) == 0) {
        call->mode = BP_CONV_SAME;
        call->stride = NULL;
    } else {
        call->padding = test_array_between(0, 3) ? c->padding : NULL;
        call->padding_end = call->padding && test_array_between(0, 1) ? c->padding_end : NULL;
    }
    call->activation = call->pass == BP_CONV_FORWARD && test_array_between(0, 2) == 0 ? BP_UNARY_RELU : BP_UNARY_COPY;
}

/* Whether the padding of a transposed convolution removes the whole output, which has no plan. */
static bool is_cut_away(int ndim, int rank, const int64_t *output) {
    bool empty = false;
    for (int d = rank - ndim; d < rank; d++) {
        empty |= output[d] == 0;
    }
    return empty;
}

/* Makes input and weight. Returns false if the kernel does not fit. */
static bool random_shapes(conv_case *c, const conv_limits *limits) {
    bp_conv_call *call = &c->call;
    const int64_t groups = call->groups ? call->groups : 1,
                  first =
                      limits->input_channels ? limits->input_channels : test_array_between(1, limits->most_channels),
                  second = test_array_between(1, limits->most_channels);
    const bool single = test_array_between(0, 5) == 0;
    int64_t input[5], weight[5], output[BP_MAX_NDIM];
    int rank = 0, out_rank;
    bp_dtype dtype;
    if (!single) {
        input[rank++] = test_array_between(0, 7) ? test_array_between(1, 3) : 0;
    }
    input[rank++] = groups * first;
    weight[0] = groups * (call->transposed ? first : second);
    weight[1] = call->transposed ? second : first;
    for (int d = 0; d < call->ndim; d++) {
        input[rank++] = test_array_between(1, call->ndim == 3 ? limits->most_size / 2 + 1 : limits->most_size);
        const int64_t most = limits->most_kernel ? limits->most_kernel : call->ndim == 3 ? 3 : 5;
        weight[2 + d] =
            limits->kernel ? limits->kernel : test_array_between(limits->least_kernel ? limits->least_kernel : 1, most);
    }
    conv_limits own = *limits;
    make_tensor(&c->input, &own, rank, input);
    make_tensor(&c->weight, &own, call->ndim + 2, weight);
    call->input = &c->input.view.tensor;
    call->weight = &c->weight.view.tensor;
    bp_conv_call forward = *call;
    forward.pass = BP_CONV_FORWARD;
    if (bp_conv_shape(&forward, &dtype, &out_rank, output) != BP_OK || is_cut_away(call->ndim, out_rank, output)) {
        return false;
    }
    make_tensor(&c->output, &own, out_rank, output);
    call->output = &c->output.view.tensor;
    if (call->pass != BP_CONV_INPUT && test_array_between(0, 1)) {
        make_tensor(&c->bias, &own, 1, &output[single ? 0 : 1]);
        call->bias = &c->bias.view.tensor;
    }
    test_call_to_pass("conv", call, (int)call->pass);
    return true;
}

void conv_free(conv_case *c) {
    test_array_free(&c->input);
    test_array_free(&c->weight);
    test_array_free(&c->bias);
    test_array_free(&c->output);
}

void conv_written(conv_case *c, test_array *written[2]) {
    written[0] = c->call.pass == BP_CONV_FORWARD ? &c->output : c->call.pass == BP_CONV_INPUT ? &c->input : &c->weight;
    written[1] = c->call.bias_gradient ? &c->bias : NULL;
}

static void describe(conv_case *c) {
    size_t used =
        (size_t)snprintf(c->text, sizeof c->text, "pass %d%s, %d groups, %s;", (int)c->call.pass,
                         c->call.transposed ? " transposed" : "", (int)c->call.groups, bp_dtype_name(c->dtype));
    const test_array *const tensors[] = {&c->input, &c->weight};
    for (int i = 0; i < 2; i++) {
        for (int d = 0; d < tensors[i]->view.tensor.ndim && used < sizeof c->text; d++) {
            used += (size_t)snprintf(c->text + used, sizeof c->text - used, "%s%d", d ? "x" : " ",
                                     (int)tensors[i]->view.tensor.shape[d]);
        }
    }
    for (int d = 0; d < c->call.ndim && used < sizeof c->text; d++) {
        used += (size_t)snprintf(c->text + used, sizeof c->text - used, ", stride %d dilation %d padding %d",
                                 (int)c->stride[d], (int)c->dilation[d], c->call.padding ? (int)c->padding[d] : 0);
    }
}

void conv_make(conv_case *c, const conv_limits *limits, bool integers) {
    test_array *written[2];
    for (;;) {
        memset(c, 0, sizeof *c);
        c->dtype = limits->dtype;
        random_parameters(c, limits);
        if (random_shapes(c, limits)) {
            break;
        }
        conv_free(c);
    }
    describe(c);
    conv_written(c, written);
    test_array *const all[] = {&c->input, &c->weight, &c->bias, &c->output};
    for (int i = 0; i < 4; i++) {
        if (all[i]->memory && all[i] != written[0] && all[i] != written[1]) {
            fill(all[i], integers, limits->dtype < BP_F32 ? 1 : 3);
        }
    }
}

/* ---- Reference ---- */

double *conv_reference(const conv_case *c, double **sizes) {
    test_array *written[2];
    conv_written((conv_case *)(uintptr_t)c, written);
    const int64_t first = test_array_count(written[0]), all = first + (written[1] ? test_array_count(written[1]) : 0);
    reference_conv *made;
    reference_sum *sums = calloc((size_t)all + 1, sizeof *sums);
    double *values = calloc((size_t)all + 1, sizeof *values), *of = calloc((size_t)all + 1, sizeof *of);
    assert_non_null(sums);
    assert_non_null(values);
    assert_non_null(of);
    assert_int_equal(reference_conv_open(&made, &c->call), BP_OK);
    reference_conv_all(made, sums, written[1] ? sums + first : NULL);
    for (int64_t i = 0; i < all; i++) {
        const bool relu = c->call.pass == BP_CONV_FORWARD && c->call.activation == BP_UNARY_RELU;
        values[i] = relu && sums[i].value < 0 ? 0 : (double)sums[i].value;
        of[i] = (double)sums[i].size;
    }
    reference_conv_close(made);
    free(sums);
    if (sizes) {
        *sizes = of;
    } else {
        free(of);
    }
    return values;
}

double *conv_bounds(conv_case *c) {
    test_array *written[2];
    conv_written(c, written);
    const int64_t all = test_array_count(written[0]);
    double *sizes = calloc((size_t)all + 1, sizeof *sizes);
    reference_conv *made;
    assert_non_null(sizes);
    assert_int_equal(reference_conv_open(&made, &c->call), BP_OK);
    for (int64_t i = 0; i < all; i++) {
        sizes[i] = (double)reference_conv_reach(made, i);
    }
    reference_conv_close(made);
    return sizes;
}

/* ---- Comparison ---- */

static void compare_one(const conv_case *c, const test_array *t, const double *expected, const double *sizes,
                        double bound) {
    for (int64_t i = 0; i < test_array_count(t); i++) {
        const double got = test_array_get(t, i), want = test_array_rounded(t->dtype, expected[i]);
        const double allowed = sizes ? bound * sizes[i] : 0;
        if (!(fabs(got - want) <= allowed)) {
            fail_msg("%s: element %lld is %.17g, not %.17g (allowed %g)", c->text, (long long)i, got, want, allowed);
        }
    }
    test_array_check_gaps(t, c->text);
}

void conv_compare(const conv_case *c, const double *expected, const double *sizes, double bound) {
    test_array *written[2];
    conv_written((conv_case *)(uintptr_t)c, written);
    compare_one(c, written[0], expected, sizes, bound);
    if (written[1]) {
        const int64_t from = test_array_count(written[0]);
        compare_one(c, written[1], expected + from, sizes ? sizes + from : NULL, bound);
    }
}
