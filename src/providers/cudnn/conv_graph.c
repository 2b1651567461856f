/* conv_graph.c - describes the graphs of convolutions, and the steps of their plans. */
#include "providers/cudnn/cudnn.h"

/* The names of a kind of convolution. The factors are numbers of the type in which cuDNN computes. */
typedef struct names {
    uint32_t operation, side[BP__CUDNN_SIDES], window, alpha, beta;
} names;

static const names kinds[] = {
    {BP__CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
     {BP__CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, BP__CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
      BP__CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y},
     BP__CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
     BP__CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
     BP__CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA},
    {BP__CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
     {BP__CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, BP__CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
      BP__CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY},
     BP__CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
     BP__CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
     BP__CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA},
    {BP__CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
     {BP__CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X, BP__CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
      BP__CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY},
     BP__CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
     BP__CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
     BP__CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA},
};

static const names *names_of(uint32_t operation) {
    const names *each = kinds;
    while (each->operation != operation) {
        each++;
    }
    return each;
}

static void set_factor(bp__cudnn_graph *graph, cudnnBackendDescriptor_t of, uint32_t name, uint32_t compute,
                       double value) {
    const float narrow = (float)value;
    if (compute == BP__CUDNN_DATA_DOUBLE) {
        bp__cudnn_set(graph, of, name, BP__CUDNN_TYPE_DOUBLE, 1, &value);
    } else {
        bp__cudnn_set(graph, of, name, BP__CUDNN_TYPE_FLOAT, 1, &narrow);
    }
}

static cudnnBackendDescriptor_t add_window(bp__cudnn_graph *graph, const bp__cudnn_conv *conv) {
    const cudnnBackendDescriptor_t made = bp__cudnn_new(graph, BP__CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
    const int64_t spatial = conv->spatial;
    const struct {
        uint32_t name;
        const int64_t *values;
    } lists[] = {{BP__CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, conv->before},
                 {BP__CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, conv->after},
                 {BP__CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, conv->stride},
                 {BP__CUDNN_ATTR_CONVOLUTION_DILATIONS, conv->dilation}};
    bp__cudnn_set_number(graph, made, BP__CUDNN_ATTR_CONVOLUTION_COMP_TYPE, BP__CUDNN_TYPE_DATA_TYPE, conv->compute);
    bp__cudnn_set_number(graph, made, BP__CUDNN_ATTR_CONVOLUTION_CONV_MODE, BP__CUDNN_TYPE_CONVOLUTION_MODE,
                         BP__CUDNN_CROSS_CORRELATION);
    bp__cudnn_set(graph, made, BP__CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, BP__CUDNN_TYPE_INT64, 1, &spatial);
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        bp__cudnn_set(graph, made, lists[i].name, BP__CUDNN_TYPE_INT64, spatial, lists[i].values);
    }
    bp__cudnn_finalize(graph, made);
    return made;
}

void bp__cudnn_conv_describe(const void *what, int call, bp__cudnn_graph *graph, int64_t alignment) {
    const bp__cudnn_conv *conv = what;
    const names *of = names_of(conv->operation);
    cudnnBackendDescriptor_t sides[BP__CUDNN_SIDES];
    (void)call;
    for (int i = 0; i < BP__CUDNN_SIDES; i++) {
        sides[i] = bp__cudnn_add_tensor(graph, &conv->side[i].tensor, i + 1, alignment);
    }
    const cudnnBackendDescriptor_t window = add_window(graph, conv);
    const cudnnBackendDescriptor_t made = bp__cudnn_new(graph, conv->operation);
    for (int i = 0; i < BP__CUDNN_SIDES; i++) {
        bp__cudnn_set_descriptor(graph, made, of->side[i], sides[i]);
    }
    bp__cudnn_set_descriptor(graph, made, of->window, window);
    set_factor(graph, made, of->alpha, conv->compute, 1);
    set_factor(graph, made, of->beta, conv->compute, 0);
    bp__cudnn_finalize(graph, made);
    bp__cudnn_add_operation(graph, made);
}

/* ---- Steps ---- */

/* Adds the copy between an operand and its compact form in the workspace. */
static void add_copy(bp__cudnn_sequence *sequence, const bp__cudnn_side *side, bp__cudnn_place buffer,
                     bool from_operand) {
    const bp__cudnn_place operand = {.operand = side->operand};
    const bp__cudnn_tensor *tensor = &side->tensor;
    if (from_operand) {
        bp__cudnn_add_copy(sequence, buffer, tensor->stride, operand, side->stride, tensor->ndim, tensor->size);
    } else {
        bp__cudnn_add_copy(sequence, operand, side->stride, buffer, tensor->stride, tensor->ndim, tensor->size);
    }
}

void bp__cudnn_conv_sequence(const bp__cudnn_offer *offer, const bp_device_info *device, bp__cudnn_sequence *sequence) {
    const bp__cudnn_conv *conv = &offer->conv;
    const int result = bp__cudnn_result_of(conv);
    bp__cudnn_place places[BP__CUDNN_SIDES];
    *sequence = (bp__cudnn_sequence){.describe = bp__cudnn_conv_describe, .call_count = 1, .item = conv->item};
    sequence->filter =
        (bp__cudnn_filter){.refused = offer->refused, .workspace = (int64_t)(device->memory / 2), .rank = offer->rank};
    for (int i = 0; i < BP__CUDNN_SIDES; i++) {
        const bp__cudnn_side *side = &conv->side[i];
        places[i] = (bp__cudnn_place){.operand = side->operand};
        if (side->buffered) {
            places[i] = (bp__cudnn_place){BP__CUDNN_WORKSPACE, bp__cudnn_reserve(sequence, side->bytes)};
        }
        if (side->buffered && i != result) {
            add_copy(sequence, side, places[i], true);
        }
        bp__cudnn_bind(sequence, 0, i + 1, places[i]);
    }
    bp__cudnn_add_call(sequence, 0);
    if (conv->side[result].buffered) {
        add_copy(sequence, &conv->side[result], places[result], false);
    }
}
