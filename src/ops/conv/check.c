/* check.c - checks the parameters and tensors of a convolution, and computes the sizes of its output. */
#include "ops/conv/conv.h"

#include "ops/shape.h"
#include "tensor/internal.h"

#include <inttypes.h>
#include <string.h>

/* Writes "conv2d", or "conv_transpose2d". */
static const char *name_of(const bp_conv_call *call, char buffer[24]) {
    snprintf(buffer, 24, "conv%s%dd", call->transposed ? "_transpose" : "", call->ndim);
    return buffer;
}

/* Return the name of the tensor that the pass has: the gradient by it if this is computed or read. */
static const char *input_name(const bp__conv *conv) {
    return conv->call->pass == BP_CONV_INPUT ? "input_gradient" : "input";
}
static const char *weight_name(const bp__conv *conv) {
    return conv->call->pass == BP_CONV_WEIGHT ? "weight_gradient" : "weight";
}
static const char *bias_name(const bp__conv *conv) {
    return conv->call->pass == BP_CONV_WEIGHT ? "bias_gradient" : "bias";
}
static const char *output_name(const bp__conv *conv) {
    return conv->call->pass == BP_CONV_FORWARD ? "output" : "output_gradient";
}

/* ---- Parameters ---- */

static bp_status read_values(int64_t *to, const int64_t *from, int ndim, int64_t fallback, int64_t least,
                             const char *what) {
    for (int d = 0; d < ndim; d++) {
        to[d] = from ? from[d] : fallback;
        if (to[d] < least) {
            return bp__fail(BP_E_ARGUMENT, "%s is %" PRId64 " in dimension %d; it must be at least %" PRId64, what,
                            to[d], d, least);
        }
    }
    return BP_OK;
}

/* Splits the padding that keeps the size; an odd row is added at the end. Returns false if a size exceeds 64 bits. */
static bool pad_to_same(bp__conv *conv) {
    for (int d = 0; d < conv->ndim; d++) {
        int64_t both;
        if (__builtin_mul_overflow(conv->dilation[d], conv->kernel[d] - 1, &both)) {
            return false;
        }
        conv->begin[d] = both / 2;
        conv->end[d] = both - conv->begin[d];
    }
    return true;
}

static bp_status check_mode(const bp__conv *conv) {
    const bp_conv_call *call = conv->call;
    if ((unsigned)call->mode > BP_CONV_SAME || (unsigned)call->pass > BP_CONV_WEIGHT) {
        return bp__fail(BP_E_ARGUMENT, "pass or mode is no value of its enumeration");
    }
    if ((unsigned)call->activation >= BP_ACTIVATION_KINDS) {
        return bp__fail(BP_E_ARGUMENT, "activation is %u; it must be below %d: a function whose results are numbers",
                        (unsigned)call->activation, BP_ACTIVATION_KINDS);
    }
    if (call->mode != BP_CONV_EXPLICIT && (call->padding || call->padding_end || call->transposed)) {
        return bp__fail(BP_E_ARGUMENT,
                        "%s is set; mode 'same' and 'valid' take no padding, and no transposed convolution",
                        call->padding       ? "padding"
                        : call->padding_end ? "padding_end"
                                            : "transposed");
    }
    if (call->output_padding && !call->transposed) {
        return bp__fail(BP_E_ARGUMENT, "output_padding is for transposed convolutions only");
    }
    if (call->activation != BP_UNARY_COPY && call->pass != BP_CONV_FORWARD) {
        return bp__fail(BP_E_ARGUMENT, "an activation is for the pass FORWARD only");
    }
    if (call->bias && call->pass == BP_CONV_INPUT) {
        return bp__fail(BP_E_ARGUMENT, "the gradient by the input does not depend on the bias, which must be NULL");
    }
    for (int d = 0; call->mode == BP_CONV_SAME && d < conv->ndim; d++) {
        if (conv->stride[d] != 1) {
            return bp__fail(BP_E_ARGUMENT, "padding 'same' needs stride 1; it is %" PRId64 " in dimension %d",
                            conv->stride[d], d);
        }
    }
    return BP_OK;
}

