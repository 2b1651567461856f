/* window.c - computes the windows of pooling. */
#include "pool.h"

#include <string.h>

static int64_t divide_up(int64_t a, int64_t b) {
    return (a + b - 1) / b;
}

bp__pool_window bp__pool_window_of(const bp_pool_problem *pool, int d, int64_t out) {
    const int64_t in = pool->in[d];
    if (pool->adaptive) {
        const int64_t first = out * in / pool->out[d], end = divide_up((out + 1) * in, pool->out[d]);
        return (bp__pool_window){.first = first, .count = end - first, .step = 1, .size = end - first};
    }
    const int64_t step = pool->dilation[d], begin = out * pool->stride[d] - pool->padding[d];
    const int64_t end = begin + (pool->kernel[d] - 1) * step + 1, inside = bp__least(end, in);
    const int64_t first = begin < 0 ? begin + divide_up(-begin, step) * step : begin;
    return (bp__pool_window){.first = first,
                             .count = inside > first ? divide_up(inside - first, step) : 0,
                             .step = step,
                             .size = bp__least(end, in + pool->padding[d]) - begin};
}

static void join_rows(bp_pool_problem *p) {
    enum { D = BP_MAX_CONV_NDIM - 1 };
    for (int d = D - 1; d >= 0; d--) {
        const bool whole = p->out[d] == 1 && p->out[D] == 1 && p->kernel[d] == p->in[d] && p->kernel[D] == p->in[D] &&
                           p->padding[d] == 0 && p->padding[D] == 0 && p->dilation[d] == 1 && p->dilation[D] == 1;
        if (!whole || (p->in[d] > 1 && p->x[d] != p->in[D] * p->x[D])) {
            return;
        }
        p->in[D] *= p->in[d];
        p->kernel[D] = p->in[D];
        p->in[d] = p->kernel[d] = 1;
    }
}

void bp__pool_simplify(bp_pool_problem *p) {
    bool even = p->adaptive;
    for (int d = 0; d < BP_MAX_CONV_NDIM && even; d++) {
        even = p->out[d] > 0 && p->in[d] % p->out[d] == 0;
    }
    for (int d = 0; d < BP_MAX_CONV_NDIM && even; d++) {
        p->kernel[d] = p->in[d] / p->out[d];
        p->stride[d] = p->out[d] == 1 ? 1 : p->kernel[d];
        p->dilation[d] = 1;
        p->padding[d] = 0;
    }
    p->adaptive = p->adaptive && !even;
    if (!p->adaptive) {
        join_rows(p);
    }
}

void bp__pool_inner(const bp_pool_problem *pool, int64_t *low, int64_t *high) {
    enum { D = BP_MAX_CONV_NDIM - 1 };
    const int64_t stride = pool->stride[D];
    *low = *high = 0;
    if (pool->adaptive) {
        return;
    }
    const int64_t last = pool->in[D] + pool->padding[D] - (pool->kernel[D] - 1) * pool->dilation[D] - 1;
    const int64_t first = divide_up(pool->padding[D], stride);
    if (last >= 0 && first < pool->out[D]) {
        *low = first;
        *high = bp__least(last / stride + 1, pool->out[D]);
        *high = *high < first ? first : *high;
    }
}

double bp__pool_divisor(const bp_pool_problem *pool, const bp__pool_window window[BP_MAX_CONV_NDIM]) {
    if (pool->divisor != 0) {
        return (double)pool->divisor;
    }
    double elements = 1;
    for (int d = 0; d < BP_MAX_CONV_NDIM; d++) {
        elements *= (double)(pool->exclude_padding ? window[d].count : window[d].size);
    }
    return elements > 0 ? elements : 1; /* an empty window has the sum 0 */
}

bool bp__pool_is_power(double divisor) {
    uint64_t bits;
    memcpy(&bits, &divisor, sizeof bits);
    return divisor != 0 && bits << 12 == 0;
}

void bp__pool_join_rows(bp__pool_run *run, bp__pool_taps *taps) {
    enum { MOST = sizeof taps->tap / sizeof *taps->tap };
    if (run->rows[0] > MOST || run->rows[1] > MOST || run->taps > MOST ||
        run->rows[0] * run->rows[1] * run->taps > MOST) {
        return;
    }
    int64_t count = 0;
    for (int64_t a = 0; a < run->rows[0]; a++) {
        for (int64_t b = 0; b < run->rows[1]; b++) {
            for (int64_t t = 0; t < run->taps; t++, count++) {
                taps->tap[count] = a * run->row_step[0] + b * run->row_step[1] + run->tap[t];
                taps->place[count] = a * run->row_place[0] + b * run->row_place[1] + run->place[t];
            }
        }
    }
    run->tap = taps->tap;
    run->place = taps->place;
    run->taps = count;
    run->rows[0] = run->rows[1] = 1;
}

bool bp__pool_by_channels(const bp_pool_problem *pool) {
    return pool->channels > 1 && pool->x_channel == 1 && pool->y_channel == 1 &&
           (!pool->has_indices || pool->i_channel == 1);
}
