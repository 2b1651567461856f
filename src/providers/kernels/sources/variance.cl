/* variance.cl - computes variances and standard deviations.
 *
 * X is the type of the elements and results. Means are computed as in layer_norm.cl; deviations are differences to the
 * mean in two numbers: the first one is near each element if the variance is small. */
#include "common.cl"
#include "walk.cl"

#define STORAGE JOIN(storage, X)
#define WIDEN(x) JOIN(widen, X)(x)
#define NARROW(x) JOIN(narrow, X)(x)
#include "deviations.cl"

typedef struct scaling {
    long divisor_bits; /* of a double */
    float divisor;
    int root;
} scaling;

static inline STORAGE scaled(precise squares, const scaling *f) {
#ifdef HAS_F64
    const precise variance = squares / as_double(f->divisor_bits);
#else
    const precise variance = squares / f->divisor;
#endif
    return NARROW((JOIN(number, X))(f->root ? sqrt(variance) : variance));
}

static inline void split_means(precise center[LANES], precise mean[LANES]) {
    for (int l = 0; l < LANES; l++) {
        const precise high = center[l] + mean[l];
        mean[l] = (center[l] - high) + mean[l];
        center[l] = high;
    }
}

__kernel void variance_rows(__global const STORAGE *x, ulong x_first, __global STORAGE *y, ulong y_first, const walk w,
                            const scaling f) {
    x += (long)x_first;
    SHARED wide values[GROUP];
    EACH_TILE(w, t) {
        precise center[LANES], mean[LANES];
        wide sum[LANES];
        read_centers(x, &w, &t, w.reduced > 0, center);
        add_differences(x, &w, &t, 0, center, mean, values, sum);
        for (int l = 0; l < LANES; l++) {
            mean[l] = value_of(sum[l]) / (precise)w.reduced;
        }
        split_means(center, mean);
        add_squares(x, &w, &t, 0, center, mean, values, sum);
        EACH_RESULT(t, l) {
            y[(long)y_first + t.at[1] + l * t.lane[1]] = scaled(value_of(sum[l]), &f);
        }
    }
}

__kernel void squares_of_parts(__global const STORAGE *x, ulong x_first, __global const wide *sums, ulong sums_first,
                               __global wide *squares, ulong squares_first, const walk w) {
    x += (long)x_first;
    SHARED wide values[GROUP];
    EACH_TILE(w, t) {
        precise center[LANES], mean[LANES];
        wide sum[LANES];
        read_centers(x, &w, &t, 1, center);
        read_averages(sums + (long)sums_first, &w, &t, values, mean);
        split_means(center, mean);
        add_squares(x, &w, &t, part_of(), center, mean, values, sum);
        write_sums(squares + (long)squares_first, &w, &t, part_of(), sum);
    }
}

__kernel void variance_join(__global STORAGE *y, ulong y_first, __global const wide *squares, ulong squares_first,
                            const walk w, const scaling f) {
    SHARED wide values[GROUP];
    EACH_TILE(w, t) {
        precise total[LANES];
        read_sums(squares + (long)squares_first, &w, &t, values, total);
        EACH_RESULT(t, l) {
            y[(long)y_first + t.at[1] + l * t.lane[1]] = scaled(total[l], &f);
        }
    }
}