static bp_status read_parameters(bp__conv *conv) {
    const bp_conv_call *call = conv->call;
    conv->ndim = call->ndim;
    if (call->ndim < 1 || call->ndim > BP_CONV_NDIM) {
        return bp__fail(BP_E_ARGUMENT, "ndim is %d; it must be 1 to %d", call->ndim, BP_CONV_NDIM);
    }
    conv->groups = call->groups == 0 ? 1 : call->groups;
    if (conv->groups < 1) {
        return bp__fail(BP_E_ARGUMENT, "groups is %" PRId64 "; it must be at least 1", conv->groups);
    }
    BP__TRY(read_values(conv->stride, call->stride, conv->ndim, 1, 1, "stride"));
    BP__TRY(read_values(conv->dilation, call->dilation, conv->ndim, 1, 1, "dilation"));
    BP__TRY(read_values(conv->begin, call->padding, conv->ndim, 0, 0, "padding"));
    BP__TRY(read_values(conv->end, call->padding_end ? call->padding_end : call->padding, conv->ndim, 0, 0,
                        call->padding_end ? "padding_end" : "padding"));
    return check_mode(conv);
}

/* ---- Input and weight ---- */

static bp_status check_ranks(bp__conv *conv) {
    const DLTensor *input = conv->input, *weight = conv->weight;
    char name[24], shape[256];
    if (input->ndim != conv->ndim + 2 && input->ndim != conv->ndim + 1) {
        return bp__fail(BP_E_SHAPE, "%s: %s has shape %s; it must have %d dimensions, or %d without items",
                        name_of(conv->call, name), input_name(conv),
                        bp__shape_text(input->ndim, input->shape, shape, sizeof shape), conv->ndim + 2, conv->ndim + 1);
    }
    if (weight->ndim != conv->ndim + 2) {
        return bp__fail(BP_E_SHAPE, "%s: %s has shape %s; it must have %d dimensions", name_of(conv->call, name),
                        weight_name(conv), bp__shape_text(weight->ndim, weight->shape, shape, sizeof shape),
                        conv->ndim + 2);
    }
    conv->single = input->ndim == conv->ndim + 1;
    return BP_OK;
}

/* Refuses sizes of 0, except for the number of items. */
static bp_status check_not_empty(const bp__conv *conv, const DLTensor *tensor, int from, const char *what) {
    char name[24], shape[256];
    for (int d = from; d < tensor->ndim; d++) {
        if (tensor->shape[d] == 0) {
            return bp__fail(BP_E_SHAPE, "%s: %s has shape %s; only the number of items may be 0",
                            name_of(conv->call, name), what,
                            bp__shape_text(tensor->ndim, tensor->shape, shape, sizeof shape));
        }
    }
    return BP_OK;
}

static bp_status check_type(const bp__conv *conv, const DLTensor *tensor, const char *what) {
    const bp_dtype dtype = bp_dtype_from_dlpack(tensor->dtype);
    char name[24];
    return dtype == conv->dtype
               ? BP_OK
               : bp__fail(BP_E_DTYPE, "%s: %s is %s; it must be %s, as %s is", name_of(conv->call, name), what,
                          bp_dtype_name(dtype), bp_dtype_name(conv->dtype),
                          conv->call->pass == BP_CONV_INPUT ? "input_gradient" : "the input");
}

static bp_status read_types(bp__conv *conv) {
    char name[24];
    conv->dtype = bp_dtype_from_dlpack(conv->input->dtype);
    if (conv->dtype < BP_F16 || conv->dtype > BP_F64) {
        return bp__fail(BP_E_DTYPE, "%s: %s is %s; convolutions take f16, bf16, f32 and f64", name_of(conv->call, name),
                        input_name(conv), bp_dtype_name(conv->dtype));
    }
    return check_type(conv, conv->weight, weight_name(conv));
}

