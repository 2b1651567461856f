/* lower.c - converts a resolved convolution to its problem.
 *
 * The transposed convolution is the transpose of a convolution, so it becomes that problem with the roles of input and
 * output exchanged. Equal calls become equal problems for any spelling: positions without effect have stride 0, step 1
 * and no padding. */
#include "ops/conv/conv.h"

#include "tensor/internal.h"

static bp_op op_of(const bp_conv_call *call) {
    return call->pass == BP_CONV_WEIGHT                               ? BP_OP_CONV_WEIGHT
           : (call->pass == BP_CONV_INPUT) == (call->transposed != 0) ? BP_OP_CONV
                                                                      : BP_OP_CONV_INPUT;
}

/* Writes the strides of items, channel and positions; 0 for sizes of 1. */
static void image_strides(const bp__conv *conv, const DLTensor *tensor, int64_t *item, int64_t *channel,
                          int64_t position[BP_CONV_NDIM]) {
    int64_t strides[BP_MAX_NDIM];
    const int first = conv->single ? 0 : 1;
    bp__tensor_strides(tensor, strides);
    *item = conv->single || tensor->shape[0] == 1 ? 0 : strides[0];
    *channel = tensor->shape[first] == 1 ? 0 : strides[first];
    for (int d = 0; d < conv->ndim; d++) {
        const int at = first + 1 + d;
        position[BP_CONV_NDIM - conv->ndim + d] = tensor->shape[at] == 1 ? 0 : strides[at];
    }
}

static void weight_strides(const bp__conv *conv, bp_conv_problem *c) {
    int64_t strides[BP_MAX_NDIM];
    const DLTensor *weight = conv->weight;
    bp__tensor_strides(weight, strides);
    c->w_out = weight->shape[0] == 1 ? 0 : strides[0];
    c->w_in = weight->shape[1] == 1 ? 0 : strides[1];
    for (int d = 0; d < conv->ndim; d++) {
        c->w[BP_CONV_NDIM - conv->ndim + d] = weight->shape[2 + d] == 1 ? 0 : strides[2 + d];
    }
}

static void positions(const bp__conv *conv, bp_conv_problem *c) {
    const bool transposed = conv->call->transposed != 0;
    for (int d = 0; d < BP_CONV_NDIM; d++) {
        const int from = d - (BP_CONV_NDIM - conv->ndim);
        c->in[d] = from < 0 ? 1 : transposed ? conv->out[from] : conv->in[from];
        c->out[d] = from < 0 ? 1 : transposed ? conv->in[from] : conv->out[from];
        c->kernel[d] = from < 0 ? 1 : conv->kernel[from];
        c->padding[d] = from < 0 ? 0 : conv->begin[from];
        c->dilation[d] = c->kernel[d] == 1 ? 1 : conv->dilation[from];
        c->stride[d] = c->out[d] == 1 ? 1 : conv->stride[from];
    }
}

void bp__conv_lower(bp_problem *problem, const bp__conv *conv) {
    const bp_conv_call *call = conv->call;
    bp_conv_problem *c = &problem->of.conv;
    const bool transposed = call->transposed != 0;
    problem->op = (uint32_t)op_of(call);
    problem->dtype = (uint32_t)conv->dtype;
    c->batch = conv->items;
    c->groups = conv->groups;
    c->in_channels = (transposed ? conv->out_channels : conv->in_channels) / conv->groups;
    c->out_channels = (transposed ? conv->in_channels : conv->out_channels) / conv->groups;
    positions(conv, c);
    image_strides(conv, transposed ? conv->output : conv->input, &c->x_batch, &c->x_channel, c->x);
    image_strides(conv, transposed ? conv->input : conv->output, &c->y_batch, &c->y_channel, c->y);
    weight_strides(conv, c);
    if (conv->bias) {
        int64_t stride;
        bp__tensor_strides(conv->bias, &stride);
        c->has_bias = 1;
        c->bias = conv->out_channels == 1 ? 0 : stride;
    }
    c->relu = call->activation == BP_UNARY_RELU;
    c->activation = c->relu ? BP_UNARY_COPY : (uint8_t)call->activation;
    c->transposed = transposed && call->pass == BP_CONV_WEIGHT;
}
