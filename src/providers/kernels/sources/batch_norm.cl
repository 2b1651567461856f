/* batch_norm.cl - applies the statistics of channels to their elements.
 *
 * X is the type of the elements, P the type of the parameters. The inverse deviation of a channel is computed in WIDE: f64, or
 * f32 on devices without it. A work item takes `run` neighbouring elements of a row. */
#include "common.cl"

#define STORAGE JOIN(storage, X)
#define REAL JOIN(number, X)
#define WIDEN(x) JOIN(widen, X)(x)
#define NARROW(x) JOIN(narrow, X)(x)
#define P_STORAGE JOIN(storage, P)
#define WIDEN_P(x) JOIN(widen, P)(x)

typedef struct batch_norm {
    long rows, pieces, run; /* rows have `pieces` work items */
    long channels;
    long size[4], x[4], y[4];
    long x_channel, y_channel;
    long weight, bias, mean, variance; /* strides */
    long eps_bits; /* of eps as a double */
    float eps;
    int has_weight, has_bias, relu, by_channels, reserved;
} batch_norm;

/* What is applied to the elements of a channel. */
typedef struct factors {
    REAL center, inverse_std, weight, shift; /* the product of the second and third may not be a number of the type */
} factors;

static inline WIDE eps_of(const batch_norm *p) {
#ifdef HAS_F64
    return as_double(p->eps_bits);
#else
    return p->eps;
#endif
}

static inline factors factors_of(const batch_norm *p, long channel, __global const P_STORAGE *weights,
                                 __global const P_STORAGE *biases, __global const P_STORAGE *means,
                                 __global const P_STORAGE *variances) {
    const WIDE variance = (WIDE)WIDEN_P(variances[channel * p->variance]);
    factors f;
    f.inverse_std = (REAL)(1 / sqrt(variance + eps_of(p)));
    f.weight = p->has_weight ? (REAL)WIDEN_P(weights[channel * p->weight]) : (REAL)1;
    f.shift = p->has_bias ? (REAL)WIDEN_P(biases[channel * p->bias]) : (REAL)0;
    f.center = (REAL)WIDEN_P(means[channel * p->mean]);
    return f;
}

static inline STORAGE applied(STORAGE x, factors f, int relu) {
    const REAL value = (WIDEN(x) - f.center) * f.inverse_std * f.weight + f.shift;
    return NARROW(relu && value < 0 ? (REAL)0 : value);
}

/* A piece of a row: along the last dimension, or (`by_channels`) of the channels at one position. */
__kernel void normalize_channels(__global const STORAGE *x, ulong x_first, __global const P_STORAGE *weights,
                        ulong weights_first, __global const P_STORAGE *biases, ulong biases_first,
                        __global const P_STORAGE *means, ulong means_first, __global const P_STORAGE *variances,
                        ulong variances_first, __global STORAGE *y, ulong y_first, const batch_norm p) {
    weights += (long)weights_first;
    biases += (long)biases_first;
    means += (long)means_first;
    variances += (long)variances_first;
    for (long item = get_global_id(0); item < p.rows * p.pieces; item += get_global_size(0)) {
        const long first = item % p.pieces * p.run;
        long row = item / p.pieces, from = (long)x_first, to = (long)y_first;
        for (int d = p.by_channels ? 3 : 2; d >= 0; d--) {
            from += row % p.size[d] * p.x[d];
            to += row % p.size[d] * p.y[d];
            row /= p.size[d];
        }
        __global const STORAGE *source = x + from + row * p.x_channel;
        __global STORAGE *target = y + to + row * p.y_channel;
        if (p.by_channels) {
            const long last = min(first + p.run, p.channels);
            for (long c = first; c < last; c++) {
                const factors f = factors_of(&p, c, weights, biases, means, variances);
                target[c * p.y_channel] = applied(source[c * p.x_channel], f, p.relu);
            }
        } else {
            const long last = min(first + p.run, p.size[3]);
            const factors f = factors_of(&p, row, weights, biases, means, variances);
            if (p.x[3] == 1 && p.y[3] == 1) {
                INDEPENDENT
                for (long i = first; i < last; i++) {
                    target[i] = applied(source[i], f, p.relu);
                }
            } else {
                for (long i = first; i < last; i++) {
                    target[i * p.y[3]] = applied(source[i * p.x[3]], f, p.relu);
                }
            }
        }
    }
}
