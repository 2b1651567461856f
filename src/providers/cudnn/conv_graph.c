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

/* ---- Graphs ---- */

enum { FIRST_UID = 1, BIAS_UID = 10, PRODUCTS_UID, BIASED_UID, ONES_UID }; /* sides follow FIRST_UID */

/* Returns a tensor with one element for each channel of the result. */
static bp__cudnn_tensor bias_of(const bp__cudnn_conv *conv) {
    const bp__cudnn_tensor *result = &conv->side[bp__cudnn_result_of(conv)].tensor;
    bp__cudnn_tensor bias = *result;
    for (int d = 0; d < bias.ndim; d++) {
        bias.size[d] = d == 1 ? result->size[1] : 1;
        bias.stride[d] = conv->channels_last ? (d == 1 ? 1 : result->size[1]) : d == 0 ? result->size[1] : 1;
    }
    return bias;
}

/* Returns a tensor between two operations, in the type of the sums. */
static bp__cudnn_tensor virtual_of(const bp__cudnn_conv *conv) {
    bp__cudnn_tensor tensor = conv->side[bp__cudnn_result_of(conv)].tensor;
    tensor.type = conv->compute;
    return tensor;
}

static void add_convolution(bp__cudnn_graph *graph, const bp__cudnn_conv *conv, cudnnBackendDescriptor_t *sides) {
    const names *of = names_of(conv->operation);
    const cudnnBackendDescriptor_t window = add_window(graph, conv);
    const cudnnBackendDescriptor_t made = bp__cudnn_new(graph, conv->operation);
    for (int i = 0; i < BP__CUDNN_SIDES; i++) {
        bp__cudnn_set_descriptor(graph, made, of->side[i], sides[i]);
    }
    bp__cudnn_set_descriptor(graph, made, of->window, window);
    set_factor(graph, made, of->alpha, conv->compute, 1);
    set_factor(graph, made, of->beta, conv->compute, conv->bias == BP__CUDNN_BEFORE ? 1 : 0);
    bp__cudnn_finalize(graph, made);
    bp__cudnn_add_operation(graph, made);
}

/* Adds the operations behind a convolution, which writes `products`. */
static void add_bias(bp__cudnn_graph *graph, const bp__cudnn_conv *conv, int64_t alignment,
                     cudnnBackendDescriptor_t products, cudnnBackendDescriptor_t result) {
    const bp__cudnn_tensor bias = bias_of(conv), middle = virtual_of(conv);
    const cudnnBackendDescriptor_t b = bp__cudnn_add_tensor(graph, &bias, BIAS_UID, alignment);
    const cudnnBackendDescriptor_t sum = conv->relu ? bp__cudnn_add_virtual(graph, &middle, BIASED_UID) : result;
    bp__cudnn_add_pointwise(graph, BP__CUDNN_POINTWISE_ADD, conv->compute, products, b, sum);
    if (conv->relu) {
        bp__cudnn_add_pointwise(graph, BP__CUDNN_POINTWISE_RELU_FWD, conv->compute, sum, NULL, result);
    }
}

/* The gradient by the bias as a gradient by a weight: of a convolution of ones with a window of one element. */
static bp__cudnn_conv sum_of(const bp__cudnn_conv *conv) {
    bp__cudnn_conv sum = *conv;
    const bp__cudnn_tensor *summed = &conv->side[conv->summed].tensor;
    bp__cudnn_tensor *ones = &sum.side[BP__CUDNN_X].tensor, *bias = &sum.side[BP__CUDNN_W].tensor;
    sum.bias = BP__CUDNN_NO_BIAS;
    sum.side[BP__CUDNN_Y].tensor = *summed;
    *ones = *summed;
    *bias = *summed;
    ones->size[1] = 1;
    bias->size[0] = summed->size[1];
    for (int d = 1; d < summed->ndim; d++) {
        bias->size[d] = 1;
    }
    for (int d = 0; d < conv->spatial; d++) {
        sum.before[d] = sum.after[d] = 0;
        sum.stride[d] = sum.dilation[d] = 1;
    }
    bp__cudnn_lay_out(ones, conv->channels_last, ones->stride);
    bp__cudnn_lay_out(bias, conv->channels_last, bias->stride);
    return sum;
}

