/* support_cases.c - implements cases.h. */
#include "conv/cases.h"
#include "reference/conv.h"

#include "support/guarded.h"
#include "tensor/internal.h"
#include "support/passes.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MARK = 77 };

uint64_t conv_random(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state >> 11;
}

static int64_t between(uint64_t *state, int64_t low, int64_t high) {
    return low + (int64_t)(conv_random(state) % (uint64_t)(high - low + 1));
}

/* ---- Elements ---- */

static void convert(bp_dtype to_type, void *to, bp_dtype from_type, const void *from) {
    if (to_type == from_type) {
        memcpy(to, from, bp_dtype_size(to_type));
    } else {
        bp__convert_matrix(to_type, from_type, 1, 1, to, 1, 1, from, 1, 1);
    }
}

double conv_rounded(bp_dtype dtype, double value) {
    double back, block;
    convert(dtype, &block, BP_F64, &value);
    convert(BP_F64, &back, dtype, &block);
    return back;
}

static bp_dtype dtype_of(const conv_tensor *t) {
    return bp_dtype_from_dlpack(t->view.tensor.dtype);
}

int64_t conv_elements(const conv_tensor *t) {
    return t->memory ? bp__tensor_elements(&t->view.tensor) : 0;
}

/* Returns the place of an element, in elements from the tensor's first one. */
static int64_t place_of(const conv_tensor *t, int64_t index) {
    int64_t at = 0, strides[BP_MAX_NDIM];
    bp__tensor_strides(&t->view.tensor, strides);
    for (int d = t->view.tensor.ndim - 1; d >= 0; d--) {
        at += index % t->view.tensor.shape[d] * strides[d];
        index /= t->view.tensor.shape[d];
    }
    return at;
}

static char *address_of(const conv_tensor *t, int64_t index) {
    return (char *)t->view.tensor.data + place_of(t, index) * (int64_t)bp_dtype_size(dtype_of(t));
}

double conv_get(const conv_tensor *t, int64_t index) {
    double value;
    convert(BP_F64, &value, dtype_of(t), address_of(t, index));
    return value;
}

void conv_set(conv_tensor *t, int64_t index, double value) {
    convert(dtype_of(t), address_of(t, index), BP_F64, &value);
}

/* ---- Tensors ---- */

/* Chooses strides: the dimensions in random order or in the order of channels-last, with gaps and reversed ones. */
static void random_layout(uint64_t *state, bool plain, int ndim, const int64_t *shape, int64_t *strides, int64_t *first,
                          int64_t *all) {
    int order[BP_MAX_NDIM];
    const int kind = plain ? 0 : (int)between(state, 0, 3);
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
        const int other = (int)between(state, 0, i), kept = order[i];
        order[i] = order[other];
        order[other] = kept;
    }
    *first = 0;
    *all = 1;
    for (int i = ndim - 1; i >= 0; i--) {
        const int d = order[i];
        strides[d] = *all * (kind == 2 ? between(state, 1, 2) : 1);
        *all = strides[d] * (shape[d] > 0 ? shape[d] : 1) + (kind == 2 ? between(state, 0, 1) : 0);
    }
    for (int d = 0; d < ndim; d++) {
        if (kind >= 2 && between(state, 0, 3) == 0 && shape[d] > 0) {
            *first += (shape[d] - 1) * strides[d];
            strides[d] = -strides[d];
        }
    }
}

/* Memory that ends at a page without access, or begins after one. Copies, of the same size, have equal alignment. */
static char *new_memory(size_t bytes) {
    return test_guarded(bytes, bytes / 16 % 2 == 1);
}

static void make_tensor(conv_tensor *t, uint64_t *state, const conv_limits *limits, int ndim, const int64_t *shape) {
    int64_t strides[BP_MAX_NDIM], first, all;
    const size_t element = bp_dtype_size(limits->dtype);
    random_layout(state, limits->plain, ndim, shape, strides, &first, &all);
    t->bytes = (size_t)all * element;
    t->memory = new_memory(t->bytes);
    t->used = calloc((size_t)all, 1);
    assert_non_null(t->used);
    for (int64_t i = 0; i < all; i++) {
        const double mark = MARK;
        convert(limits->dtype, t->memory + i * (int64_t)element, BP_F64, &mark);
    }
    assert_int_equal(bp_view_init(&t->view, t->memory + first * (int64_t)element, limits->dtype, ndim, shape, strides),
                     BP_OK);
    for (int64_t i = 0; i < conv_elements(t); i++) {
        t->used[first + place_of(t, i)] = 1;
    }
}

