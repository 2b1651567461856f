/* conv.c - computes convolutions and their gradients from the products that conv.h defines: the products of one element
 * of the output with its inputs and weights. Gradients add the same products to other elements. */
#include "reference/conv.h"

#include "reference/elementwise.h"
#include "reference/results.h"

#include <math.h>
#include <stdlib.h>

/* Sizes and parameters have three positions; those that the call lacks are 1. Channels are the channels of one group.
 */
struct reference_conv {
    const bp_conv_call *call;
    int64_t items, groups, in_channels, out_channels;
    int64_t in[3], out[3], kernel[3], stride[3], dilation[3], padding[3];
    wide_tensor input, weight, bias, output; /* data NULL: the pass writes it, or it is absent */
    long double most;                        /* the largest element of the image that is read */
    bool finite;                             /* all elements of the image are */
};

static bp_dtype dtype_of(const reference_conv *c) {
    const bp_conv_call *call = c->call;
    return bp_dtype_from_dlpack((call->input ? call->input : call->input_gradient)->dtype);
}

static void read_sizes(reference_conv *c) {
    const bp_conv_call *call = c->call;
    const DLTensor *in = call->input ? call->input : call->input_gradient;
    const DLTensor *out = call->output ? call->output : call->output_gradient;
    const DLTensor *weight = call->weight ? call->weight : call->weight_gradient;
    c->groups = call->groups ? call->groups : 1;
    c->items = in->ndim > call->ndim + 1 ? in->shape[0] : 1;
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

/* ---- Products ---- */

static int64_t taps_of(const reference_conv *c) {
    return c->kernel[0] * c->kernel[1] * c->kernel[2];
}

/* Finds the input index that a tap adds to an output index. Returns false if there is none. */
static bool find_input(const reference_conv *c, int d, int64_t out, int64_t tap, int64_t *in) {
    if (!c->call->transposed) {
        *in = out * c->stride[d] + tap * c->dilation[d] - c->padding[d];
        return *in >= 0 && *in < c->in[d];
    }
    const int64_t scaled = out + c->padding[d] - tap * c->dilation[d];
    *in = scaled / c->stride[d];
    return scaled >= 0 && scaled % c->stride[d] == 0 && *in < c->in[d];
}

/* Index of the weight between a channel of the input's group and one of the output, without the taps. */
static int64_t weight_of(const reference_conv *c, int64_t channel, int64_t i) {
    return c->call->transposed
               ? (channel / c->out_channels * c->in_channels + i) * c->out_channels + channel % c->out_channels
               : channel * c->in_channels + i;
}

static int64_t channel_of(const reference_conv *c, int64_t output) {
    return output / (c->out[0] * c->out[1] * c->out[2]) % (c->groups * c->out_channels);
}

typedef void (*visit)(void *context, int64_t input, int64_t weight, int64_t output);

/* Calls `each` for the products of one element of the output: the indices of the input and of the weight. */
static void visit_products(const reference_conv *c, int64_t output, visit each, void *context) {
    const int64_t positions = c->out[0] * c->out[1] * c->out[2], position = output % positions, taps = taps_of(c);
    const int64_t channel = channel_of(c, output), item = output / positions / (c->groups * c->out_channels);
    const int64_t out[] = {position / (c->out[1] * c->out[2]), position / c->out[2] % c->out[1], position % c->out[2]};
    const int64_t first = (item * c->groups + channel / c->out_channels) * c->in_channels;
    for (int64_t tap = 0; tap < taps; tap++) {
        const int64_t of[] = {tap / (c->kernel[1] * c->kernel[2]), tap / c->kernel[2] % c->kernel[1],
                              tap % c->kernel[2]};
        int64_t place = 0;
        bool inside = true;
        for (int d = 0; d < 3 && inside; d++) {
            int64_t in;
            inside = find_input(c, d, out[d], of[d], &in);
            place = place * c->in[d] + in;
        }
        for (int64_t i = 0; i < c->in_channels && inside; i++) {
            each(context, (first + i) * c->in[0] * c->in[1] * c->in[2] + place, weight_of(c, channel, i) * taps + tap,
                 output);
        }
    }
}

/* ---- Sums ---- */

typedef struct sums {
    const reference_conv *c;
    reference_sum *to;
} sums;

static void add(reference_sum *to, double a, double b) {
    const long double product = (long double)a * (long double)b;
    to->value += product;
    to->size += fabsl(product);
}

static void add_to_output(void *context, int64_t input, int64_t weight, int64_t output) {
    const sums *s = context;
    (void)output;
    add(s->to, s->c->input.data[input], s->c->weight.data[weight]);
}

static void add_to_input(void *context, int64_t input, int64_t weight, int64_t output) {
    const sums *s = context;
    add(&s->to[input], s->c->weight.data[weight], s->c->output.data[output]);
}

static void add_to_weight(void *context, int64_t input, int64_t weight, int64_t output) {
    const sums *s = context;
    add(&s->to[weight], s->c->input.data[input], s->c->output.data[output]);
}

reference_sum reference_conv_output(const reference_conv *c, int64_t index) {
    reference_sum sum = {0, 0};
    if (c->bias.data) {
        add(&sum, c->bias.data[channel_of(c, index)], 1);
    }
    visit_products(c, index, add_to_output, &(sums){c, &sum});
    return sum;
}

static int64_t outputs_of(const reference_conv *c) {
    return c->items * c->groups * c->out_channels * c->out[0] * c->out[1] * c->out[2];
}

void reference_conv_all(const reference_conv *c, reference_sum *result, reference_sum *bias) {
    sums s = {c, result};
    for (int64_t i = 0; i < outputs_of(c); i++) {
        if (c->call->pass == BP_CONV_FORWARD) {
            result[i] = reference_conv_output(c, i);
        } else {
            visit_products(c, i, c->call->pass == BP_CONV_INPUT ? add_to_input : add_to_weight, &s);
        }
        if (bias) {
            add(&bias[channel_of(c, i)], c->output.data[i], 1);
        }
    }
}

long double reference_conv_reach(const reference_conv *c, int64_t index) {
    const bool forward = c->call->pass == BP_CONV_FORWARD;
    const int64_t *size = forward ? c->out : c->in;
    const int64_t own = forward ? c->out_channels : c->in_channels, others = forward ? c->in_channels : c->out_channels;
    const int64_t channel = index / (size[0] * size[1] * size[2]) % (c->groups * own);
    long double sum = 0;
    for (int64_t i = 0; i < others * taps_of(c); i++) {
        const int64_t other = i / taps_of(c);
        const int64_t weight =
            forward ? weight_of(c, channel, other) : weight_of(c, channel / own * others + other, channel % own);
        sum += fabsl((long double)c->weight.data[weight * taps_of(c) + i % taps_of(c)]);
    }
    return c->most * sum + (c->bias.data ? fabsl((long double)c->bias.data[channel]) : 0);
}

/* ---- The call ---- */

int64_t reference_conv_terms(const reference_conv *c) {
    return c->in_channels * taps_of(c) + 1;
}

double reference_conv_work(const reference_conv *c) {
    return (double)outputs_of(c) * (double)reference_conv_terms(c);
}

static bp_status read_tensor(wide_tensor *made, const DLTensor *tensor) {
    return tensor ? wide_make(made, tensor, false) : BP_OK;
}

bp_status reference_conv_open(reference_conv **made, const bp_conv_call *call) {
    const bool forward = call->pass == BP_CONV_FORWARD;
    reference_conv *c = *made = calloc(1, sizeof *c);
    if (!c) {
        return BP_E_NO_MEMORY;
    }
    c->call = call;
    read_sizes(c);
    bp_status status = read_tensor(&c->input, call->input);
    status = status == BP_OK ? read_tensor(&c->weight, call->weight) : status;
    status = status == BP_OK ? read_tensor(&c->bias, call->bias) : status;
    status = status == BP_OK ? read_tensor(&c->output, call->output_gradient) : status;
    const wide_tensor *image = forward ? &c->input : &c->output;
    c->finite = true;
    for (int64_t i = 0; status == BP_OK && i < image->count; i++) {
        const long double size = fabsl((long double)image->data[i]);
        c->finite = c->finite && isfinite(size);
        c->most = isfinite(size) && size > c->most ? size : c->most;
    }
    return status;
}

void reference_conv_close(reference_conv *c) {
    if (c) {
        wide_free(&c->input);
        wide_free(&c->weight);
        wide_free(&c->bias);
        wide_free(&c->output);
        free(c);
    }
}

/* ---- Results ---- */

/* Whether an algorithm may transform tiles of the image (conv.h). It needs a kernel of several taps, and stride 1, or
 * one step in a dimension, where the stride does not matter. */
static bool may_transform(const reference_conv *c) {
    const bp_dtype dtype = dtype_of(c);
    bool tiles = dtype == BP_F32 || dtype == BP_F64;
    for (int d = 0; d < 3; d++) {
        const int64_t steps = c->call->transposed ? c->in[d] : c->out[d];
        tiles = tiles && (c->stride[d] == 1 || c->kernel[d] == 1 || steps == 1);
    }
    return tiles && taps_of(c) > 1;
}

/* Returns a sum with its error, which is larger if tiles are transformed: relative to `reach`. Elements of a tile that
 * are not finite, or large, reach others. */
static reference_number number_of(const reference_conv *c, reference_sum sum, int64_t terms, long double reach) {
    const bp_dtype dtype = dtype_of(c);
    const long double largest = dtype == BP_F64 ? 0x1p1000L : 0x1p100L;
    reference_number number = reference_sum_number(sum, terms, dtype);
    if (may_transform(c)) {
        const long double error = reach * (dtype == BP_F64 ? 4e-15L : 2e-6L);
        number.error = c->finite && reach < largest ? fmaxl(number.error, error) : HUGE_VALL;
        number.value = isfinite(number.error) || isfinite(number.value) ? number.value : 0;
    }
    return number;
}

static reference_number output_element(void *user, int64_t index) {
    const reference_conv *c = user;
    const long double reach = may_transform(c) ? reference_conv_reach(c, index) : 0;
    const reference_number sum = number_of(c, reference_conv_output(c, index), reference_conv_terms(c), reach);
    return reference_activation(c->call->activation, bp_dtype_from_dlpack(c->call->output->dtype), sum);
}

/* The sums of a gradient. An algorithm that transforms tiles reads the whole image for each element of a weight's. */
typedef struct gradient {
    const reference_conv *c;
    const reference_sum *sums;
    int64_t terms;
    long double most; /* the largest size of a sum */
} gradient;

static reference_number gradient_element(void *user, int64_t index) {
    const gradient *g = user;
    const bool weight = g->c->call->pass == BP_CONV_WEIGHT;
    const long double reach = !may_transform(g->c) ? 0 : weight ? g->most : reference_conv_reach(g->c, index);
    return number_of(g->c, g->sums[index], g->terms, reach);
}

static reference_number bias_element(void *user, int64_t index) {
    const gradient *g = user;
    return reference_sum_number(g->sums[index], g->terms, bp_dtype_from_dlpack(g->c->call->bias_gradient->dtype));
}

static bp_status add_gradients(reference_results *made, const reference_conv *c) {
    const bp_conv_call *call = c->call;
    const bool weight = call->pass == BP_CONV_WEIGHT;
    const DLTensor *result = weight ? call->weight_gradient : call->input_gradient;
    const DLTensor *bias = weight ? call->bias_gradient : NULL;
    const int64_t count = reference_count(result), positions = c->items * c->out[0] * c->out[1] * c->out[2];
    reference_sum *all = calloc((size_t)(count + reference_count(bias)) + 1, sizeof *all);
    if (!all) {
        return BP_E_NO_MEMORY;
    }
    gradient g = {c, all, weight ? positions : c->out_channels * taps_of(c), 0};
    reference_conv_all(c, all, bias ? all + count : NULL);
    for (int64_t i = 0; i < count; i++) {
        g.most = isfinite(all[i].size) && all[i].size > g.most ? all[i].size : g.most;
    }
    bp_status status =
        reference_add_result(made, weight ? "weight_gradient" : "input_gradient", result, 1, gradient_element, &g);
    g.sums = all + count;
    status = status == BP_OK ? reference_add_result(made, "bias_gradient", bias, 1, bias_element, &g) : status;
    free(all);
    return status;
}

bp_status reference_of_conv(reference_results *made, const bp_conv_call *call) {
    reference_conv *c;
    *made = (reference_results){.count = 0};
    bp_status status = reference_conv_open(&c, call);
    if (status == BP_OK && call->pass == BP_CONV_FORWARD) {
        status = reference_add_result(made, "output", call->output, reference_conv_terms(c), output_element, c);
    } else if (status == BP_OK && reference_conv_work(c) <= (double)REFERENCE_MOST_WORK) {
        status = add_gradients(made, c);
    }
    for (int i = 0; i < made->count; i++) {
        made->of[i].values.measure = REFERENCE_SUMS;
    }
    reference_conv_close(c);
    return status;
}
