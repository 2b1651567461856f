/* conv.c - describes convolutions to oneDNN, and estimates their time. */
#include "providers/onednn/onednn.h"

#include <string.h>

#define WEIGHT 2u /* bit of the operand that can be packed */

/* Positions that matter: leading ones may have size 1 in all operands. With padding, the one element of such a position
 * is read from outside of the image. */
static int positions_of(const bp_conv_problem *c) {
    int first = 0;
    while (first < BP_MAX_CONV_NDIM - 1 && c->in[first] == 1 && c->out[first] == 1 && c->kernel[first] == 1 &&
           c->padding[first] == 0) {
        first++;
    }
    return BP_MAX_CONV_NDIM - first;
}

static bp__onednn_tensor image(int ndim, int64_t batch, int64_t channels, const int64_t *size, int64_t item,
                               int64_t channel, const int64_t *stride) {
    const int first = BP_MAX_CONV_NDIM - ndim;
    bp__onednn_tensor t = {.ndim = 2 + ndim, .size = {batch, channels}, .stride = {item, channel}};
    memcpy(t.size + 2, size + first, (size_t)ndim * sizeof *size);
    memcpy(t.stride + 2, stride + first, (size_t)ndim * sizeof *stride);
    return t;
}

/* The weight with the channels of the result first, and the groups before them if there are several. */
static bp__onednn_tensor weight_of(const bp_conv_problem *c, int ndim, bool transposed) {
    const int first = BP_MAX_CONV_NDIM - ndim;
    bp__onednn_tensor t = {0};
    if (c->groups > 1) {
        t.size[t.ndim] = c->groups;
        t.stride[t.ndim++] = c->out_channels * c->w_out;
    }
    t.size[t.ndim] = transposed ? c->in_channels : c->out_channels;
    t.stride[t.ndim++] = transposed ? c->w_in : c->w_out;
    t.size[t.ndim] = transposed ? c->out_channels : c->in_channels;
    t.stride[t.ndim++] = transposed ? c->w_out : c->w_in;
    for (int d = first; d < BP_MAX_CONV_NDIM; d++) {
        t.size[t.ndim] = c->kernel[d];
        t.stride[t.ndim++] = c->w[d];
    }
    return t;
}

/* Sets the padding after the image: what makes the given output of the given input. It may be negative, but must exceed
 * the negative stride, which has no effect if the output has size 1. Returns whether it does: the padding of the output
 * of a transposed convolution may be as large as the dilation. */
static bool set_geometry(bp__onednn_call *call, const bp_conv_problem *c) {
    const int first = BP_MAX_CONV_NDIM - call->ndim;
    for (int i = 0; i < call->ndim; i++) {
        const int d = first + i;
        const int64_t span = (c->kernel[d] - 1) * c->dilation[d] + 1;
        call->stride[i] = c->stride[d];
        call->dilation[i] = c->dilation[d] - 1; /* counted from 0 */
        call->begin[i] = c->padding[d];
        call->end[i] = (c->out[d] - 1) * c->stride[d] + span - c->in[d] - c->padding[d];
        if (c->out[d] == 1 && call->end[i] < 0) {
            call->stride[i] = 1 - call->end[i];
        }
        if (call->end[i] + call->stride[i] <= 0) {
            return false;
        }
    }
    return true;
}

/* Sets the operands, by the order of the problem's. X and Y are exchanged in the gradient of a transposed convolution,
 * where X follows Y. */
