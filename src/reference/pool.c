/* pool.c - computes pooling and its gradients one element at a time. */
#include "reference/pool.h"

#include "reference/results.h"

#include <math.h>
#include <stdlib.h>

/* Sizes have three positions; those that the call lacks are 1. */
struct reference_pool {
    const bp_pool_call *call;
    int64_t in[3], out[3], channels; /* channels: of all items */
    wide_tensor values;              /* the input, or the gradient by the output */
    wholes indices;
};

/* The inputs of an output in one dimension: `count` of them from `first` on, `step` apart. Those from `counted` on are
 * behind the padding. */
typedef struct span {
    int64_t first, step, count, counted;
} span;

static span span_of(const reference_pool *p, int d, int64_t out) {
    const bp_pool_call *call = p->call;
    const int from = d - (3 - call->ndim);
    if (from < 0) {
        return (span){0, 1, 1, 1};
    }
    if (call->output_size) {
        const int64_t first = out * p->in[d] / p->out[d], end = ((out + 1) * p->in[d] + p->out[d] - 1) / p->out[d];
        return (span){first, 1, end - first, end - first};
    }
    const int64_t stride = call->stride ? call->stride[from] : call->kernel[from];
    const int64_t padding = call->padding ? call->padding[from] : 0, step = call->dilation ? call->dilation[from] : 1;
    span s = {out * stride - padding, step, call->kernel[from], 0};
    while (s.counted < s.count && s.first + s.counted * step < p->in[d] + padding) {
        s.counted++;
    }
    return s;
}

/* The window of one output: its channel, and in each dimension its inputs. */
typedef struct window {
    int64_t channel, counted;
    span of[3];
} window;

static window window_of(const reference_pool *p, int64_t output) {
    const int64_t positions = p->out[0] * p->out[1] * p->out[2], position = output % positions;
    const int64_t at[] = {position / (p->out[1] * p->out[2]), position / p->out[2] % p->out[1], position % p->out[2]};
    window w = {.channel = output / positions, .counted = 1};
    for (int d = 0; d < 3; d++) {
        w.of[d] = span_of(p, d, at[d]);
        w.counted *= w.of[d].counted;
    }
    return w;
}

static int64_t taps_of(const window *w) {
    return w->of[0].count * w->of[1].count * w->of[2].count;
}

/* Returns the place in the channel of a tap; -1 if it is in the padding. */
static int64_t place_of(const reference_pool *p, const window *w, int64_t tap) {
    const int64_t of[] = {tap / (w->of[1].count * w->of[2].count), tap / w->of[2].count % w->of[1].count,
                          tap % w->of[2].count};
    int64_t place = 0;
    for (int d = 0; d < 3; d++) {
        const int64_t i = w->of[d].first + of[d] * w->of[d].step;
        if (i < 0 || i >= p->in[d]) {
            return -1;
        }
        place = place * p->in[d] + i;
    }
    return place;
}

static long double divisor_of(const reference_pool *p, const window *w) {
    int64_t inside = 0;
    for (int64_t tap = 0; tap < taps_of(w); tap++) {
        inside += place_of(p, w, tap) >= 0;
    }
    return (long double)(p->call->divisor ? p->call->divisor : p->call->exclude_padding ? inside : w->counted);
}

static void add_element(reference_window *made, int64_t place, long double x) {
    made->index = made->index < 0 ? place : made->index;
    if (x > made->most || isnan(x)) {
        made->most = x;
        made->index = place;
    }
    made->sum += x;
    made->size += fabsl(x);
    made->inside++;
}

reference_window reference_pool_window(const reference_pool *p, int64_t output) {
    const window w = window_of(p, output);
    const double *channel = p->values.data + w.channel * p->in[0] * p->in[1] * p->in[2];
    reference_window made = {.divisor = divisor_of(p, &w), .most = -HUGE_VALL, .index = -1};
    for (int64_t tap = 0; tap < taps_of(&w); tap++) {
        const int64_t place = place_of(p, &w, tap);
        if (place >= 0) {
            add_element(&made, place, (long double)channel[place]);
        }
    }
    return made;
}

/* ---- Gradients ---- */

/* A term of an element of the gradient. */
static void add_term(reference_number *to, int64_t *terms, long double value) {
    to->value += value;
    to->error += fabsl(value);
    ++*terms;
}

static void add_average(const reference_pool *p, int64_t output, reference_number *gradient, int64_t *terms) {
    const window w = window_of(p, output);
    const int64_t first = w.channel * p->in[0] * p->in[1] * p->in[2];
    const long double part = (long double)p->values.data[output] / divisor_of(p, &w);
    for (int64_t tap = 0; tap < taps_of(&w); tap++) {
        const int64_t place = place_of(p, &w, tap);
        if (place >= 0) {
            add_term(&gradient[first + place], &terms[first + place], part);
        }
    }
}

static void add_maximum(const reference_pool *p, int64_t output, reference_number *gradient, int64_t *terms) {
    const int64_t channel = output / (p->out[0] * p->out[1] * p->out[2]), size = p->in[0] * p->in[1] * p->in[2];
    const int64_t place = p->indices.data[output];
    if (place >= 0 && place < size) {
        add_term(&gradient[channel * size + place], &terms[channel * size + place],
                 (long double)p->values.data[output]);
    }
}