void conv_copy(conv_tensor *to, const conv_tensor *from) {
    const int64_t all = (int64_t)(from->bytes / bp_dtype_size(dtype_of(from)));
    *to = *from;
    to->memory = new_memory(from->bytes);
    to->used = malloc((size_t)all);
    assert_non_null(to->used);
    memcpy(to->memory, from->memory, from->bytes);
    memcpy(to->used, from->used, (size_t)all);
    const DLTensor *t = &from->view.tensor;
    assert_int_equal(bp_view_init(&to->view, to->memory + ((char *)t->data - from->memory), dtype_of(from), t->ndim,
                                  t->shape, t->strides),
                     BP_OK);
}

void conv_free_tensor(conv_tensor *t) {
    test_guarded_free(t->memory, t->bytes);
    free(t->used);
    *t = (conv_tensor){0};
}

static void fill(conv_tensor *t, uint64_t *state, bool integers, int64_t most) {
    for (int64_t i = 0; i < conv_elements(t); i++) {
        conv_set(t, i,
                 integers ? (double)between(state, -most, most) : (double)between(state, -1000000, 1000000) / 1000001);
    }
}

/* ---- Cases ---- */

static void random_parameters(conv_case *c, uint64_t *state, const conv_limits *limits) {
    bp_conv_call *call = &c->call;
    *call = (bp_conv_call){.struct_size = sizeof *call, .pass = limits->pass};
    call->ndim = limits->kernel ? 2 : limits->ndim ? limits->ndim : (int)between(state, 1, 3);
    call->transposed = between(state, 0, 2) == 0;
    call->groups = between(state, 0, 2) == 0 ? between(state, 2, limits->most_groups ? limits->most_groups : 4)
                                             : between(state, 0, 1);
    for (int d = 0; d < call->ndim; d++) {
        c->stride[d] = limits->kernel || limits->unit_stride || between(state, 0, 1) ? 1 : between(state, 1, 3);
        c->dilation[d] = limits->kernel || between(state, 0, 1) ? 1 : between(state, 1, 3);
        c->padding[d] = between(state, 0, limits->most_padding ? limits->most_padding : 3);
        c->padding_end[d] = between(state, 0, limits->most_padding ? limits->most_padding : 3);
        const int64_t most = c->stride[d] > c->dilation[d] ? c->stride[d] : c->dilation[d];
        c->output_padding[d] = between(state, 0, most - 1);
    }
    call->stride = c->stride;
    call->dilation = c->dilation;
    call->output_padding = call->transposed && between(state, 0, 1) ? c->output_padding : NULL;
    if (!call->transposed && between(state, 0, 5) == 0) {
        call->mode = BP_CONV_SAME;
        call->stride = NULL;
    } else {
        call->padding = between(state, 0, 3) ? c->padding : NULL;
        call->padding_end = call->padding && between(state, 0, 1) ? c->padding_end : NULL;
    }
    call->activation = call->pass == BP_CONV_FORWARD && between(state, 0, 2) == 0 ? BP_UNARY_RELU : BP_UNARY_COPY;
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
static bool random_shapes(conv_case *c, uint64_t *state, const conv_limits *limits) {
    bp_conv_call *call = &c->call;
    const int64_t groups = call->groups ? call->groups : 1,
                  first = limits->input_channels ? limits->input_channels : between(state, 1, limits->most_channels),
                  second = between(state, 1, limits->most_channels);
    const bool single = between(state, 0, 5) == 0;
    int64_t input[5], weight[5], output[BP_MAX_NDIM];
    int rank = 0, out_rank;
    bp_dtype dtype;
    if (!single) {
        input[rank++] = between(state, 0, 7) ? between(state, 1, 3) : 0;
    }
    input[rank++] = groups * first;
    weight[0] = groups * (call->transposed ? first : second);
    weight[1] = call->transposed ? second : first;
    for (int d = 0; d < call->ndim; d++) {
        input[rank++] = between(state, 1, call->ndim == 3 ? limits->most_size / 2 + 1 : limits->most_size);
        const int64_t most = limits->most_kernel ? limits->most_kernel : call->ndim == 3 ? 3 : 5;
        weight[2 + d] =
            limits->kernel ? limits->kernel : between(state, limits->least_kernel ? limits->least_kernel : 1, most);
    }
    conv_limits own = *limits;
    make_tensor(&c->input, state, &own, rank, input);
    make_tensor(&c->weight, state, &own, call->ndim + 2, weight);
    call->input = &c->input.view.tensor;
    call->weight = &c->weight.view.tensor;
    bp_conv_call forward = *call;
    forward.pass = BP_CONV_FORWARD;
    if (bp_conv_shape(&forward, &dtype, &out_rank, output) != BP_OK || is_cut_away(call->ndim, out_rank, output)) {
        return false;
    }
    make_tensor(&c->output, state, &own, out_rank, output);
    call->output = &c->output.view.tensor;
    if (call->pass != BP_CONV_INPUT && between(state, 0, 1)) {
        make_tensor(&c->bias, state, &own, 1, &output[single ? 0 : 1]);
        call->bias = &c->bias.view.tensor;
    }
    test_call_to_pass("conv", call, (int)call->pass);
    return true;
}

void conv_free(conv_case *c) {
    conv_free_tensor(&c->input);
    conv_free_tensor(&c->weight);
    conv_free_tensor(&c->bias);
    conv_free_tensor(&c->output);
}

void conv_written(conv_case *c, conv_tensor *written[2]) {
    written[0] = c->call.pass == BP_CONV_FORWARD ? &c->output : c->call.pass == BP_CONV_INPUT ? &c->input : &c->weight;
    written[1] = c->call.bias_gradient ? &c->bias : NULL;
}

static void describe(conv_case *c) {
    size_t used =
        (size_t)snprintf(c->text, sizeof c->text, "pass %d%s, %d groups, %s;", (int)c->call.pass,
                         c->call.transposed ? " transposed" : "", (int)c->call.groups, bp_dtype_name(c->dtype));
    const conv_tensor *const tensors[] = {&c->input, &c->weight};
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

void conv_make(conv_case *c, uint64_t *state, const conv_limits *limits, bool integers) {
    conv_tensor *written[2];
    for (;;) {
        memset(c, 0, sizeof *c);
        c->dtype = limits->dtype;
        random_parameters(c, state, limits);
        if (random_shapes(c, state, limits)) {
            break;
        }
        conv_free(c);
    }
    describe(c);
    conv_written(c, written);
    conv_tensor *const all[] = {&c->input, &c->weight, &c->bias, &c->output};
    for (int i = 0; i < 4; i++) {
        if (all[i]->memory && all[i] != written[0] && all[i] != written[1]) {
            fill(all[i], state, integers, limits->dtype < BP_F32 ? 1 : 3);
        }
    }
}

/* ---- Reference ---- */

double *conv_reference(const conv_case *c, double **sizes) {
    conv_tensor *written[2];
    conv_written((conv_case *)(uintptr_t)c, written);
    const int64_t first = conv_elements(written[0]), all = first + (written[1] ? conv_elements(written[1]) : 0);
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
    conv_tensor *written[2];
    conv_written(c, written);
    const int64_t all = conv_elements(written[0]);
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

static void compare_one(const conv_case *c, const conv_tensor *t, const double *expected, const double *sizes,
                        double bound) {
    const bp_dtype dtype = dtype_of(t);
    for (int64_t i = 0; i < conv_elements(t); i++) {
        const double got = conv_get(t, i), want = conv_rounded(dtype, expected[i]);
        const double allowed = sizes ? bound * sizes[i] : 0;
        if (!(fabs(got - want) <= allowed)) {
            fail_msg("%s: element %lld is %.17g, not %.17g (allowed %g)", c->text, (long long)i, got, want, allowed);
        }
    }
    for (size_t i = 0; i < t->bytes / bp_dtype_size(dtype); i++) {
        double value;
        convert(BP_F64, &value, dtype, t->memory + i * bp_dtype_size(dtype));
        if (!t->used[i] && value != MARK) {
            fail_msg("%s: memory outside the tensor was written", c->text);
        }
    }
}

void conv_compare(const conv_case *c, const double *expected, const double *sizes, double bound) {
    conv_tensor *written[2];
    conv_written((conv_case *)(uintptr_t)c, written);
    compare_one(c, written[0], expected, sizes, bound);
    if (written[1]) {
        const int64_t from = conv_elements(written[0]);
        compare_one(c, written[1], expected + from, sizes ? sizes + from : NULL, bound);
    }
}
