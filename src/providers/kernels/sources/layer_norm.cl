/* layer_norm.cl - normalizes rows with their own mean and variance.
 *
 * X is the type of the elements, P the type of weight, bias and statistics. The results of the walk are the rows. Means and
 * variances are computed in f64, or from sums that are pairs of f32, in two passes: the mean of the differences to the first element, and the mean square of
 * what then remains. */
#include "common.cl"
#include "walk.cl"

#define STORAGE JOIN(storage, X)
#define WIDEN(x) JOIN(widen, X)(x)
#define NARROW(x) JOIN(narrow, X)(x)
#define P_STORAGE JOIN(storage, P)
#define WIDEN_P(x) JOIN(widen, P)(x)
#define NARROW_P(x) JOIN(narrow, P)(x)
#define REAL JOIN(number, X)

#include "deviations.cl"

typedef struct normalization {
    long eps_bits; /* of eps as a double */
    float eps;
    int subtract_mean, present, reserved; /* present: bit i: operand i is there */
    long parameter[4][DIMS];    /* strides of weight, bias, mean and inverse_std */
} normalization;

enum { WEIGHT, BIAS, MEAN, INVERSE_STD };

static inline precise eps_of(const normalization *f) {
#ifdef HAS_F64
    return as_double(f->eps_bits);
#else
    return f->eps;
#endif
}

static inline precise inverse_std_of(precise variance, const normalization *f) {
    return 1 / sqrt(variance + eps_of(f));
}

/* Offset of a parameter that belongs to row `row` and, with `element`, to an element of it. */
static inline long parameter_at(const walk *w, const normalization *f, int which, long row, long element) {
    long offset = 0;
    for (int d = w->ndim - 1; d >= w->kept_ndim; d--) {
        const long above = quotient(element, w->size[d]);
        offset += (element - above * w->size[d]) * f->parameter[which][d];
        element = above;
    }
    for (int d = w->kept_ndim - 1; d >= 0; d--) {
        const long above = quotient(row, w->size[d]);
        offset += (row - above * w->size[d]) * f->parameter[which][d];
        row = above;
    }
    return offset;
}

static inline void write_statistics(const walk *w, const normalization *f, long row, __global P_STORAGE *means,
                                    __global P_STORAGE *inverse_stds, precise mean, precise inverse_std) {
    if (f->present >> 4 & 1) {
        means[parameter_at(w, f, MEAN, row, 0)] = NARROW_P((JOIN(number, P))mean);
    }
    if (f->present >> 5 & 1) {
        inverse_stds[parameter_at(w, f, INVERSE_STD, row, 0)] = NARROW_P((JOIN(number, P))inverse_std);
    }
}

#define WRITE_STEP(l, i, place)                                                                                        \
    {                                                                                                                  \
        const REAL gain = weighted ? (REAL)WIDEN_P(weights[weight + (i) * w_next + (l) * w_lane]) : 1;                 \
        const REAL shift = biased ? (REAL)WIDEN_P(biases[bias + (i) * b_next + (l) * b_lane]) : 0;                     \
        const REAL result = ((WIDEN(x[place]) - high[l]) - low[l]) * scale[l] * gain + shift;                          \
        y[s.at[1] + (i) * s.next[1] + (l) * s.lane[1]] = NARROW(result);                                               \
    }

/* Writes the elements of a part. The mean is a sum, so that its rounding does not change deviations. Step and lane of
 * weight and bias in a strip are as in the last dimension. */
static inline void write_elements(__global const STORAGE *x, __global STORAGE *y, __global const P_STORAGE *weights,
                                  __global const P_STORAGE *biases, const walk *w, const normalization *f,
                                  const tile *t, long number, const precise center[LANES], const precise mean[LANES],
                                  const precise inverse_std[LANES]) {
    REAL high[LANES], low[LANES], scale[LANES];
    for (int l = 0; l < LANES; l++) {
        high[l] = (REAL)(center[l] + mean[l]);
        low[l] = (REAL)((center[l] - (precise)high[l]) + mean[l]);
        scale[l] = (REAL)inverse_std[l];
    }
    const bool weighted = f->present >> 1 & 1, biased = f->present >> 2 & 1;
    const int last = COLUMNS(w) ? w->kept_ndim - 1 : w->ndim - 1;
    const bool inner = w->ndim > w->kept_ndim;
    const long weight_lane = COLUMNS(w) || inner ? f->parameter[WEIGHT][last] : 0;
    const long bias_lane = COLUMNS(w) || inner ? f->parameter[BIAS][last] : 0;
    const long weight_next = inner ? f->parameter[WEIGHT][w->ndim - 1] : 0;
    const long bias_next = inner ? f->parameter[BIAS][w->ndim - 1] : 0;
    EACH_STRIP(w, t, number, s) {
        const long weight = weighted ? parameter_at(w, f, WEIGHT, t->result, s.index) : 0;
        const long bias = biased ? parameter_at(w, f, BIAS, t->result, s.index) : 0;
        const long step = COLUMNS(w) ? 1 : s.index_lane;
        const long w_lane = weight_lane * step, b_lane = bias_lane * step;
        const long w_next = weight_next * s.index_next, b_next = bias_next * s.index_next;
        EACH_ELEMENT(s, 0, s.count, WRITE_STEP)
    }
}