bp_status reference_pool_gradient(const reference_pool *p, long double unit, reference_number *gradient) {
    const int64_t all = p->channels * p->in[0] * p->in[1] * p->in[2];
    int64_t *terms = calloc((size_t)all + 1, sizeof *terms);
    if (!terms) {
        return BP_E_NO_MEMORY;
    }
    for (int64_t i = 0; i < p->values.count; i++) {
        (p->call->kind == BP_POOL_MAX ? add_maximum : add_average)(p, i, gradient, terms);
    }
    for (int64_t i = 0; i < all; i++) {
        gradient[i].error *= unit * (long double)(terms[i] + 4); /* each term is divided, and added */
    }
    free(terms);
    return BP_OK;
}

/* ---- The call ---- */

double reference_pool_work(const reference_pool *p) {
    double work = (double)p->channels;
    for (int d = 0; d < 3; d++) {
        const int from = d - (3 - p->call->ndim);
        const double taps = from < 0               ? 1
                            : p->call->output_size ? (double)p->in[d] / (double)(p->out[d] > 0 ? p->out[d] : 1) + 2
                                                   : (double)p->call->kernel[from];
        work *= (double)p->out[d] * taps;
    }
    return work;
}

bp_status reference_pool_open(reference_pool **made, const bp_pool_call *call) {
    const bool forward = call->pass == BP_POOL_FORWARD;
    const DLTensor *in = forward ? call->input : call->input_gradient;
    const DLTensor *out = forward ? call->output : call->output_gradient;
    reference_pool *p = *made = calloc(1, sizeof *p);
    if (!p) {
        return BP_E_NO_MEMORY;
    }
    p->call = call;
    p->channels = 1;
    for (int d = 0; d < in->ndim - call->ndim; d++) {
        p->channels *= in->shape[d];
    }
    for (int d = 0; d < 3; d++) {
        const int from = d - (3 - call->ndim);
        p->in[d] = from >= 0 ? in->shape[in->ndim - call->ndim + from] : 1;
        p->out[d] = from >= 0 ? out->shape[out->ndim - call->ndim + from] : 1;
    }
    const bp_status status = wide_make(&p->values, forward ? in : out, false);
    return status == BP_OK && !forward && call->indices ? wholes_make(&p->indices, call->indices) : status;
}

void reference_pool_close(reference_pool *p) {
    if (p) {
        wide_free(&p->values);
        wholes_free(&p->indices);
        free(p);
    }
}

/* ---- Results ---- */

/* Maxima are exact. */
static reference_number output_element(void *user, int64_t index) {
    const reference_pool *p = user;
    const reference_window w = reference_pool_window(p, index);
    if (p->call->kind == BP_POOL_MAX) {
        return (reference_number){w.most, -1};
    }
    /* A divisor that is computed as a factor has a rounding. */
    const reference_number sum = reference_sum_number((reference_sum){w.sum, w.size}, w.inside + 1,
                                                      bp_dtype_from_dlpack(p->call->output->dtype));
    return (reference_number){sum.value / w.divisor, sum.error / fabsl(w.divisor)};
}

static int64_t index_element(void *user, int64_t index) {
    return reference_pool_window(user, index).index;
}

static bp_status add_gradient(reference_results *made, const reference_pool *p) {
    const DLTensor *out = p->call->input_gradient;
    reference_number *numbers = reference_numbers(reference_count(out));
    bp_status status = numbers ? BP_OK : BP_E_NO_MEMORY;
    const long double unit = (long double)reference_sum_unit(bp_dtype_from_dlpack(out->dtype));
    status = status == BP_OK ? reference_pool_gradient(p, unit, numbers) : status;
    status = status == BP_OK ? reference_add_numbers(made, "input_gradient", out, numbers) : status;
    free(numbers);
    return status;
}

/* More for one window is not affordable for those that are checked at least. */
enum { MOST_WINDOW = 1 << 22 };

bp_status reference_of_pool(reference_results *made, const bp_pool_call *call) {
    reference_pool *p;
    *made = (reference_results){.count = 0};
    bp_status status = reference_pool_open(&p, call);
    if (status == BP_OK && call->pass == BP_POOL_FORWARD) {
        const int64_t outputs = reference_count(call->output);
        const double taps = reference_pool_work(p) / (double)(outputs > 0 ? outputs : 1);
        const int64_t work = taps < MOST_WINDOW ? (int64_t)taps + 1 : 0;
        status = work > 0 ? reference_add_result(made, "output", call->output, work, output_element, p) : BP_OK;
        status = work > 0 && status == BP_OK && call->indices
                     ? reference_add_wholes(made, "indices", call->indices, work, index_element, p)
                     : status;
    } else if (status == BP_OK && reference_pool_work(p) <= (double)REFERENCE_MOST_WORK) {
        status = add_gradient(made, p);
    }
    reference_pool_close(p);
    return status;
}
