/* conv.c - reads a problem of a convolution, as cuDNN describes it: three tensors in one order of dimensions, and
 * padding at both ends.
 *
 * cuDNN's engines know two layouts: channels before positions, and channels last. Operands with other strides are
 * copied to the workspace, and a result with other strides from there. The layout that copies fewer bytes is taken. */
#include "providers/cudnn/cudnn.h"

#include <string.h>

enum { LARGE_TENSORS_VERSION = 9003 }; /* more than 2^31 elements, as PyTorch has it */

static const struct {
    uint32_t dtype, type, compute;
    int32_t item;
} types[] = {
    {BP_F16, BP__CUDNN_DATA_HALF, BP__CUDNN_DATA_FLOAT, 2},
    {BP_BF16, BP__CUDNN_DATA_BFLOAT16, BP__CUDNN_DATA_FLOAT, 2},
    {BP_F32, BP__CUDNN_DATA_FLOAT, BP__CUDNN_DATA_FLOAT, 4},
    {BP_F64, BP__CUDNN_DATA_DOUBLE, BP__CUDNN_DATA_DOUBLE, 8},
};

int bp__cudnn_result_of(const bp__cudnn_conv *conv) {
    return conv->operation == BP__CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR         ? BP__CUDNN_Y
           : conv->operation == BP__CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR ? BP__CUDNN_X
                                                                                                 : BP__CUDNN_W;
}

/* ---- Types and operands ---- */

static bool set_type(const bp_problem *problem, bp__cudnn_conv *conv, bp_verdict *verdict) {
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (types[i].dtype == problem->dtype) {
            conv->compute = types[i].compute;
            conv->item = types[i].item;
            for (int side = 0; side < BP__CUDNN_SIDES; side++) {
                conv->side[side].tensor.type = types[i].type;
            }
            return true;
        }
    }
    return bp__cu_vendor_refuse(verdict, BP_REASON_DTYPE, "only f16, bf16, f32 and f64 are offered");
}

/* Sets the operation, and the numbers of the operands. */
static bool set_operation(const bp_problem *problem, bp__cudnn_conv *conv, bp_verdict *verdict) {
    static const struct {
        uint32_t op, operation;
        int8_t sides[BP__CUDNN_SIDES], bias;
    } operations[] = {
        {BP_OP_CONV, BP__CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR, {0, 1, 3}, 2},
        {BP_OP_CONV_INPUT, BP__CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR, {3, 1, 0}, 2},
        {BP_OP_CONV_WEIGHT, BP__CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR, {0, 2, 1}, 3}};
    for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++) {
        if (operations[i].op == problem->op) {
            conv->operation = operations[i].operation;
            conv->bias_operand = operations[i].bias;
            for (int side = 0; side < BP__CUDNN_SIDES; side++) {
                conv->side[side].operand = operations[i].sides[side];
            }
            return true;
        }
    }
    return bp__cu_vendor_refuse(verdict, BP_REASON_OP, "it offers only convolutions and attention");
}

/* Sets what is done with the bias, and the function. */
static bool set_bias(const bp_problem *problem, bp__cudnn_conv *conv, bp_verdict *verdict) {
    const bp_conv_problem *p = &problem->of.conv;
    conv->has_bias = p->has_bias != 0;
    conv->bias_stride = p->bias;
    conv->relu = p->relu || p->activation == BP_UNARY_RELU;
    if (p->activation && !conv->relu) {
        return bp__cu_vendor_refuse(verdict, BP_REASON_OTHER, "its function of the result is relu");
    }
    if (conv->relu && problem->op != BP_OP_CONV) {
        return bp__cu_vendor_refuse(verdict, BP_REASON_OTHER, "it applies no function to a transposed convolution");
    }
    conv->bias = problem->op == BP_OP_CONV && (p->has_bias || conv->relu) ? BP__CUDNN_IN_GRAPH
                 : !p->has_bias                                           ? BP__CUDNN_NO_BIAS
                 : problem->op == BP_OP_CONV_INPUT                        ? BP__CUDNN_BEFORE
                                                                          : BP__CUDNN_GRADIENT;
    return true;
}

/* The gradient by the weight of a transposed convolution has X and Y in the other order. */
static void set_gradient(const bp_problem *problem, bp__cudnn_conv *conv) {
    const bool exchanged = problem->op == BP_OP_CONV_WEIGHT && problem->of.conv.transposed;
    conv->summed = exchanged ? BP__CUDNN_X : BP__CUDNN_Y;
    if (exchanged) {
        conv->side[BP__CUDNN_X].operand = 1;
        conv->side[BP__CUDNN_Y].operand = 0;
    }
}

/* ---- Sizes ---- */

/* A convolution over one or two dimensions is one over two: the leading position is left out if it is only a 1. */
static int first_position(const bp_conv_problem *p) {
    return p->in[0] == 1 && p->out[0] == 1 && p->kernel[0] == 1 && p->padding[0] == 0 ? 1 : 0;
}

static void set_side(bp__cudnn_side *side, int first, const int64_t sizes[2], const int64_t strides[2],
                     const int64_t *size, const int64_t *stride) {
    side->tensor.ndim = 2 + BP_MAX_CONV_NDIM - first;
    for (int i = 0; i < side->tensor.ndim; i++) {
        side->tensor.size[i] = i < 2 ? sizes[i] : size[first + i - 2];
        side->stride[i] = i < 2 ? strides[i] : stride[first + i - 2];
    }
}