/* Whole rows. */
__kernel void normalize_rows(__global const STORAGE *x, ulong x_first, __global const P_STORAGE *weights,
                             ulong weights_first, __global const P_STORAGE *biases, ulong biases_first,
                             __global STORAGE *y, ulong y_first, __global P_STORAGE *means, ulong means_first,
                             __global P_STORAGE *inverse_stds, ulong inverse_stds_first, const walk w,
                             const normalization f) {
    x += (long)x_first;
    SHARED wide values[GROUP];
    EACH_TILE(w, t) {
        precise center[LANES], mean[LANES], inverse_std[LANES];
        wide sum[LANES];
        read_centers(x, &w, &t, f.subtract_mean, center);
        for (int l = 0; l < LANES; l++) {
            mean[l] = 0;
        }
        if (f.subtract_mean) {
            add_differences(x, &w, &t, 0, center, mean, values, sum);
            for (int l = 0; l < LANES; l++) {
                mean[l] = value_of(sum[l]) / (precise)w.reduced;
            }
        }
        add_squares(x, &w, &t, 0, center, mean, values, sum);
        for (int l = 0; l < LANES; l++) {
            inverse_std[l] = inverse_std_of(value_of(sum[l]) / (precise)w.reduced, &f);
        }
        EACH_RESULT(t, l) {
            write_statistics(&w, &f, t.result + l, means + (long)means_first, inverse_stds + (long)inverse_stds_first,
                             center[l] + mean[l], inverse_std[l]);
        }
        write_elements(x, y + (long)y_first, weights + (long)weights_first, biases + (long)biases_first, &w, &f, &t, 0,
                       center, mean, inverse_std);
    }
}

/* ---- Rows of several parts: the workspace has a sum of differences, and then of squares, for each part and row ---- */

static inline void read_means(__global const STORAGE *x, __global const wide *sums, const walk *w, const tile *t,
                              int subtract_mean, __local wide *values, precise center[LANES], precise mean[LANES]) {
    read_centers(x, w, t, subtract_mean, center);
    for (int l = 0; l < LANES; l++) {
        mean[l] = 0;
    }
    if (subtract_mean) {
        read_averages(sums, w, t, values, mean);
    }
}

__kernel void squares_of_parts(__global const STORAGE *x, ulong x_first, __global const wide *sums, ulong sums_first,
                               __global wide *squares, ulong squares_first, const walk w, const int subtract_mean) {
    x += (long)x_first;
    SHARED wide values[GROUP];
    EACH_TILE(w, t) {
        precise center[LANES], mean[LANES];
        wide sum[LANES];
        read_means(x, sums + (long)sums_first, &w, &t, subtract_mean, values, center, mean);
        add_squares(x, &w, &t, part_of(), center, mean, values, sum);
        write_sums(squares + (long)squares_first, &w, &t, part_of(), sum);
    }
}

__kernel void normalize_parts(__global const STORAGE *x, ulong x_first, __global const P_STORAGE *weights,
                              ulong weights_first, __global const P_STORAGE *biases, ulong biases_first,
                              __global STORAGE *y, ulong y_first, __global P_STORAGE *means, ulong means_first,
                              __global P_STORAGE *inverse_stds, ulong inverse_stds_first, __global const wide *sums,
                              ulong sums_first, __global const wide *squares, ulong squares_first, const walk w,
                              const normalization f) {
    const long number = part_of();
    x += (long)x_first;
    SHARED wide values[GROUP];
    EACH_TILE(w, t) {
        precise center[LANES], mean[LANES], inverse_std[LANES];
        read_means(x, sums + (long)sums_first, &w, &t, f.subtract_mean, values, center, mean);
        read_averages(squares + (long)squares_first, &w, &t, values, inverse_std);
        for (int l = 0; l < LANES; l++) {
            inverse_std[l] = inverse_std_of(inverse_std[l], &f);
        }
        if (number == 0) {
            EACH_RESULT(t, l) {
                write_statistics(&w, &f, t.result + l, means + (long)means_first,
                                 inverse_stds + (long)inverse_stds_first, center[l] + mean[l], inverse_std[l]);
            }
        }
        write_elements(x, y + (long)y_first, weights + (long)weights_first, biases + (long)biases_first, &w, &f, &t, number,
                       center, mean, inverse_std);
    }
}
