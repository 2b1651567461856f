/* pool.cl - computes maxima and averages of windows.
 *
 * X is the type of the elements, INDEX the type of indices and offsets. A work item takes `run` neighbouring results, in
 * the order of items, channels and positions. A window's elements are read in the order of their indices. */
#include "common.cl"

#define STORAGE JOIN(storage, X)
#define REAL JOIN(number, X)
#define WIDEN(x) JOIN(widen, X)(x)
#define NARROW(x) JOIN(narrow, X)(x)

#ifndef INDEX
#define INDEX long
#endif

typedef struct pooling {
    INDEX total, run; /* results, and results of a work item */
    INDEX channels;
    INDEX in[3], out[3], taps[3], stride[3], dilation[3], padding[3];
    INDEX x_batch, x_channel, x[3];
    INDEX y_batch, y_channel, y[3];
    INDEX i_batch, i_channel, i[3];
    INDEX divisor;
    int adaptive, has_indices, exclude_padding, reserved;
} pooling;

/* The part of a window that is inside the input: elements first, first + step, ... `size` counts padding too. */
typedef struct window {
    INDEX first, count, step, size;
} window;

static inline window window_of(const pooling *p, int d, INDEX out) {
    window w = {0, 0, 1, 0};
    if (p->adaptive) {
        w.first = out * p->in[d] / p->out[d];
        w.count = ((out + 1) * p->in[d] + p->out[d] - 1) / p->out[d] - w.first;
        w.size = w.count;
    } else {
        const INDEX begin = out * p->stride[d] - p->padding[d];
        const INDEX end = begin + (p->taps[d] - 1) * p->dilation[d] + 1, inside = min(end, p->in[d]);
        w.step = p->dilation[d];
        w.first = begin < 0 ? begin + (w.step - 1 - begin) / w.step * w.step : begin;
        w.count = inside > w.first ? (inside - w.first + w.step - 1) / w.step : 0;
        w.size = min(end, p->in[d] + p->padding[d]) - begin;
    }
    return w;
}

/* One result: its windows, and the offsets of its channel and of itself. */
typedef struct result {
    window w[3];
    INDEX x, y, i;
} result;

static inline result result_at(const pooling *p, INDEX index) {
    result r;
    r.y = r.i = 0;
    for (int d = 2; d >= 0; d--) {
        const INDEX out = index % p->out[d];
        index /= p->out[d];
        r.w[d] = window_of(p, d, out);
        r.y += out * p->y[d];
        r.i += out * p->i[d];
    }
    const INDEX channel = index % p->channels, item = index / p->channels;
    r.x = item * p->x_batch + channel * p->x_channel;
    r.y += item * p->y_batch + channel * p->y_channel;
    r.i += item * p->i_batch + channel * p->i_channel;
    return r;
}

#define EACH_RESULT(p)                                                                                                 \
    for (INDEX begin = (INDEX)get_global_id(0) * (p).run; begin < (p).total;                                           \
         begin += (INDEX)get_global_size(0) * (p).run)                                                                 \
        for (INDEX at = begin, end = min(begin + (p).run, (p).total); at < end; at++)

/* Loops over the rows of a window: `from` is the offset of the row's first element, `place` its index. */
#define EACH_ROW(p, r)                                                                                                 \
    for (INDEX a = 0; a < (r).w[0].count; a++)                                                                         \
        for (INDEX b = 0, from, place; b < (r).w[1].count && (find_row(&(p), &(r), a, b, &from, &place), true); b++)

static inline void find_row(const pooling *p, const result *r, INDEX a, INDEX b, INDEX *from, INDEX *place) {
    const INDEX i0 = r->w[0].first + a * r->w[0].step, i1 = r->w[1].first + b * r->w[1].step;
    *from = r->x + i0 * p->x[0] + i1 * p->x[1] + r->w[2].first * p->x[2];
    *place = (i0 * p->in[1] + i1) * p->in[2] + r->w[2].first;
}

/* The first of equal elements, the last NaN. An empty window has the index -1. */
__kernel void max_pool(__global const STORAGE *x, ulong x_first, __global STORAGE *y, ulong y_first,
                       __global long *indices, ulong indices_first, const pooling p) {
    x += (long)x_first;
    EACH_RESULT(p) {
        const result r = result_at(&p, at);
        REAL best = -(REAL)INFINITY;
        INDEX index = -1;
        EACH_ROW(p, r) {
            for (INDEX t = 0; t < r.w[2].count; t++) {
                const REAL value = WIDEN(x[from + t * r.w[2].step * p.x[2]]);
                const bool better = value > best || value != value;
                best = better ? value : best;
                index = better || index < 0 ? place + t * r.w[2].step : index;
            }
        }
        y[(long)y_first + r.y] = NARROW(best);
        if (p.has_indices) {
            indices[(long)indices_first + r.i] = index;
        }
    }
}

static inline INDEX divisor_of(const pooling *p, const result *r) {
    INDEX elements = 1;
    for (int d = 0; d < 3; d++) {
        elements *= p->exclude_padding ? r->w[d].count : r->w[d].size;
    }
    return p->divisor != 0 ? p->divisor : elements > 0 ? elements : 1; /* an empty window has the sum 0 */
}

__kernel void avg_pool(__global const STORAGE *x, ulong x_first, __global STORAGE *y, ulong y_first, const pooling p) {
    x += (long)x_first;
    EACH_RESULT(p) {
        const result r = result_at(&p, at);
        REAL sum = 0;
        EACH_ROW(p, r) {
            for (INDEX t = 0; t < r.w[2].count; t++) {
                sum += WIDEN(x[from + t * r.w[2].step * p.x[2]]);
            }
        }
        y[(long)y_first + r.y] = NARROW(sum / (REAL)divisor_of(&p, &r));
    }
}