static void set_operands(bp__onednn_call *call, const bp_conv_problem *c, int type, const bp__onednn_tensor *x,
                         const bp__onednn_tensor *y) {
    const bool gradient = call->kind == BP__ONEDNN_GRADIENT, transpose = call->kind == BP__ONEDNN_TRANSPOSE;
    const int swapped = gradient && c->transposed;
    call->operand[BP__ONEDNN_SOURCE] = (bp__onednn_operand){BP__ONEDNN_ARG_SRC, swapped, type, transpose ? *y : *x};
    call->operand[BP__ONEDNN_WEIGHT] =
        (bp__onednn_operand){gradient ? BP__ONEDNN_ARG_DIFF_WEIGHTS : BP__ONEDNN_ARG_WEIGHTS, gradient ? 2 : 1, type,
                             weight_of(c, call->ndim, transpose)};
    call->operand[BP__ONEDNN_RESULT] = (bp__onednn_operand){gradient ? BP__ONEDNN_ARG_DIFF_DST : BP__ONEDNN_ARG_DST,
                                                            gradient ? 1 - swapped : 3, type, transpose ? *x : *y};
    if (c->has_bias) {
        const int64_t size = c->groups * (transpose ? c->in_channels : c->out_channels);
        call->operand[BP__ONEDNN_BIAS] = (bp__onednn_operand){gradient ? BP__ONEDNN_ARG_DIFF_BIAS : BP__ONEDNN_ARG_BIAS,
                                                              gradient ? 3 : 2,
                                                              type,
                                                              {.ndim = 1, .size = {size}, .stride = {1}}};
    }
}

/* Decides which images the library converts: the ones that are not channels-last, to the layout of its choice.
 * Gradients by the weight convert none. Returns NULL, or why the library does not take the images. */
static const char *choose_layouts(bp__onednn_call *call, bp__onednn_tensor *x, bp__onednn_tensor *y) {
    if (call->kind == BP__ONEDNN_GRADIENT) {
        return bp__onednn_is_image(x, y) ? NULL : "it reads contiguous and channels-last tensors only";
    }
    const bool transpose = call->kind == BP__ONEDNN_TRANSPOSE;
    bp__onednn_tensor *source = transpose ? y : x, *result = transpose ? x : y;
    const bool source_last = bp__onednn_is_last(source), result_last = bp__onednn_is_last(result);
    call->own |= source_last ? 0 : 1u << BP__ONEDNN_SOURCE;
    call->own |= result_last ? 0 : 1u << BP__ONEDNN_RESULT;
    return (source_last || bp__onednn_is_nested(source)) && (result_last || bp__onednn_is_nested(result))
               ? NULL
               : "it reads images with positive strides only";
}

/* The loops of the library's reference implementation are hundreds of times slower than its kernels. */
const char *bp__onednn_describe_conv(bp__onednn_call *call, const bp_problem *problem) {
    const bp_conv_problem *c = &problem->of.conv;
    const int ndim = positions_of(c);
    bp__onednn_tensor x = image(ndim, c->batch, c->groups * c->in_channels, c->in, c->x_batch, c->x_channel, c->x);
    bp__onednn_tensor y = image(ndim, c->batch, c->groups * c->out_channels, c->out, c->y_batch, c->y_channel, c->y);
    if (c->activation) {
        return "it fuses no function but ReLU";
    }
    call->kind = problem->op == BP_OP_CONV         ? BP__ONEDNN_CONVOLVE
                 : problem->op == BP_OP_CONV_INPUT ? BP__ONEDNN_TRANSPOSE
                                                   : BP__ONEDNN_GRADIENT;
    const char *why = choose_layouts(call, &x, &y);
    if (why) {
        return why;
    }
    call->ndim = ndim;
    call->packs = call->kind == BP__ONEDNN_GRADIENT ? 0 : WEIGHT;
    call->relu = c->relu != 0;
    set_operands(call, c, bp__onednn_type(problem->dtype), &x, &y);
    call->own |= 1u << BP__ONEDNN_WEIGHT;
    if (!set_geometry(call, c)) {
        return "its output padding must be less than the stride";
    }
    if (!bp__onednn_is_nested(&call->operand[BP__ONEDNN_WEIGHT].tensor)) {
        return "it reads weights with positive strides only";
    }
    if (c->has_bias && c->bias != 1 && call->operand[BP__ONEDNN_BIAS].tensor.size[0] != 1) {
        return "its bias must be contiguous";
    }
    if (call->kind == BP__ONEDNN_GRADIENT && c->transposed && c->has_bias) {
        return "it has no gradient by the bias of a transposed convolution";
    }
    return c->batch == 0 ? "the batch is empty" : NULL;
}

