/* check_network.c - checks the results of pooling, batch normalization and linear layers, for compare. Each checked
 * element is computed from the definition in pool.h, norm.h or linear.h. */
#include "operations.h"

#include <math.h>

/* ---- Pooling ---- */

/* Sizes of three positions; those that the call lacks have size 1. */
typedef struct windows {
    const bp_pool_call *call;
    int64_t in[3], out[3];
    wide input;
} windows;

/* The inputs of an output in one dimension: `count` of them from `first` on, `step` apart. Those from `counted` on are
 * behind the padding. */
typedef struct window {
    int64_t first, step, count, counted;
} window;

static window window_of(const windows *w, int d, int64_t out) {
    const bp_pool_call *call = w->call;
    const int from = d - (3 - call->ndim);
    if (from < 0) {
        return (window){0, 1, 1, 1};
    }
    if (call->output_size) {
        const int64_t first = out * w->in[d] / w->out[d], end = ((out + 1) * w->in[d] + w->out[d] - 1) / w->out[d];
        return (window){first, 1, end - first, end - first};
    }
    const int64_t stride = call->stride ? call->stride[from] : call->kernel[from];
    const int64_t padding = call->padding ? call->padding[from] : 0, step = call->dilation ? call->dilation[from] : 1;
    window one = {out * stride - padding, step, call->kernel[from], 0};
    while (one.counted < one.count && one.first + one.counted * step < w->in[d] + padding) {
        one.counted++;
    }
    return one;
}

/* What is known of a window after some of its elements. */
typedef struct summary {
    long double sum, size, most;
    int64_t inside;
    bool has_nan;
} summary;

static void add_element(summary *s, double x) {
    s->sum += (long double)x;
    s->size += fabsl((long double)x);
    s->most = (long double)x > s->most ? (long double)x : s->most;
    s->has_nan = s->has_nan || isnan(x);
    s->inside++;
}

static void set_pooled(const windows *w, reference_value *value) {
    const bp_pool_call *call = w->call;
    const int64_t positions = w->out[0] * w->out[1] * w->out[2], position = value->index % positions;
    const int64_t at[] = {position / (w->out[1] * w->out[2]), position / w->out[2] % w->out[1], position % w->out[2]};
    const double *image = w->input.data + value->index / positions * w->in[0] * w->in[1] * w->in[2];
    window of[3];
    summary s = {.most = -HUGE_VALL};
    int64_t counted = 1;
    for (int d = 0; d < 3; d++) {
        of[d] = window_of(w, d, at[d]);
        counted *= of[d].counted;
    }
    for (int64_t t = 0; t < of[0].count * of[1].count * of[2].count; t++) {
        const int64_t tap[] = {t / (of[1].count * of[2].count), t / of[2].count % of[1].count, t % of[2].count};
        int64_t place = 0;
        bool inside = true;
        for (int d = 0; d < 3; d++) {
            const int64_t i = of[d].first + tap[d] * of[d].step;
            inside = inside && i >= 0 && i < w->in[d];
            place = place * w->in[d] + i;
        }
        if (inside) {
            add_element(&s, image[place]);
        }
    }
    const int64_t number = call->divisor ? call->divisor : call->exclude_padding ? s.inside : counted;
    const long double divisor = (long double)(number ? number : 1);
    const bool max = call->kind == BP_POOL_MAX;
    value->re = (double)(!max ? s.sum / divisor : s.has_nan ? (long double)NAN : s.most);
    value->im = 0;
    value->scale = (double)(max ? fabsl(s.most) : s.size / fabsl(divisor));
}

/* Checks the output; the indices are not checked. */
bp_status check_pooling(cli_check *check, const cli_job *job) {
    const bp_pool_call *call = &job->words.described.of.pool;
    const DLTensor *in = call->input, *out = &job->results[0].tensor;
    windows w = {.call = call};
    int64_t terms = 1;
    *check = (cli_check){.bound = 0};
    for (int d = 0; d < 3; d++) {
        const int from = d - (3 - call->ndim);
        w.in[d] = from >= 0 ? in->shape[in->ndim - call->ndim + from] : 1;
        w.out[d] = from >= 0 ? out->shape[out->ndim - call->ndim + from] : 1;
        terms *= from < 0 ? 1 : call->kernel ? call->kernel[from] : w.in[d] / (w.out[d] > 0 ? w.out[d] : 1) + 2;
    }
    bp_status status = wide_make(&w.input, in, false);
    status = status == BP_OK ? reference_begin(&check->values, out, terms, 64) : status;
    for (int64_t i = 0; status == BP_OK && i < check->values.count; i++) {
        set_pooled(&w, &check->values.values[i]);
    }
    wide_free(&w.input);
    return status == BP_OK
               ? check_with_reference(check, job,
                                      "the largest |output - reference| / (average of |input|, or |maximum|); the "
                                      "reference is computed in long double")
               : status;
}