static void describe_sum(bp__cudnn_graph *graph, const bp__cudnn_conv *conv, int64_t alignment) {
    const bp__cudnn_conv sum = sum_of(conv);
    cudnnBackendDescriptor_t sides[BP__CUDNN_SIDES];
    sides[BP__CUDNN_X] = bp__cudnn_add_tensor(graph, &sum.side[BP__CUDNN_X].tensor, ONES_UID, alignment);
    sides[BP__CUDNN_W] = bp__cudnn_add_tensor(graph, &sum.side[BP__CUDNN_W].tensor, BIAS_UID, alignment);
    sides[BP__CUDNN_Y] =
        bp__cudnn_add_tensor(graph, &sum.side[BP__CUDNN_Y].tensor, FIRST_UID + conv->summed, alignment);
    add_convolution(graph, &sum, sides);
}

void bp__cudnn_conv_describe(const void *what, int call, bp__cudnn_graph *graph, int64_t alignment) {
    const bp__cudnn_conv *conv = what;
    const int result = bp__cudnn_result_of(conv);
    const bool in_graph = conv->bias == BP__CUDNN_IN_GRAPH;
    cudnnBackendDescriptor_t sides[BP__CUDNN_SIDES];
    if (call > 0) {
        describe_sum(graph, conv, alignment);
        return;
    }
    for (int i = 0; i < BP__CUDNN_SIDES; i++) {
        sides[i] = bp__cudnn_add_tensor(graph, &conv->side[i].tensor, FIRST_UID + i, alignment);
    }
    const cudnnBackendDescriptor_t last = sides[result];
    if (in_graph) {
        const bp__cudnn_tensor products = virtual_of(conv);
        sides[result] = bp__cudnn_add_virtual(graph, &products, PRODUCTS_UID);
    }
    add_convolution(graph, conv, sides);
    if (in_graph) {
        add_bias(graph, conv, alignment, sides[result], last);
    }
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

static bp__cudnn_place reserve(bp__cudnn_sequence *sequence, uint64_t bytes) {
    return (bp__cudnn_place){BP__CUDNN_WORKSPACE, bp__cudnn_reserve(sequence, bytes)};
}

/* Adds what a bias in the graph needs: it is compact, and zeros if there is none. */
static void place_bias(bp__cudnn_sequence *sequence, const bp__cudnn_conv *conv) {
    const int64_t channels = conv->side[bp__cudnn_result_of(conv)].tensor.size[1], one = 1;
    const uint64_t bytes = (uint64_t)(channels * conv->item);
    bp__cudnn_place place = {.operand = conv->bias_operand};
    if (!conv->has_bias) {
        place = reserve(sequence, bytes);
        bp__cudnn_add_fill(sequence, place, 0, bytes);
    } else if (conv->bias_stride != 1 && channels > 1) {
        place = reserve(sequence, bytes);
        bp__cudnn_add_copy(sequence, place, &one, (bp__cudnn_place){.operand = conv->bias_operand}, &conv->bias_stride,
                           1, &channels);
    }
    bp__cudnn_bind(sequence, 0, BIAS_UID, place, bytes);
}

/* Fills the result with the bias. */
static void spread_bias(bp__cudnn_sequence *sequence, const bp__cudnn_conv *conv, bp__cudnn_place result) {
    const bp__cudnn_tensor *tensor = &conv->side[bp__cudnn_result_of(conv)].tensor;
    const int64_t strides[BP__CUDNN_NDIM] = {0, conv->bias_stride};
    bp__cudnn_add_copy(sequence, result, tensor->stride, (bp__cudnn_place){.operand = conv->bias_operand}, strides,
                       tensor->ndim, tensor->size);
}

/* Adds the number 1, and makes a tensor of it. */
static bp__cudnn_place place_ones(bp__cudnn_sequence *sequence, const bp__cudnn_conv *conv,
                                  const bp__cudnn_tensor *ones) {
    static const uint8_t last[] = {[BP__CUDNN_DATA_HALF] = 0x3c,
                                   [BP__CUDNN_DATA_BFLOAT16] = 0x3f,
                                   [BP__CUDNN_DATA_FLOAT] = 0x3f,
                                   [BP__CUDNN_DATA_DOUBLE] = 0x3f};
    static const uint8_t before[] = {[BP__CUDNN_DATA_HALF] = 0,
                                     [BP__CUDNN_DATA_BFLOAT16] = 0x80,
                                     [BP__CUDNN_DATA_FLOAT] = 0x80,
                                     [BP__CUDNN_DATA_DOUBLE] = 0xf0};
    const int64_t none[BP__CUDNN_NDIM] = {0};
    const uint64_t item = (uint64_t)conv->item;
    const bp__cudnn_place one = reserve(sequence, item);
    const bp__cudnn_place all =
        reserve(sequence, conv->side[conv->summed].bytes / (uint64_t)conv->side[conv->summed].tensor.size[1]);
    bp__cudnn_add_fill(sequence, one, 0, item);
    bp__cudnn_add_fill(sequence, (bp__cudnn_place){BP__CUDNN_WORKSPACE, one.at + item - 1}, last[ones->type], 1);
    bp__cudnn_add_fill(sequence, (bp__cudnn_place){BP__CUDNN_WORKSPACE, one.at + item - 2}, before[ones->type], 1);
    bp__cudnn_add_copy(sequence, all, ones->stride, one, none, ones->ndim, ones->size);
    return all;
}

/* Adds the call that makes the gradient by the bias. TF32 is for products, so that it does not round these numbers. */
static void add_sum(bp__cudnn_sequence *sequence, const bp__cudnn_conv *conv, const bp__cudnn_place *places) {
    const bp__cudnn_conv sum = sum_of(conv);
    const bp__cudnn_side *summed = &conv->side[conv->summed];
    const int64_t channels = summed->tensor.size[1], one = 1;
    const uint64_t bytes = (uint64_t)(channels * conv->item);
    const bool buffered = conv->bias_stride != 1 && channels > 1;
    const bp__cudnn_place operand = {.operand = conv->bias_operand};
    const bp__cudnn_place bias = buffered ? reserve(sequence, bytes) : operand;
    bp__cudnn_bind(sequence, 1, ONES_UID, place_ones(sequence, conv, &sum.side[BP__CUDNN_X].tensor),
                   summed->bytes / (uint64_t)channels);
    bp__cudnn_bind(sequence, 1, BIAS_UID, bias, bytes);
    bp__cudnn_bind(sequence, 1, FIRST_UID + conv->summed, places[conv->summed], summed->bytes);
    sequence->call_count = 2;
    sequence->refused_later = summed->tensor.type == BP__CUDNN_DATA_FLOAT ? 1u << BP__CUDNN_NOTE_TENSOR_CORE : 0;
    bp__cudnn_add_call(sequence, 1);
    if (buffered) {
        bp__cudnn_add_copy(sequence, operand, &conv->bias_stride, bias, &one, 1, &channels);
    }
}

void bp__cudnn_conv_sequence(const bp__cudnn_offer *offer, const bp_device_info *device, bp__cudnn_sequence *sequence) {
    const bp__cudnn_conv *conv = &offer->conv;
    const int result = bp__cudnn_result_of(conv);
    bp__cudnn_place places[BP__CUDNN_SIDES];
    *sequence = (bp__cudnn_sequence){.describe = bp__cudnn_conv_describe, .call_count = 1, .item = conv->item};
    sequence->filter =
        (bp__cudnn_filter){.refused = offer->refused, .workspace = (int64_t)(device->memory / 2), .rank = offer->rank};
    sequence->measured = offer->rank < 0 ? offer->measured : 0;
    for (int i = 0; i < BP__CUDNN_SIDES; i++) {
        const bp__cudnn_side *side = &conv->side[i];
        places[i] = side->buffered ? reserve(sequence, side->bytes) : (bp__cudnn_place){.operand = side->operand};
        if (side->buffered && i != result) {
            add_copy(sequence, side, places[i], true);
        }
        bp__cudnn_bind(sequence, 0, FIRST_UID + i, places[i], side->bytes);
    }
    if (conv->bias == BP__CUDNN_IN_GRAPH) {
        place_bias(sequence, conv);
    } else if (conv->bias == BP__CUDNN_BEFORE) {
        spread_bias(sequence, conv, places[result]);
    }
    bp__cudnn_add_call(sequence, 0);
    if (conv->side[result].buffered) {
        add_copy(sequence, &conv->side[result], places[result], false);
    }
    if (conv->bias == BP__CUDNN_GRADIENT) {
        add_sum(sequence, conv, places);
    }
}
