/* conv.cl - computes convolutions: as products of matrices (implicit), or directly.
 *
 * The matrix A has a row for each output channel of a group, B a column for each position of an item, and both a place
 * for each input channel and tap. An item is an item of the batch with a group and, if the positions of Y cannot be
 * merged to one stride, some of its positions. Sums are computed in the order of channels and taps. */
#define FINISHES
#include "gemm.cl"

typedef struct convolution {
    long channels, out_channels, groups; /* of one group; number of groups */
    long in[3], out[3], taps[3];
    long stride[3], dilation[3], padding[3]; /* (o stride + t dilation - padding) / divisor is the position in X; */
    long divisor[3];                         /* only if the division is exact */
    long x_batch, x_group, x_channel, x[3];
    long w_group, w_out, w_in, w[3];
    long y_batch, y_group, y_channel, y[3];
    long first_column, columns, first_item; /* what a step copies, or direct: all units */
    long wide, panels;                      /* rows or columns of a panel, and panels of an item */
    long run;                               /* rows or columns of a work item; direct: units */
    int column_dims, reserved;              /* the last dimensions of the positions, which are columns */
} convolution;

#define INSIDE(at, d) ((at) >= 0 && (at) < p.in[d])

/* The position in X; -1: outside. */
static inline long position_of(const convolution *q, int d, long at, long tap) {
    const convolution p = *q;
    const long sum = at * p.stride[d] + tap * p.dilation[d] - p.padding[d];
    const long position = p.divisor[d] == 1 ? sum : sum % p.divisor[d] == 0 ? sum / p.divisor[d] : -1;
    return INSIDE(position, d) ? position : -1;
}

#ifdef PANELS
#define PANEL_TYPE REAL
#define TO_PANEL(x) WIDEN_A(x)
#else
#define PANEL_TYPE A_STORAGE
#define TO_PANEL(x) (x)
#endif

/* The first position of a dimension without divisor from `from` on, of `count`, whose tap is inside X; and the first
 * one after them. */
static inline long first_inside(const convolution *p, int d, long from, long count, long tap) {
    const long begin = tap * p->dilation[d] - p->padding[d];
    const long least = begin >= 0 ? 0 : (-begin + p->stride[d] - 1) / p->stride[d];
    return min(max(least - from, 0L), count);
}

static inline long end_inside(const convolution *p, int d, long from, long count, long tap) {
    const long left = p->in[d] - 1 - (tap * p->dilation[d] - p->padding[d]);
    return left < 0 ? 0 : min(max(left / p->stride[d] + 1 - from, 0L), count);
}

/* ---- Matrices ---- */
#if defined(PANELS) || defined(TILES)
/* Work items: runs of rows, which may go past the end; channels; groups. */
__kernel void copy_weights(__global const A_STORAGE *w, ulong w_first, __global PANEL_TYPE *to, ulong to_first,
                           const convolution p) {
    const long taps = p.taps[0] * p.taps[1] * p.taps[2], group = get_global_id(2), depth = p.channels * taps;
    for (long row = get_global_id(0) * p.run; row < min(((long)get_global_id(0) + 1) * p.run, p.panels * p.wide); row++) {
        const long panel = group * p.panels + row / p.wide;
        __global PANEL_TYPE *own = to + (long)to_first + panel * depth * p.wide + row % p.wide;
        __global const A_STORAGE *from = w + (long)w_first + group * p.w_group + row * p.w_out;
        for (long c = get_global_id(1); c < p.channels; c += get_global_size(1)) {
            for (long t = 0; t < taps; t++) {
                const long t2 = t % p.taps[2], t1 = t / p.taps[2] % p.taps[1], t0 = t / (p.taps[2] * p.taps[1]);
                own[(c * taps + t) * p.wide] =
                    row < p.out_channels
                        ? TO_PANEL(from[c * p.w_in + t0 * p.w[0] + t1 * p.w[1] + t2 * p.w[2]])
                        : (PANEL_TYPE)0;
            }
        }
    }
}