/* ---- Batch normalization ---- */

enum { MEAN, VARIANCE, WEIGHT, BIAS, PARAMETERS };

static void set_normalized(const bp_batch_norm_call *call, const wide *input, const wide parameters[PARAMETERS],
                           reference_value *value) {
    const DLTensor *in = call->input;
    int64_t positions = 1;
    for (int d = 2; d < in->ndim; d++) {
        positions *= in->shape[d];
    }
    const int64_t channel = value->index / positions % in->shape[1];
    const long double x = (long double)input->data[value->index], mean = (long double)parameters[MEAN].data[channel];
    const long double root = sqrtl((long double)parameters[VARIANCE].data[channel] + (long double)call->eps);
    const long double weight = call->weight ? (long double)parameters[WEIGHT].data[channel] : 1;
    const long double bias = call->bias ? (long double)parameters[BIAS].data[channel] : 0;
    const long double result = (x - mean) / root * weight + bias;
    value->re = (double)(call->relu && result < 0 ? 0 : result);
    value->im = 0;
    value->scale = (double)((fabsl(x) + fabsl(mean)) * fabsl(weight / root) + fabsl(bias));
}

bp_status check_normalization(cli_check *check, const cli_job *job) {
    const bp_batch_norm_call *call = &job->words.described.of.batch_norm;
    const DLTensor *const tensors[PARAMETERS] = {call->running_mean, call->running_var, call->weight, call->bias};
    wide input = {.data = NULL}, parameters[PARAMETERS] = {{.data = NULL}};
    const int64_t terms = 4; /* the roundings of an element */
    *check = (cli_check){.bound = 0};
    bp_status status = wide_make(&input, call->input, false);
    for (int i = 0; i < PARAMETERS && status == BP_OK; i++) {
        status = tensors[i] ? wide_make(&parameters[i], tensors[i], false) : BP_OK;
    }
    status = status == BP_OK ? reference_begin(&check->values, &job->results[0].tensor, terms, 64) : status;
    for (int64_t i = 0; status == BP_OK && i < check->values.count; i++) {
        set_normalized(call, &input, parameters, &check->values.values[i]);
    }
    wide_free(&input);
    for (int i = 0; i < PARAMETERS; i++) {
        wide_free(&parameters[i]);
    }
    return status == BP_OK
               ? check_with_reference(check, job,
                                      "the largest |output - reference| / ((|input| + |mean|) |weight| / deviation + "
                                      "|bias|); the reference is computed in long double")
               : status;
}

/* ---- Linear layers ---- */

/* Adds the bias to the products, and applies the function. */
static bp_status finish_values(reference *values, const bp_linear_call *call) {
    wide bias = {.data = NULL};
    const int64_t columns = call->weight->shape[0];
    const bp_status status = call->bias ? wide_make(&bias, call->bias, false) : BP_OK;
    for (int64_t i = 0; status == BP_OK && i < values->count; i++) {
        reference_value *value = &values->values[i];
        const double added = bias.data ? bias.data[value->index % columns] : 0;
        value->re += added;
        value->scale += fabs(added);
        check_activation(values, bp_dtype_from_dlpack(call->output->dtype), call->activation, value);
    }
    wide_free(&bias);
    return status;
}

bp_status check_linear(cli_check *made, const cli_job *job) {
    const bp_linear_call *call = &job->words.described.of.linear;
    bp_view transposed;
    const int64_t shape[] = {call->weight->shape[1], call->weight->shape[0]};
    const int64_t *from = job->inputs[1].strides, strides[] = {from[1], from[0]};
    *made = (cli_check){.bound = 0};
    bp_status status = bp_view_init(&transposed, job->inputs[1].tensor.data, bp_dtype_from_dlpack(call->weight->dtype),
                                    2, shape, strides);
    status = status == BP_OK ? reference_product(&made->values, call->input, false, &transposed.tensor, false,
                                                 &job->results[0].tensor)
                             : status;
    status = status == BP_OK ? finish_values(&made->values, call) : status;
    return status == BP_OK ? check_with_reference(made, job,
                                                  "the largest |output - reference| / (|input| |weight| + |bias|); the "
                                                  "reference sums float64 products in twice float64's precision")
                           : status;
}
