/* positions.c - computes rows of outputs of one channel, with vectors along the row.
 *
 * The rows of the image that a block of outputs needs are copied first: padded, so that all windows are complete, and
 * split into parts whose places are a stride apart, so that the taps of neighbouring outputs are neighbours. */
#include "forward.h"

enum { UNIT_BYTES = 24 * 1024 }; /* most copied bytes of a unit, unless one row of outputs needs more */

/* A unit: rows of outputs of one channel, and the part of the image that they read. */
typedef struct unit {
    bp__pool_outputs row; /* the first one */
    int64_t rows, first;  /* and the first row of the image, in the middle dimension */
    bp__pool_window window[BP_MAX_CONV_NDIM];
    char *image, *results;
    void *divisors;
    int64_t *indices;
    double rest; /* the divisors' part of the first dimensions; 0: not computed yet */
} unit;

/* ---- Copies ---- */

/* The elements of a part that windows have end at `plan->needed`. Those behind it, which fill the last vector, are 0,
 * so that each lane has a maximum. */
static void copy_row(const bp__pool_forward *plan, char *to, const char *from) {
    const bp_pool_problem *p = &plan->problem.of.pool;
    const int64_t stride = p->stride[LAST], padding = p->padding[LAST], element = (int64_t)plan->kernels->element;
    const int64_t outs = p->out[LAST];
    for (int64_t phase = 0; phase < plan->phases; phase++, to += plan->pitch * element) {
        const int64_t before = padding > phase ? (padding - phase + stride - 1) / stride : 0;
        const int64_t start = before * stride + phase - padding; /* the first place of the image */
        const int64_t all = start < p->in[LAST] ? (p->in[LAST] - start + stride - 1) / stride : 0;
        const int64_t low = bp__least(before, plan->needed), count = bp__least(all, plan->needed - low);
        const int64_t after = plan->needed - low - count, rest = outs < plan->kernels->lanes ? plan->kernels->lanes : 0;
        if (low > 0) {
            plan->kernels->pad(low, to, !plan->average);
        }
        plan->kernels->copy(count, to + low * element, 1, from + start * p->x[LAST] * element, stride * p->x[LAST]);
        if (after + rest > 0) {
            plan->kernels->pad(after, to + (low + count) * element, !plan->average);
            plan->kernels->pad(rest, to + plan->needed * element, false);
        }
    }
}

static void copy_image(const bp__pool_forward_call *w, unit *u) {
    const bp__pool_forward *plan = w->plan;
    const bp_pool_problem *p = &plan->problem.of.pool;
    const int64_t element = (int64_t)plan->kernels->element, row_bytes = plan->phases * plan->pitch * element;
    const int64_t last = (u->row.out[1] + u->rows - 1) * p->stride[1] - p->padding[1],
                  end = bp__least(last + (p->kernel[1] - 1) * p->dilation[1] + 1, p->in[1]);
    for (int64_t a = 0; a < u->window[0].count; a++) {
        const int64_t i0 = u->window[0].first + a * u->window[0].step;
        for (int64_t i1 = u->first; i1 < end; i1++) {
            copy_row(plan, u->image + (a * plan->image_rows + i1 - u->first) * row_bytes,
                     w->x + (u->row.x + i0 * p->x[0] + i1 * p->x[1]) * element);
        }
    }
}

/* ---- Rows ---- */

static void set_divisors(const bp__pool_forward *plan, unit *u, bp__pool_run *run) {
    const bp_pool_problem *p = &plan->problem.of.pool;
    double rest = 1;
    for (int d = 0; d < LAST; d++) {
        rest *= (double)(p->exclude_padding ? u->window[d].count : u->window[d].size);
    }
    if (plan->even) {
        run->divisor = p->divisor != 0 ? (double)p->divisor : rest * plan->sizes[0];
        run->exact = bp__pool_is_power(run->divisor);
        return;
    }
    if (rest != u->rest) {
        plan->kernels->divisors(p->out[LAST] + plan->kernels->lanes, u->divisors, plan->sizes, rest);
        u->rest = rest;
    }
    run->divisor = 1;
    run->divisors = u->divisors;
}

/* Computes a row into the results of the unit or to where it belongs. Returns false if maxima are not complete. */
static bool compute_row(const bp__pool_forward_call *w, unit *u, const bp__pool_outputs *row) {
    const bp__pool_forward *plan = w->plan;
    const bp_pool_problem *p = &plan->problem.of.pool;
    const int64_t element = (int64_t)plan->kernels->element, outs = p->out[LAST];
    const int64_t pitch = plan->phases * plan->pitch;
    const bool whole = outs >= plan->kernels->lanes, to_y = whole && p->y[LAST] == 1,
               to_indices = whole && p->i[LAST] == 1;
    bp__pool_taps taps;
    const bp__pool_window *window = u->window;
    if (window[0].count <= 0 || window[1].count <= 0) {
        return false;
    }
    bp__pool_run run = {.x = plan->in_place
                                 ? w->x + (row->x + window[0].first * p->x[0] + window[1].first * p->x[1]) * element
                                 : u->image + (window[1].first - u->first) * pitch * element,
                        .y = to_y ? w->y + row->y * element : u->results,
                        .indices = !w->indices  ? NULL
                                   : to_indices ? w->indices + row->i
                                                : u->indices,
                        .lanes = whole ? outs : plan->kernels->lanes,
                        .windows = 1,
                        .rows = {window[0].count, window[1].count},
                        .row_step = {plan->in_place ? window[0].step * p->x[0] : plan->image_rows * pitch,
                                     window[1].step * (plan->in_place ? p->x[1] : pitch)},
                        .row_place = {window[0].step * p->in[1] * p->in[LAST], window[1].step * p->in[LAST]},
                        .taps = plan->taps,
                        .tap = plan->tap,
                        .place = plan->tap + plan->taps,
                        .first = (window[0].first * p->in[1] + window[1].first) * p->in[LAST] - p->padding[LAST],
                        .place_lane = p->stride[LAST]};
    bp__pool_join_rows(&run, &taps);
    if (plan->average) {
        set_divisors(plan, u, &run);
        plan->kernels->average_run(&run);
    } else if (!plan->kernels->max_run(&run)) {
        return false;
    }
    if (!to_y) {
        plan->kernels->copy(outs, w->y + row->y * element, p->y[LAST], u->results, 1);
    }
    for (int64_t o = 0; w->indices && !to_indices && o < outs; o++) {
        w->indices[row->i + o * p->i[LAST]] = u->indices[o];
    }
    return true;
}

