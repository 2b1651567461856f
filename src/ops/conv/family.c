/* family.c - describes convolutions to dispatch. */
#include "ops/conv/conv.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Problems are hashed and compared byte by byte, so there must be no padding. */
_Static_assert(sizeof(bp_conv_problem) == (4 + 9 * BP_MAX_CONV_NDIM + 3 * 2 + 2) * 8, "bytes between the fields");

/* Writes "14x14": the sizes, without leading positions that all operands lack. */
static const char *sizes(const bp_conv_problem *c, const int64_t size[BP_MAX_CONV_NDIM], char *buffer, size_t bytes) {
    int first = 0;
    size_t used = 0;
    while (first < BP_MAX_CONV_NDIM - 1 && c->in[first] == 1 && c->out[first] == 1 && c->kernel[first] == 1) {
        first++;
    }
    for (int d = first; d < BP_MAX_CONV_NDIM && used < bytes; d++) {
        used += (size_t)snprintf(buffer + used, bytes - used, "%s%" PRId64, d > first ? "x" : "", size[d]);
    }
    return buffer;
}

static bool all_are(const int64_t value[BP_MAX_CONV_NDIM], int64_t one) {
    return value[0] == one && value[1] == one && value[2] == one;
}

static const char *function_after(const bp_conv_problem *c) {
    static const char *const names[] = {
#define X(number, name, text) [number] = ", " text,
        BP_UNARY_MAP(X)
#undef X
    };
    return c->relu ? names[BP_UNARY_RELU] : c->activation == BP_UNARY_COPY ? "" : names[c->activation];
}

/* Writes "f32 8 x 64x56x56 to 128x28x28, kernel 3x3, stride 2x2". X is first, also if it is the result. */
static void describe(const bp_problem *problem, char *buffer, size_t size) {
    const bp_conv_problem *c = &problem->of.conv;
    char items[32] = "", in[72], out[72], kernel[72], extra[256] = "", text[72];
    size_t used = 0;
    if (c->batch != 1) {
        snprintf(items, sizeof items, "%" PRId64 " x ", c->batch);
    }
    if (c->groups != 1) {
        used += (size_t)snprintf(extra + used, sizeof extra - used, ", %" PRId64 " groups", c->groups);
    }
    if (!all_are(c->stride, 1)) {
        used +=
            (size_t)snprintf(extra + used, sizeof extra - used, ", stride %s", sizes(c, c->stride, text, sizeof text));
    }
    if (!all_are(c->dilation, 1)) {
        used += (size_t)snprintf(extra + used, sizeof extra - used, ", dilation %s",
                                 sizes(c, c->dilation, text, sizeof text));
    }
    if (!all_are(c->padding, 0)) {
        used += (size_t)snprintf(extra + used, sizeof extra - used, ", padding %s",
                                 sizes(c, c->padding, text, sizeof text));
    }
    snprintf(extra + used, sizeof extra - used, "%s%s", c->has_bias ? ", bias" : "", function_after(c));
    snprintf(buffer, size, "%s %s%" PRId64 "x%s %s %" PRId64 "x%s, kernel %s%s",
             bp_dtype_name((bp_dtype)problem->dtype), items, c->groups * c->in_channels, sizes(c, c->in, in, sizeof in),
             problem->op == BP_OP_CONV_INPUT ? "from" : "to", c->groups * c->out_channels,
             sizes(c, c->out, out, sizeof out), sizes(c, c->kernel, kernel, sizeof kernel), extra);
}

/* Adds the dimensions of positions to a layout. */
static void add_positions(bp__layout *layout, const int64_t size[BP_MAX_CONV_NDIM],
                          const int64_t stride[BP_MAX_CONV_NDIM]) {
    memcpy(layout->shape + layout->ndim, size, BP_MAX_CONV_NDIM * sizeof *size);
    memcpy(layout->strides + layout->ndim, stride, BP_MAX_CONV_NDIM * sizeof *stride);
    layout->ndim += BP_MAX_CONV_NDIM;
}

/* The inputs that can be packed are the first two; a bias is too small to gain. */
static bool input_layout(const bp_problem *problem, int operand, bp__layout *layout) {
    const bp_conv_problem *c = &problem->of.conv;
    if (operand > 1) {
        return false;
    }
    *layout = (bp__layout){.dtype = (bp_dtype)problem->dtype, .ndim = 2};
    if (operand == 1 && problem->op != BP_OP_CONV_WEIGHT) {
        layout->shape[0] = c->groups * c->out_channels;
        layout->shape[1] = c->in_channels;
        layout->strides[0] = c->w_out;
        layout->strides[1] = c->w_in;
        add_positions(layout, c->kernel, c->w);
        return true;
    }
    const bool x = problem->op == BP_OP_CONV || (problem->op == BP_OP_CONV_WEIGHT && (operand == 0) == !c->transposed);
    layout->shape[0] = c->batch;
    layout->shape[1] = c->groups * (x ? c->in_channels : c->out_channels);
    layout->strides[0] = x ? c->x_batch : c->y_batch;
    layout->strides[1] = x ? c->x_channel : c->y_channel;
    add_positions(layout, x ? c->in : c->out, x ? c->x : c->y);
    return true;
}

const bp__family bp__family_conv = {
    .size = sizeof(bp_conv_problem),
    .preference = BP_SET_conv_preferred,
    .preferred = &(const bp__preference){"convolutions are", "convolutions", BP_LIB_DNN},
    .precision = BP_SET_conv_fp32_precision,
    .cuda = {.precision = BP_SET_cudnn_conv_fp32_precision, .convolutions = true},
    .benchmark = BP_SET_conv_benchmark,
    .enabled = BP_SET_conv_enabled,
    .limits = &(const bp__family_limits){.deterministic = BP_SET_conv_deterministic,
                                         .benchmark_limit = BP_SET_conv_benchmark_limit},
    .make = bp__conv_make,
    .describe = describe,
    .elements = bp__conv_elements,
    .input_layout = input_layout,
    .measuring = &bp__measuring_conv,
};
