/* channels.c - computes rows of outputs whose channels are contiguous. */
#include "forward.h"

/* Computes the outputs first to end - 1, whose windows have the shape of the first one. Returns false if maxima are not
 * complete. */
static bool compute(const bp__pool_forward_call *w, const bp__pool_outputs *row,
                    bp__pool_window window[BP_MAX_CONV_NDIM], int64_t first, int64_t end) {
    const bp__pool_forward *plan = w->plan;
    const bp_pool_problem *p = &plan->problem.of.pool;
    const int64_t element = (int64_t)plan->kernels->element;
    bp__pool_taps taps;
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
                        .taps = window[LAST].count,
                        .tap = plan->tap,
                        .place = plan->tap + plan->taps,
                        .first = window[LAST].first};
    int64_t at = row->x + window[LAST].first * p->x[LAST], places = p->in[LAST];
    for (int d = LAST - 1; d >= 0; d--) {
        at += window[d].first * p->x[d];
        run.first += window[d].first * places;
        run.rows[d] = window[d].count;
        run.row_step[d] = window[d].step * p->x[d];
        run.row_place[d] = window[d].step * places;
        places *= p->in[d];
    }
    run.x = w->x + at * element;
    bp__pool_join_rows(&run, &taps);
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