/* Neighbouring columns that differ in the last position only. */
typedef struct segment {
    long at[3], count;
} segment;

static inline void copy_segment(const convolution *q, __global const B_STORAGE *x, const segment *s, long t0, long t1,
                                long t2, __global PANEL_TYPE *to) {
    const convolution p = *q;
    const long x0 = position_of(q, 0, s->at[0], t0), x1 = position_of(q, 1, s->at[1], t1);
    const bool any = x0 >= 0 && x1 >= 0;
    long from = any ? 0 : s->count, end = s->count;
    x += x0 * p.x[0] + x1 * p.x[1];
    if (any && p.divisor[2] != 1) {
        for (long j = 0; j < s->count; j++) {
            const long x2 = position_of(q, 2, s->at[2] + j, t2);
            to[j] = x2 >= 0 ? TO_PANEL(x[x2 * p.x[2]]) : (PANEL_TYPE)0;
        }
        return;
    }
    if (any) {
        from = first_inside(q, 2, s->at[2], s->count, t2);
        end = max(end_inside(q, 2, s->at[2], s->count, t2), from);
    }
    const long step = p.stride[2] * p.x[2];
    __global const B_STORAGE *own = x + (s->at[2] * p.stride[2] - p.padding[2] + t2 * p.dilation[2]) * p.x[2];
    for (long j = 0; j < from; j++) {
        to[j] = (PANEL_TYPE)0;
    }
    if (step == 1) {
        for (long j = from; j < end; j++) {
            to[j] = TO_PANEL(own[j]);
        }
    } else {
        for (long j = from; j < end; j++) {
            to[j] = TO_PANEL(own[j * step]);
        }
    }
    for (long j = end; j < s->count; j++) {
        to[j] = (PANEL_TYPE)0;
    }
}

/* Work items: runs of columns, which may go past the end; channels; items. */
__kernel void copy_image(__global const B_STORAGE *x, ulong x_first, __global PANEL_TYPE *to, ulong to_first,
                         const convolution p) {
    const long taps = p.taps[0] * p.taps[1] * p.taps[2], depth = p.channels * taps, first_dim = 3 - p.column_dims;
    const long group = (p.first_item + get_global_id(2)) % p.groups;
    long rest = (p.first_item + get_global_id(2)) / p.groups;
    segment s = {{0, 0, 0}, 0};
    for (int d = first_dim - 1; d >= 0; d--) {
        s.at[d] = rest % p.out[d];
        rest /= p.out[d];
    }
    __global const B_STORAGE *from = x + (long)x_first + rest * p.x_batch + group * p.x_group;
    const long first = get_global_id(0) * p.run, end = min(first + p.run, p.panels * p.wide);
    for (long column = first; column < end; column += s.count) {
        const long panel = get_global_id(2) * p.panels + column / p.wide;
        __global PANEL_TYPE *own = to + (long)to_first + panel * depth * p.wide + column % p.wide;
        const bool inside = column < p.columns;
        long index = p.first_column + column;
        for (int d = 2; d >= first_dim; d--) {
            s.at[d] = index % p.out[d];
            index /= p.out[d];
        }
        s.count = min(end - column, p.wide - column % p.wide);
        s.count = inside ? min(min(s.count, p.columns - column), p.out[2] - s.at[2]) : s.count;
        for (long c = get_global_id(1); c < p.channels; c += get_global_size(1)) {
            for (long t = 0; t < taps; t++) {
                const long t2 = t % p.taps[2], t1 = t / p.taps[2] % p.taps[1], t0 = t / (p.taps[2] * p.taps[1]);
                __global PANEL_TYPE *line = own + (c * taps + t) * p.wide;
                if (inside) {
                    copy_segment(&p, from + c * p.x_channel, &s, t0, t1, t2, line);
                } else {
                    for (long j = 0; j < s.count; j++) {
                        line[j] = (PANEL_TYPE)0;
                    }
                }
            }
        }
    }
}
#endif

