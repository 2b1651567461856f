/* channels.c - computes rows of outputs whose channels are contiguous. */
#include "forward.h"

/* Computes the outputs first to end - 1, whose windows have the shape of the first one. Returns false if maxima are not
 * complete. */
static bool compute(const bp__pool_forward_call *w, const bp__pool_outputs *row, bp__pool_window window[BP_MAX_CONV_NDIM],
                    int64_t first, int64_t end) {
    const bp__pool_forward *plan = w->plan;
    const bp_pool_problem *p = &plan->problem.of.pool;
    const int64_t element = (int64_t)plan->kernels->element;
    window[LAST] = bp__pool_window_of(p, LAST, first);
    if (window[0].count <= 0 || window[1].count <= 0 || window[LAST].count <= 0) {
        return false;
    }
    bp__pool_run run = {.y = w->y + (row->y + first * p->y[LAST]) * element,
                        .indices = w->indices ? w->indices + row->i + first * p->i[LAST] : NULL,
                        .lanes = p->channels,
                        .windows = end - first,
                        .x_step = p->stride[LAST] * p->x[LAST],
                        .y_step = p->y[LAST],
                        .i_step = p->i[LAST],
                        .place_step = p->stride[LAST],
                        .tap = plan->tap};
    int64_t at = row->x, places = 1;
    for (int d = LAST; d >= 0; d--) {
        at += window[d].first * p->x[d];
        run.first += window[d].first * places;
        run.place[d] = window[d].step * places;
        run.count[d] = window[d].count;
        places *= p->in[d];
    }
    run.step[0] = window[0].step * p->x[0];
    run.step[1] = window[1].step * p->x[1];
    run.x = w->x + at * element;
    if (!plan->average) {
        return plan->kernels->max_run(&run);
    }
    run.divisor = bp__pool_divisor(p, window);
    run.exact = bp__pool_is_power(run.divisor);
    plan->kernels->average_run(&run);
    return true;
}

void bp__pool_channels(const bp__pool_forward_call *w, const bp__pool_outputs *row) {
    const bp__pool_forward *plan = w->plan;
    const bp_pool_problem *p = &plan->problem.of.pool;
    bp__pool_window window[BP_MAX_CONV_NDIM];
    for (int d = 0; d < LAST; d++) {
        window[d] = bp__pool_window_of(p, d, row->out[d]);
    }
    for (int64_t out = 0, end; out < p->out[LAST]; out = end) {
        end = out >= plan->low && out < plan->high ? plan->high : out + 1;
        if (!compute(w, row, window, out, end)) {
            bp__pool_any(w, row, out, end);
        }
    }
}
