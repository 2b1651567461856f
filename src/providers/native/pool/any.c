/* any.c - computes rows of outputs of any layout and geometry, with NaN, window by window or as loops over the results
 * of a tap. */
#include "forward.h"

#include <string.h>

enum { RUN = 256 }; /* results that are computed at once */

/* n results that are computed at once: of n channels, or of n positions. */
typedef struct results {
    int64_t n, out[BP_MAX_CONV_NDIM];
    int64_t x, y, i;                /* elements before the first: of the image, and of both results */
    int64_t x_step, y_step, i_step; /* elements between results */
    int64_t shift;                  /* between the indices of equal taps */
} results;

/* Reads all rows of taps. Returns the index of the first tap, -1 if there is none. */
static int64_t read_taps(const bp__pool_forward_call *w, const results *r,
                         const bp__pool_window window[BP_MAX_CONV_NDIM], void *sums, int64_t *which) {
    const bp__pool_forward *plan = w->plan;
    const bp_pool_problem *p = &plan->problem.of.pool;
    const bp__pool_window *last = &window[LAST];
    const bp__pool_row row = {r->n, r->x_step, last->count, last->step * p->x[LAST], last->step};
    const int64_t element = (int64_t)plan->kernels->element;
    const bool empty = window[0].count <= 0 || window[1].count <= 0 || last->count <= 0;
    const int64_t none = empty ? -1 : (window[0].first * p->in[1] + window[1].first) * p->in[LAST] + last->first;
    for (int64_t i = 0; which && i < r->n; i++) {
        which[i] = none;
    }
    for (int64_t a = 0; !empty && a < window[0].count; a++) {
        const int64_t i0 = window[0].first + a * window[0].step;
        for (int64_t b = 0; b < window[1].count; b++) {
            const int64_t i1 = window[1].first + b * window[1].step;
            const char *from = w->x + (r->x + i0 * p->x[0] + i1 * p->x[1] + last->first * p->x[LAST]) * element;
            if (plan->average) {
                plan->kernels->add(&row, sums, from);
            } else {
                plan->kernels->max(&row, sums, which, from, (i0 * p->in[1] + i1) * p->in[LAST] + last->first);
            }
        }
    }
    return none;
}

static void compute(const bp__pool_forward_call *w, const results *r) {
    const bp__pool_forward *plan = w->plan;
    const bp_pool_problem *p = &plan->problem.of.pool;
    bp__pool_window window[BP_MAX_CONV_NDIM];
    double sums[RUN]; /* of the type of sums */
    int64_t which[RUN];
    for (int d = 0; d < BP_MAX_CONV_NDIM; d++) {
        window[d] = bp__pool_window_of(p, d, r->out[d]);
    }
    if (plan->average) {
        memset(sums, 0, (size_t)r->n * plan->kernels->sum);
    } else {
        plan->kernels->lowest(r->n, sums);
    }
    const int64_t first = read_taps(w, r, window, sums, w->indices ? which : NULL);
    plan->kernels->store(r->n, w->y + r->y * (int64_t)plan->kernels->element, r->y_step, sums,
                         plan->average ? bp__pool_divisor(p, window) : 1);
    const int64_t shift = first < 0 ? 0 : r->shift;
    for (int64_t i = 0; w->indices && i < r->n; i++) {
        w->indices[r->i + i * r->i_step] = which[i] + i * shift;
    }
}

/* Sets the outputs of a position in a row. */
static void move_to(const bp_pool_problem *p, const bp__pool_outputs *row, results *r, int64_t out) {
    r->out[LAST] = out;
    r->y = row->y + out * p->y[LAST];
    r->i = row->i + out * p->i[LAST];
}

static void compute_channels(const bp__pool_forward_call *w, const bp__pool_outputs *row, int64_t first, int64_t end) {
    const bp_pool_problem *p = &w->plan->problem.of.pool;
    results r = {.out = {row->out[0], row->out[1]}, .x_step = 1, .y_step = 1, .i_step = 1};
    for (int64_t out = first; out < end; out++) {
        for (int64_t channel = 0; channel < p->channels; channel += RUN) {
            move_to(p, row, &r, out);
            r.n = bp__least(p->channels - channel, RUN);
            r.x = row->x + channel;
            r.y += channel;
            r.i += channel;
            compute(w, &r);
        }
    }
}

static void compute_positions(const bp__pool_forward_call *w, const bp__pool_outputs *row, int64_t first, int64_t end) {
    const bp__pool_forward *plan = w->plan;
    const bp_pool_problem *p = &plan->problem.of.pool;
    results r = {.out = {row->out[0], row->out[1]},
                 .x = row->x,
                 .x_step = p->stride[LAST] * p->x[LAST],
                 .y_step = p->y[LAST],
                 .i_step = p->i[LAST],
                 .shift = p->stride[LAST]};
    for (int64_t out = first; out < end; out += r.n) {
        const int64_t inner = bp__least(plan->high, end) - out;
        r.n = out >= plan->low && inner > 0 ? bp__least(inner, RUN) : 1;
        move_to(p, row, &r, out);
        compute(w, &r);
    }
}

void bp__pool_any(const bp__pool_forward_call *w, const bp__pool_outputs *row, int64_t first, int64_t end) {
    (w->plan->by_channels ? compute_channels : compute_positions)(w, row, first, end);
}
