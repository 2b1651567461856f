/* check_conv.c - checks the results of convolutions, for compare and bench. Each checked element is summed directly
 * from the definition in conv.h, in long double. */
#include "operations.h"

#include <math.h>

/* Sizes and parameters, three positions each; those that the call lacks have size 1. */
typedef struct convolution {
    int64_t in_channels, out_channels, groups; /* of one group */
    int64_t in[3], out[3], kernel[3], stride[3], dilation[3], padding[3];
    bool transposed;
    double most; /* the largest |input| if tiles of the input may be transformed; otherwise 0 */
    wide input, weight, bias;
} convolution;

static void read_sizes(convolution *c, const bp_conv_call *call, const DLTensor *out) {
    const DLTensor *in = call->input, *weight = call->weight;
    c->groups = call->groups ? call->groups : 1;
    c->transposed = call->transposed != 0;
    c->in_channels = in->shape[in->ndim - call->ndim - 1] / c->groups;
    c->out_channels = out->shape[out->ndim - call->ndim - 1] / c->groups;
    for (int d = 0; d < 3; d++) {
        const int from = d - (3 - call->ndim);
        const bool there = from >= 0;
        c->in[d] = there ? in->shape[in->ndim - call->ndim + from] : 1;
        c->out[d] = there ? out->shape[out->ndim - call->ndim + from] : 1;
        c->kernel[d] = there ? weight->shape[2 + from] : 1;
        c->stride[d] = there && call->stride ? call->stride[from] : 1;
        c->dilation[d] = there && call->dilation ? call->dilation[from] : 1;
        c->padding[d] = !there                       ? 0
                        : call->mode == BP_CONV_SAME ? c->dilation[d] * (c->kernel[d] - 1) / 2
                        : call->padding              ? call->padding[from]
                                                     : 0;
    }
}

/* Finds the input index that a tap adds to an output index. Returns false if there is none. */
static bool find_input(const convolution *c, int d, int64_t out, int64_t tap, int64_t *in) {
    if (!c->transposed) {
        *in = out * c->stride[d] + tap * c->dilation[d] - c->padding[d];
        return *in >= 0 && *in < c->in[d];
    }
    const int64_t scaled = out + c->padding[d] - tap * c->dilation[d];
    *in = scaled / c->stride[d];
    return scaled >= 0 && scaled % c->stride[d] == 0 && *in < c->in[d];
}

/* Adds the products of one tap, over the channels of the group. */
static void add_tap(const convolution *c, int64_t item, int64_t channel, const int64_t out[3], int64_t tap,
                    long double *sum, long double *size) {
    const int64_t taps = c->kernel[0] * c->kernel[1] * c->kernel[2], group = channel / c->out_channels;
    const int64_t of[] = {tap / (c->kernel[1] * c->kernel[2]), tap / c->kernel[2] % c->kernel[1], tap % c->kernel[2]};
    int64_t place = 0;
    for (int d = 0; d < 3; d++) {
        int64_t in;
        if (!find_input(c, d, out[d], of[d], &in)) {
            return;
        }
        place = place * c->in[d] + in;
    }
    for (int64_t i = 0; i < c->in_channels; i++) {
        const int64_t row = group * c->in_channels + i;
        const int64_t weight =
            c->transposed ? row * c->out_channels + channel % c->out_channels : channel * c->in_channels + i;
        const int64_t image = item * c->groups * c->in_channels + row;
        const long double product = (long double)c->weight.data[weight * taps + tap] *
                                    (long double)c->input.data[image * c->in[0] * c->in[1] * c->in[2] + place];
        *sum += product;
        *size += fabsl(product);
    }
}

/* Finds `most`. Errors of algorithms that transform tiles depend on all inputs of a tile, not only on those of an
 * element. They need stride 1 and kernels of several taps. */
static void find_most(convolution *c, const bp_conv_call *call) {
    const bp_dtype dtype = bp_dtype_from_dlpack(call->input->dtype);
    bool tiles = (dtype == BP_F32 || dtype == BP_F64) && c->kernel[0] * c->kernel[1] * c->kernel[2] > 1;
    int64_t count = 1;
    for (int d = 0; d < 3; d++) {
        tiles = tiles && (c->stride[d] == 1 || c->kernel[d] == 1);
    }
    for (int d = 0; d < call->input->ndim; d++) {
        count *= call->input->shape[d];
    }
    for (int64_t i = 0; tiles && i < count; i++) {
        const double size = fabs(c->input.data[i]);
        c->most = isfinite(size) && size > c->most ? size : c->most;
    }
}

/* Returns the sum of the weights' absolute values of an output channel. */
static long double weights_of(const convolution *c, int64_t channel) {
    const int64_t taps = c->kernel[0] * c->kernel[1] * c->kernel[2], group = channel / c->out_channels;
    long double sum = 0;
    for (int64_t i = 0; i < c->in_channels * taps; i++) {
        const int64_t weight = c->transposed
                                   ? (group * c->in_channels + i / taps) * c->out_channels + channel % c->out_channels
                                   : channel * c->in_channels + i / taps;
        sum += fabsl((long double)c->weight.data[weight * taps + i % taps]);
    }
    return sum;
}

static void set_value(const convolution *c, reference_value *value) {
    const int64_t positions = c->out[0] * c->out[1] * c->out[2], position = value->index % positions;
    const int64_t channel = value->index / positions % (c->groups * c->out_channels);
    const int64_t item = value->index / positions / (c->groups * c->out_channels);
    const int64_t out[] = {position / (c->out[1] * c->out[2]), position / c->out[2] % c->out[1], position % c->out[2]};
    long double sum = c->bias.data ? (long double)c->bias.data[channel] : 0, size = fabsl(sum);
    const long double tile = size + (long double)c->most * (c->most > 0 ? weights_of(c, channel) : 0);
    for (int64_t tap = 0; tap < c->kernel[0] * c->kernel[1] * c->kernel[2]; tap++) {
        add_tap(c, item, channel, out, tap, &sum, &size);
    }
    value->re = (double)sum;
    value->im = 0;
    value->scale = (double)(c->most > 0 ? tile : size);
}

bp_status check_convolution(cli_check *check, const cli_job *job) {
    const bp_conv_call *call = &job->words.described.of.conv;
    const DLTensor *out = &job->results[0].tensor;
    convolution c = {.groups = 1};
    *check = (cli_check){.bound = 0};
    read_sizes(&c, call, out);
    const int64_t terms = c.in_channels * c.kernel[0] * c.kernel[1] * c.kernel[2] + 1;
    bp_status status = wide_make(&c.input, call->input, false);
    status = status == BP_OK ? wide_make(&c.weight, call->weight, false) : status;
    status = status == BP_OK && call->bias ? wide_make(&c.bias, call->bias, false) : status;
    status = status == BP_OK ? reference_begin(&check->values, out, terms, 64) : status;
    if (status == BP_OK) {
        find_most(&c, call);
    }
    for (int64_t i = 0; status == BP_OK && i < check->values.count; i++) {
        set_value(&c, &check->values.values[i]);
        check_activation(&check->values, bp_dtype_from_dlpack(out->dtype), call->activation, &check->values.values[i]);
    }
    wide_free(&c.input);
    wide_free(&c.weight);
    wide_free(&c.bias);
    return status == BP_OK
               ? check_with_reference(check, job,
                                      "the largest |output - reference| / (|input| |weight|); the reference "
                                      "is a direct sum in long double")
               : status;
}