/* ---- Direct ----
 *
 * A unit is LANES neighbouring elements of a row of Y. */
#ifdef DIRECT
#define ADD_LANES(step)                                                                                                \
    for (long l = from; l < end; l++) {                                                                                \
        sum[l] = fma(weight, WIDEN_B(own[l * (step)]), sum[l]);                                                        \
    }

static inline void add_taps(const convolution *q, __global const A_STORAGE *w, __global const B_STORAGE *x,
                            const long at[3], long count, NUMBER *sum) {
    const convolution p = *q;
    for (long t0 = 0; t0 < p.taps[0]; t0++) {
        const long x0 = position_of(q, 0, at[0], t0);
        for (long t1 = 0; t1 < p.taps[1] && x0 >= 0; t1++) {
            const long x1 = position_of(q, 1, at[1], t1);
            for (long t2 = 0; t2 < p.taps[2] && x1 >= 0; t2++) {
                const NUMBER weight = WIDEN_A(w[t0 * p.w[0] + t1 * p.w[1] + t2 * p.w[2]]);
                const long step = p.stride[2] * p.x[2], line = x0 * p.x[0] + x1 * p.x[1];
                if (p.divisor[2] != 1) {
                    for (long l = 0; l < count; l++) {
                        const long x2 = position_of(q, 2, at[2] + l, t2);
                        sum[l] = x2 >= 0 ? fma(weight, WIDEN_B(x[line + x2 * p.x[2]]), sum[l]) : sum[l];
                    }
                    continue;
                }
                const long from = first_inside(q, 2, at[2], count, t2), end = end_inside(q, 2, at[2], count, t2);
                __global const B_STORAGE *own =
                    x + line + (at[2] * p.stride[2] - p.padding[2] + t2 * p.dilation[2]) * p.x[2];
                if (step == 1) {
                    INDEPENDENT
                    ADD_LANES(1)
                } else {
                    ADD_LANES(step)
                }
            }
        }
    }
}

__kernel void convolve(__global const A_STORAGE *w, ulong w_first, __global const B_STORAGE *x, ulong x_first,
                       __global C_STORAGE *y, ulong y_first, __global const C_STORAGE *bias, ulong bias_first,
                       const convolution p, const finish f) {
    const long chunks = (p.out[2] + LANES - 1) / LANES;
    for (long run = get_global_id(0); run * p.run < p.columns; run += get_global_size(0)) {
        for (long unit = run * p.run; unit < min((run + 1) * p.run, p.columns); unit++) {
            long rest = unit / chunks, at[3];
            NUMBER sum[LANES];
            at[2] = unit % chunks * LANES;
            at[1] = rest % p.out[1];
            rest /= p.out[1];
            at[0] = rest % p.out[0];
            rest /= p.out[0];
            const long channel = rest % p.out_channels, group = rest / p.out_channels % p.groups,
                       item = rest / p.out_channels / p.groups, count = min((long)LANES, p.out[2] - at[2]);
            for (int l = 0; l < LANES; l++) {
                sum[l] = 0;
            }
            for (long c = 0; c < p.channels; c++) {
                add_taps(&p, w + (long)w_first + group * p.w_group + channel * p.w_out + c * p.w_in,
                         x + (long)x_first + item * p.x_batch + group * p.x_group + c * p.x_channel, at, count, sum);
            }
            const NUMBER added =
                f.has_bias ? WIDEN_C(bias[(long)bias_first + (group * p.out_channels + channel) * f.bias]) : ZERO;
            __global C_STORAGE *to = y + (long)y_first + item * p.y_batch + group * p.y_group + channel * p.y_channel +
                                     at[0] * p.y[0] + at[1] * p.y[1] + at[2] * p.y[2];
            for (long l = 0; l < count; l++) {
                const NUMBER result = sum[l] + added;
                to[l * p.y[2]] = NARROW_C(FINISHED(NUMBER, result));
            }
        }
    }
}
#endif