static bp_status read_channels(bp__conv *conv) {
    const DLTensor *input = conv->input, *weight = conv->weight;
    const bool transposed = conv->call->transposed != 0;
    const int64_t outer = weight->shape[0];
    int64_t inner;
    char name[24], shape[256], other[256];
    if (outer % conv->groups != 0) {
        return bp__fail(BP_E_SHAPE,
                        "%s: %s has shape %s; its first size must be a multiple of groups, which is %" PRId64,
                        name_of(conv->call, name), weight_name(conv),
                        bp__shape_text(weight->ndim, weight->shape, shape, sizeof shape), conv->groups);
    }
    if (__builtin_mul_overflow(weight->shape[1], conv->groups, &inner)) {
        return bp__fail(BP_E_OVERFLOW, "%s: the number of channels exceeds 64 bits", name_of(conv->call, name));
    }
    conv->items = conv->single ? 1 : input->shape[0];
    conv->in_channels = transposed ? outer : inner;
    conv->out_channels = transposed ? inner : outer;
    const int64_t given = input->shape[conv->single ? 0 : 1];
    if (given != conv->in_channels) {
        return bp__fail(
            BP_E_SHAPE,
            "%s: %s has %" PRId64 " channels (shape %s); %s of shape %s with groups %" PRId64 " needs %" PRId64,
            name_of(conv->call, name), input_name(conv), given,
            bp__shape_text(input->ndim, input->shape, other, sizeof other), weight_name(conv),
            bp__shape_text(weight->ndim, weight->shape, shape, sizeof shape), conv->groups, conv->in_channels);
    }
    return BP_OK;
}

/* ---- Sizes of the output ---- */

/* Returns dilation (T - 1) + 1, which is the span of the kernel; -1 if it exceeds 64 bits. */
static int64_t span_of(const bp__conv *conv, int d) {
    int64_t span;
    return __builtin_mul_overflow(conv->dilation[d], conv->kernel[d] - 1, &span) || span > BP__MAX_SPAN ? -1 : span + 1;
}

static bp_status forward_size(bp__conv *conv, int d) {
    const int64_t span = span_of(conv, d);
    int64_t padded;
    char name[24];
    if (span < 0 || __builtin_add_overflow(conv->begin[d], conv->end[d], &padded) ||
        __builtin_add_overflow(padded, conv->in[d], &padded) || padded > BP__MAX_SPAN) {
        return bp__fail(BP_E_OVERFLOW, "%s: a size in dimension %d exceeds 64 bits", name_of(conv->call, name), d);
    }
    if (span > padded) {
        return bp__fail(BP_E_SHAPE,
                        "%s: the kernel spans %" PRId64
                        " elements in dimension %d, more than the padded input, which has "
                        "%" PRId64,
                        name_of(conv->call, name), span, d, padded);
    }
    conv->out[d] = (padded - span) / conv->stride[d] + 1;
    return BP_OK;
}

static bp_status transposed_size(bp__conv *conv, int d, int64_t extra) {
    const int64_t span = span_of(conv, d);
    int64_t size, padding;
    char name[24];
    const bool fits = span >= 0 && !__builtin_mul_overflow(conv->in[d] - 1, conv->stride[d], &size) &&
                      !__builtin_add_overflow(size, span + extra, &size) && size <= BP__MAX_SPAN &&
                      !__builtin_add_overflow(conv->begin[d], conv->end[d], &padding);
    if (!fits) {
        return bp__fail(BP_E_OVERFLOW, "%s: a size in dimension %d exceeds 64 bits", name_of(conv->call, name), d);
    }
    if (size < padding) { /* without elements the output is empty, as in PyTorch */
        return bp__fail(BP_E_SHAPE,
                        "%s: the padding of dimension %d removes %" PRId64 " of the %" PRId64 " elements of the output",
                        name_of(conv->call, name), d, padding, size);
    }
    conv->out[d] = size - padding;
    return BP_OK;
}