/* Multiply-adds at the speed of the hardware. Kernels compute whole vectors of channels, and products of copied columns
 * whole vectors of the positions of an image. */
static double products_of(const bp_conv_problem *c, const bp__onednn_call *call, double lanes) {
    const double places = (double)c->out[0] * (double)c->out[1] * (double)c->out[2];
    const double taps = (double)c->kernel[0] * (double)c->kernel[1] * (double)c->kernel[2];
    const double inner = (double)c->batch * taps * (double)c->groups * (double)c->in_channels;
    if (call->way == BP__ONEDNN_BY_COLUMNS) {
        const int64_t vectors = ((int64_t)places + (int64_t)lanes - 1) / (int64_t)lanes;
        return inner * (double)c->out_channels * (double)vectors * lanes;
    }
    const bool depthwise = c->in_channels == 1 && c->out_channels == 1;
    const double wide = (double)c->out_channels < lanes && !depthwise ? lanes : (double)c->out_channels;
    return inner * wide * places;
}

/* The time in which columns are copied, which a kernel of one tap does not need. */
static double columns_ns(const bp_conv_problem *c, const bp__onednn_call *call) {
    const double taps = (double)c->kernel[0] * (double)c->kernel[1] * (double)c->kernel[2];
    const double places = (double)c->out[0] * (double)c->out[1] * (double)c->out[2];
    return call->way == BP__ONEDNN_BY_COLUMNS && taps > 1
               ? (double)c->batch * (double)c->groups * (double)c->in_channels * taps * places
               : 0;
}

/* The time in which images are read and written, or converted. */
static double images_ns(const bp__onednn_call *call) {
    const bp__onednn_tensor *source = &call->operand[BP__ONEDNN_SOURCE].tensor;
    const bp__onednn_tensor *result = &call->operand[BP__ONEDNN_RESULT].tensor;
    const bool contiguous = call->kind == BP__ONEDNN_GRADIENT && source->stride[1] != 1;
    const bool reads = contiguous || (call->own >> BP__ONEDNN_SOURCE & 1);
    const bool writes = contiguous || (call->own >> BP__ONEDNN_RESULT & 1);
    return bp__onednn_elements(source) * (reads ? 0.5 : 0.1) + bp__onednn_elements(result) * (writes ? 0.5 : 0.1);
}

/* The products, and the conversions of the weight and of images. Depthwise convolutions without a kernel copy columns
 * and multiply them group by group. Gradients by the weight of larger kernels are slower than other passes. */
double bp__onednn_conv_ns(const bp__driver *driver, const bp_problem *problem, const bp__onednn_call *call,
                          int threads) {
    const bp_conv_problem *c = &problem->of.conv;
    const double rate = bp__onednn_rate(driver);
    const double lanes = driver->host->hardware == BP_CAPABILITY_AVX512 ? 16 : 8;
    const double taps = (double)c->kernel[0] * (double)c->kernel[1] * (double)c->kernel[2];
    const bool depthwise = c->in_channels == 1 && c->out_channels == 1;
    const double products = products_of(c, call, lanes);
    const double part = depthwise ? (call->way == BP__ONEDNN_BY_COLUMNS ? 0.03 : 0.5)
                        : problem->op == BP_OP_CONV_WEIGHT && taps > 1 ? 0.65
                                                                       : 1;
    const double alone = products / (part * rate) + images_ns(call) + columns_ns(c, call);
    const bool packed = (problem->policy.packed & WEIGHT) != 0;
    return 1000 + alone / threads + (threads > 1 ? BP__ONEDNN_TEAM_NS : 0) +
           (packed ? 0 : bp__onednn_elements(&call->operand[BP__ONEDNN_WEIGHT].tensor) * 0.7);
}