void bp__pool_positions(const bp__pool_forward_call *w, int64_t index, char *workspace) {
    const bp__pool_forward *plan = w->plan;
    const bp_pool_problem *p = &plan->problem.of.pool;
    const int64_t blocks = (p->out[1] + plan->block - 1) / plan->block, first = index % blocks * plan->block;
    const int64_t o0 = index / blocks % p->out[0], image = index / blocks / p->out[0];
    const int64_t item = image / p->channels, channel = image % p->channels;
    const int64_t width = p->out[LAST] + plan->kernels->lanes;
    bp__pool_outputs row = {.out = {o0, first},
                            .x = item * p->x_batch + channel * p->x_channel,
                            .y = item * p->y_batch + channel * p->y_channel + o0 * p->y[0] + first * p->y[1],
                            .i = item * p->i_batch + channel * p->i_channel + o0 * p->i[0] + first * p->i[1]};
    unit u = {.row = row,
              .rows = bp__least(plan->block, p->out[1] - first),
              .window = {bp__pool_window_of(p, 0, o0)},
              .image = workspace,
              .indices = (int64_t *)(void *)(workspace + plan->image_bytes)};
    u.divisors = u.indices + width;
    u.results = (char *)(u.indices + 2 * width);
    u.first = first * p->stride[1] > p->padding[1] ? first * p->stride[1] - p->padding[1] : 0;
    if (!plan->in_place) {
        copy_image(w, &u);
    }
    for (int64_t o = 0; o < u.rows; o++) {
        row.out[1] = first + o;
        u.window[1] = bp__pool_window_of(p, 1, row.out[1]);
        if (!compute_row(w, &u, &row)) {
            bp__pool_any(w, &row, 0, p->out[LAST]);
        }
        row.y += p->y[1];
        row.i += p->i[1];
    }
}

/* ---- Plans ---- */

void bp__pool_plan_positions(bp__pool_forward *plan) {
    const bp_pool_problem *p = &plan->problem.of.pool;
    const int64_t stride = p->stride[LAST], element = (int64_t)plan->kernels->element, outs = p->out[LAST];
    const int64_t span = (p->kernel[1] - 1) * p->dilation[1] + 1;
    const int64_t width = (p->kernel[LAST] - 1) * p->dilation[LAST] + 1;
    plan->in_place = stride == 1 && p->padding[LAST] == 0 && p->x[LAST] == 1 && outs >= plan->kernels->lanes;
    plan->phases = bp__least(stride, width);
    plan->needed = outs + (width - 1) / stride;
    plan->pitch = plan->needed + plan->kernels->lanes;
    for (int64_t t = 0; t < plan->taps; t++) {
        const int64_t place = t * p->dilation[LAST];
        plan->tap[t] = plan->in_place ? place : place % stride * plan->pitch + place / stride;
        plan->tap[plan->taps + t] = place;
    }
    const int64_t row_bytes = plan->phases * plan->pitch * element * bp__least(p->kernel[0], p->in[0]);
    const int64_t rows = row_bytes > 0 ? UNIT_BYTES / row_bytes : 1;
    plan->block = bp__least(rows > span ? (rows - span) / p->stride[1] + 1 : 1, p->out[1] > 0 ? p->out[1] : 1);
    plan->image_rows = bp__least((plan->block - 1) * p->stride[1] + span, p->in[1]);
    plan->image_bytes = plan->in_place ? 0 : ((size_t)(row_bytes * plan->image_rows) + 63) / 64 * 64;
    double *sizes = (double *)(void *)(plan->tap + 2 * plan->taps);
    plan->sizes = sizes;
    plan->even = true;
    for (int64_t o = 0; o < outs + plan->kernels->lanes; o++) {
        const bp__pool_window window = bp__pool_window_of(p, LAST, o < outs ? o : outs - 1);
        sizes[o] = (double)(p->exclude_padding ? window.count : window.size);
        plan->even = plan->even && (p->divisor != 0 || sizes[o] == sizes[0]);
    }
    plan->thread_bytes =
        plan->image_bytes + ((size_t)(3 * (outs + plan->kernels->lanes)) * sizeof(int64_t) + 63) / 64 * 64;
    plan->base.workspace = (size_t)plan->threads * plan->thread_bytes;
    plan->units = p->batch * p->channels * p->out[0] * ((p->out[1] + plan->block - 1) / plan->block);
}