static bp_status read_sizes(bp__conv *conv) {
    const bp_conv_call *call = conv->call;
    int64_t extra[BP_CONV_NDIM];
    char name[24];
    BP__TRY(read_values(extra, call->output_padding, conv->ndim, 0, 0, "output_padding"));
    for (int d = 0; d < conv->ndim; d++) {
        conv->kernel[d] = conv->weight->shape[2 + d];
        conv->in[d] = conv->input->shape[d + 2 - conv->single];
    }
    if (call->mode == BP_CONV_SAME && !pad_to_same(conv)) {
        return bp__fail(BP_E_OVERFLOW, "%s: the padding exceeds 64 bits", name_of(call, name));
    }
    for (int d = 0; d < conv->ndim; d++) {
        const int64_t most = conv->stride[d] > conv->dilation[d] ? conv->stride[d] : conv->dilation[d];
        if (extra[d] >= most && extra[d] > 0) {
            return bp__fail(BP_E_ARGUMENT,
                            "output_padding is %" PRId64
                            " in dimension %d; it must be less than stride or dilation; the larger one is %" PRId64,
                            extra[d], d, most);
        }
        BP__TRY(call->transposed ? transposed_size(conv, d, extra[d]) : forward_size(conv, d));
    }
    return BP_OK;
}

bp_status bp__conv_resolve(bp__conv *conv, const bp_conv_call *call, bool data_optional) {
    *conv = (bp__conv){.call = call,
                       .input = call->pass == BP_CONV_INPUT ? call->input_gradient : call->input,
                       .weight = call->pass == BP_CONV_WEIGHT ? call->weight_gradient : call->weight,
                       .bias = call->pass == BP_CONV_WEIGHT ? call->bias_gradient : call->bias,
                       .output = call->pass == BP_CONV_FORWARD ? call->output : call->output_gradient};
    BP__TRY(read_parameters(conv));
    BP__TRY(bp__tensor_check(conv->input, input_name(conv), data_optional));
    BP__TRY(bp__tensor_check(conv->weight, weight_name(conv), data_optional));
    BP__TRY(read_types(conv));
    BP__TRY(check_ranks(conv));
    BP__TRY(check_not_empty(conv, conv->input, !conv->single, input_name(conv)));
    BP__TRY(check_not_empty(conv, conv->weight, 0, weight_name(conv)));
    BP__TRY(read_channels(conv));
    return read_sizes(conv);
}

int bp__conv_output_shape(const bp__conv *conv, int64_t *shape) {
    int rank = 0;
    if (!conv->single) {
        shape[rank++] = conv->items;
    }
    shape[rank++] = conv->out_channels;
    for (int d = 0; d < conv->ndim; d++) {
        shape[rank++] = conv->out[d];
    }
    return rank;
}

/* ---- Output and bias ---- */

static bp_status check_shape(const bp__conv *conv, const DLTensor *tensor, const char *what, int rank,
                             const int64_t *shape) {
    char name[24], want[256], got[256];
    if (tensor->ndim == rank && memcmp(tensor->shape, shape, (size_t)rank * sizeof *shape) == 0) {
        return BP_OK;
    }
    return bp__fail(BP_E_SHAPE, "%s: %s has shape %s; it must have shape %s", name_of(conv->call, name), what,
                    bp__shape_text(tensor->ndim, tensor->shape, got, sizeof got),
                    bp__shape_text(rank, shape, want, sizeof want));
}

bp_status bp__conv_check(const bp__conv *conv, bool data_optional) {
    const bp_conv_call *call = conv->call;
    int64_t shape[BP_CONV_NDIM + 2];
    const int rank = bp__conv_output_shape(conv, shape);
    const bp__pass *pass = bp__conv_pass(call);
    BP__TRY(bp__call_check_surplus(&bp__conv_call, pass, call));
    BP__TRY(bp__tensor_check(conv->output, output_name(conv), data_optional));
    BP__TRY(check_type(conv, conv->output, output_name(conv)));
    BP__TRY(check_shape(conv, conv->output, output_name(conv), rank, shape));
    if (conv->bias) {
        BP__TRY(bp__tensor_check(conv->bias, bias_name(conv), data_optional));
        BP__TRY(check_type(conv, conv->bias, bias_name(conv)));
        BP__TRY(check_shape(conv, conv->bias, bias_name(conv), 1, &conv->out_channels));
    }
    return bp__call_check_overlap(&bp__conv_call, pass, call);
}