static void set_sides(const bp_conv_problem *p, int first, bp__cudnn_conv *conv) {
    const int64_t in = p->groups * p->in_channels, out = p->groups * p->out_channels;
    set_side(&conv->side[BP__CUDNN_X], first, (const int64_t[]){p->batch, in},
             (const int64_t[]){p->x_batch, p->x_channel}, p->in, p->x);
    set_side(&conv->side[BP__CUDNN_W], first, (const int64_t[]){out, p->in_channels},
             (const int64_t[]){p->w_out, p->w_in}, p->kernel, p->w);
    set_side(&conv->side[BP__CUDNN_Y], first, (const int64_t[]){p->batch, out},
             (const int64_t[]){p->y_batch, p->y_channel}, p->out, p->y);
}

/* Sets the padding, so that cuDNN's size of the result is the one of the call. A call may leave elements at the end
 * unused, which no negative padding expresses. */
static bool set_window(const bp_conv_problem *p, int first, bp__cudnn_conv *conv, bp_verdict *verdict) {
    conv->spatial = BP_MAX_CONV_NDIM - first;
    for (int d = first; d < BP_MAX_CONV_NDIM; d++) {
        const int64_t window = (p->kernel[d] - 1) * p->dilation[d] + 1;
        const int64_t needed = (p->out[d] - 1) * p->stride[d] + window - p->in[d] - p->padding[d];
        if (needed <= -p->stride[d]) {
            return bp__cu_vendor_refuse(verdict, BP_REASON_LAYOUT,
                                        "the output padding of a transposed convolution is not less than the stride");
        }
        conv->before[d - first] = p->padding[d];
        conv->after[d - first] = needed > 0 ? needed : 0;
        conv->stride[d - first] = p->stride[d];
        conv->dilation[d - first] = p->dilation[d];
    }
    return true;
}

/* Sets the bytes of all tensors. */
static bool measure(const bp__cudnn_instance *instance, bp__cudnn_conv *conv, bp_verdict *verdict) {
    for (int i = 0; i < BP__CUDNN_SIDES; i++) {
        const bp__cudnn_tensor *tensor = &conv->side[i].tensor;
        int64_t count = 1;
        for (int d = 0; d < tensor->ndim; d++) {
            if (__builtin_mul_overflow(count, tensor->size[d], &count) || count > INT64_MAX / 64) {
                return bp__cu_vendor_refuse(verdict, BP_REASON_SIZE, "a product of its sizes is too large");
            }
        }
        if (count > INT32_MAX && instance->vendor.version < LARGE_TENSORS_VERSION) {
            return bp__cu_vendor_refuse(verdict, BP_REASON_SIZE,
                                        "cuDNN 9.3 is needed for tensors of more than 2^31 elements");
        }
        conv->side[i].bytes = (uint64_t)(count * conv->item);
    }
    return true;
}

/* ---- Layouts ---- */

void bp__cudnn_lay_out(const bp__cudnn_tensor *tensor, bool channels_last, int64_t *stride) {
    int64_t step = 1;
    if (channels_last) {
        stride[1] = 1;
        step = tensor->size[1];
    }
    for (int d = tensor->ndim - 1; d >= 0; d--) {
        if (d != 1 || !channels_last) {
            stride[d] = step;
            step *= tensor->size[d];
        }
    }
}

static bool has_layout(const bp__cudnn_side *side, const int64_t *stride) {
    bool same = true;
    for (int d = 0; d < side->tensor.ndim; d++) {
        same = same && (side->tensor.size[d] == 1 || side->stride[d] == stride[d]);
    }
    return same;
}

/* Returns the bytes that the layout copies. */
static uint64_t use_layout(bp__cudnn_conv *conv, bool channels_last) {
    uint64_t copied = 0;
    conv->channels_last = channels_last;
    for (int i = 0; i < BP__CUDNN_SIDES; i++) {
        bp__cudnn_side *side = &conv->side[i];
        bp__cudnn_lay_out(&side->tensor, channels_last, side->tensor.stride);
        side->buffered = !has_layout(side, side->tensor.stride);
        copied += side->buffered ? side->bytes : 0;
    }
    return copied;
}

static void choose_layout(bp__cudnn_conv *conv) {
    const uint64_t last = use_layout(conv, true), first = use_layout(conv, false);
    if (last < first) {
        use_layout(conv, true);
    }
}

bool bp__cudnn_conv_of(const bp__cudnn_instance *instance, const bp_problem *problem, bp__cudnn_conv *conv,
                       bp_verdict *verdict) {
    const bp_conv_problem *p = &problem->of.conv;
    memset(conv, 0, sizeof *conv);
    if (!set_operation(problem, conv, verdict) || !set_type(problem, conv, verdict) ||
        !set_bias(problem, conv, verdict)) {
        return false;
    }
    set_gradient(problem, conv);
    const int first = first_position(p);
    set_sides(p, first, conv);
    if (!set_window(p, first, conv, verdict) || !measure(instance, conv, verdict)) {
        return false;
    }
    choose_layout(conv);
    return true;
}
