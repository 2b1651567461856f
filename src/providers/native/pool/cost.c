/* cost.c - estimates the time of pooling, from times of each path on a processor with AVX2: for a vector of taps or
 * results, for a byte of memory, and for a row. */
#include "pool.h"

enum { LAST = BP_MAX_CONV_NDIM - 1 };

/* Sizes of a simplified problem. */
typedef struct sizes {
    const bp_pool_problem *p;
    const bp__pool_kernels *kernels;
    double channels, images; /* channels of an item, and all of them */
    double in, out, rows;    /* places, outputs and rows of outputs of a channel */
    double taps, row_taps;   /* of a window */
    double covers;           /* windows of a place */
    double bytes;            /* of both tensors */
    double conversion;       /* how many times longer it takes to load a vector of this type */
    bool half;               /* of 16 bits */
} sizes;

static sizes sizes_of(const bp_pool_problem *p, bp_dtype dtype, const bp__pool_kernels *kernels) {
    sizes s = {.p = p,
               .kernels = kernels,
               .channels = (double)p->channels,
               .images = (double)p->batch * (double)p->channels,
               .in = 1,
               .out = 1,
               .taps = 1,
               .covers = 1,
               .conversion = dtype == BP_BF16  ? 2
                             : dtype == BP_F16 ? 1.3
                                               : 1,
               .half = dtype < BP_F32};
    for (int d = 0; d < BP_MAX_CONV_NDIM; d++) {
        const double in = (double)p->in[d], out = (double)(p->out[d] > 0 ? p->out[d] : 1);
        const double kernel = p->adaptive ? in / out + 1 : (double)p->kernel[d];
        const double covers = p->adaptive ? out / in + 1 : kernel / (double)p->stride[d];
        s.in *= in;
        s.out *= (double)p->out[d];
        s.taps *= kernel;
        s.row_taps = kernel;
        s.covers *= covers < 1 ? 1 : covers < out ? covers : out;
    }
    s.rows = s.out / (double)(p->out[LAST] > 0 ? p->out[LAST] : 1);
    s.bytes = (s.in + s.out) * s.images * (double)kernels->element;
    return s;
}

static double vectors(const sizes *s, double lanes) {
    const int64_t width = s->kernels->lanes, count = (int64_t)lanes;
    return (double)((count + width - 1) / width);
}

/* A tap of a vector takes two operations for maxima, four for indices, one for sums. */
static double tap_ns(const sizes *s, bool average) {
    return (average ? 0.27 : s->p->has_indices ? 0.85 : 0.36) * s->conversion;
}

static double channels_ns(const sizes *s, bool average) {
    const double items = (double)s->p->batch, vector = vectors(s, s->channels);
    const double runs = s->p->adaptive ? (double)s->p->out[LAST] : s->p->padding[LAST] > 0 ? 2 : 1;
    const double indices = s->p->has_indices ? s->out * s->images * 8 : 0;
    return items * (s->out * (vector * s->taps * tap_ns(s, average) + 3) + s->rows * runs * 60) +
           0.009 * (s->bytes + indices);
}

static double positions_ns(const sizes *s, bool average) {
    const double vector = vectors(s, (double)s->p->out[LAST]), result = s->p->has_indices ? 6 : 2;
    const double stride = (double)s->p->stride[1] / (double)s->p->kernel[1];
    const double copies = s->rows * (double)s->p->in[LAST] * (double)s->p->kernel[0] * (stride < 1 ? 1 : stride);
    const double element = s->p->x[LAST] == 1 ? 0.25 : 0.6;
    return s->images * (s->rows * (70 + 2 * s->taps + vector * (s->taps * tap_ns(s, average) + result)) +
                        copies * element * (double)s->p->stride[1]);
}

/* Long rows are loops over the results of a tap, other ones loops over the taps of a result. */
static double any_ns(const sizes *s, bool average) {
    const double widen = s->conversion;
    if (s->p->channels > 1 && bp__pool_by_channels(s->p)) {
        return s->images * s->out * s->taps * widen * (average ? 2 : 3);
    }
    if (!s->p->adaptive && s->p->out[LAST] >= 4) {
        const double tap = 0.16 * (double)s->kernels->element / 4 * (s->p->has_indices ? 2.5 : 1);
        return s->images * s->rows * (45 + s->taps * (8 + (double)s->p->out[LAST] * tap));
    }
    return s->images * s->out * (40 + s->taps * widen * (average ? 0.8 : 4) + s->taps / s->row_taps * 6);
}

static double scatter_ns(const sizes *s) {
    const bool direct = s->kernels->sum == s->kernels->element, channels = bp__pool_by_channels(s->p);
    const double each = direct ? 1.3 : 2 * s->conversion, row = channels ? 0.5 : 4;
    return s->images * (s->out * each + s->rows * row) + s->images * s->in *
                                                             (direct                ? 0.02 * (double)s->kernels->element
                                                              : s->conversion > 1.5 ? 0.4
                                                                                    : 2);
}

static double spread_ns(const sizes *s) {
    if (!bp__pool_spreads(s->p, s->kernels)) {
        const double half = !s->half ? 1 : s->conversion < 1.5 ? 2.6 : 1.2; /* f16 is rounded one by one */
        return s->images * (s->out * s->taps * half + s->rows * s->taps / s->row_taps * 20 + s->in * half * 0.2);
    }
    const double vector = vectors(s, s->channels), items = (double)s->p->batch;
    const double runs = s->p->adaptive ? (double)s->p->in[LAST] / 2 : (double)s->p->stride[LAST];
    const double divisions = s->covers > 1 ? s->out * vector * 1.2 : 0;
    return items * (s->in * (vector * s->covers * 0.28 + 3) + s->in / (double)s->p->in[LAST] * runs * 90 + divisions) +
           0.01 * s->bytes;
}

double bp__pool_cost(const bp_problem *problem, const bp__pool_kernels *kernels) {
    bp_pool_problem p = problem->of.pool;
    const bool average = problem->op == BP_OP_AVG_POOL;
    if (problem->op == BP_OP_MAX_POOL || average) {
        bp__pool_simplify(&p);
    }
    const sizes s = sizes_of(&p, (bp_dtype)problem->dtype, kernels);
    if (problem->op == BP_OP_MAX_POOL_BACKWARD) {
        return 200 + scatter_ns(&s);
    }
    if (problem->op == BP_OP_AVG_POOL_BACKWARD) {
        return 300 + spread_ns(&s);
    }
    const bp__pool_rows rows = bp__pool_choose_rows(&p, kernels);
    return 200 + (rows == BP__POOL_CHANNELS    ? channels_ns(&s, average)
                  : rows == BP__POOL_POSITIONS ? positions_ns(&s, average)
                                               : any_ns(&s, average));
}
