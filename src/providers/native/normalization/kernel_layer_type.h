/* kernel_layer_type.h - template: the kernels of layer, RMS and group normalization for one type. Parameters: as in
 * kernel_each_type.h. */
#include "providers/native/kernel_lanes.h"

/* Calls body(first element, vectors, contiguous) for n elements in vectors, then rest(element) for the others. */
#define EACH_VECTOR(n, contiguous, body, rest)                                                                         \
    do {                                                                                                               \
        int64_t i_ = 0;                                                                                                \
        if (contiguous) {                                                                                              \
            for (; i_ + TILE * NAME(WIDTH) <= (n); i_ += TILE * NAME(WIDTH)) {                                         \
                body(i_, TILE, true);                                                                                  \
            }                                                                                                          \
            for (; i_ + NAME(WIDTH) <= (n); i_ += NAME(WIDTH)) {                                                       \
                body(i_, 1, true);                                                                                     \
            }                                                                                                          \
        } else {                                                                                                       \
            for (; i_ + NAME(WIDTH) <= (n); i_ += NAME(WIDTH)) {                                                       \
                body(i_, 1, false);                                                                                    \
            }                                                                                                          \
        }                                                                                                              \
        for (; i_ < (n); i_++) {                                                                                       \
            rest(i_);                                                                                                  \
        }                                                                                                              \
    } while (0)

INLINE const NAME(element) * NAME(from)(bp__layer_vector x, int64_t i) {
    return (const NAME(element) *)(const void *)x.at + i * x.stride;
}

INLINE VECTOR NAME(values)(bp__layer_vector x, int64_t i, bool contiguous) {
    return NAME(get)(NAME(from)(x, i), x.stride, contiguous, NAME(WIDTH));
}

INLINE void NAME(write)(bp__layer_vector x, int64_t i, bool contiguous, VECTOR value) {
    NAME(put)((NAME(element) *)(void *)x.at + i * x.stride, x.stride, contiguous, NAME(WIDTH), value);
}

/* ---- Statistics ---- */

INLINE void NAME(sum_vectors)(int64_t i, int vectors, bool contiguous, bp__layer_vector x, vector_f64 center,
                              NAME(lanes) sum) {
    UNROLL
    for (int v = 0; v < vectors; v++) {
        vector_f64 value[NAME(PARTS)];
        DOUBLES(NAME(values)(x, i + v * NAME(WIDTH), contiguous), value);
        UNROLL
        for (int h = 0; h < NAME(PARTS); h++) {
            sum[v][h] += value[h] - center;
        }
    }
}

static double NAME(sum)(int64_t n, bp__layer_vector x, const double center[2]) {
    NAME(lanes) sum;
    double rest = 0;
    const vector_f64 first = splat_f64(center[0]);
    NAME(clear)(sum);
#define BODY(i, vectors, contiguous) NAME(sum_vectors)(i, vectors, contiguous, x, first, sum)
#define REST(i) rest += (double)WIDEN(*NAME(from)(x, i)) - center[0]
    EACH_VECTOR(n, x.stride == 1, BODY, REST);
#undef BODY
#undef REST
    return NAME(joined)(sum, false) + rest;
}

INLINE void NAME(squares_vectors)(int64_t i, int vectors, bool contiguous, bp__layer_vector x, vector_f64 first,
                                  vector_f64 second, NAME(lanes) sum) {
    UNROLL
    for (int v = 0; v < vectors; v++) {
        vector_f64 value[NAME(PARTS)];
        DOUBLES(NAME(values)(x, i + v * NAME(WIDTH), contiguous), value);
        UNROLL
        for (int h = 0; h < NAME(PARTS); h++) {
            value[h] = (value[h] - first) - second;
            sum[v][h] = madd_f64(value[h], value[h], sum[v][h]);
        }
    }
}

static double NAME(squares)(int64_t n, bp__layer_vector x, const double center[2]) {
    NAME(lanes) sum;
    double rest = 0;
    const vector_f64 first = splat_f64(center[0]), second = splat_f64(center[1]);
    NAME(clear)(sum);
#define BODY(i, vectors, contiguous) NAME(squares_vectors)(i, vectors, contiguous, x, first, second, sum)
#define REST(i)                                                                                                        \
    do {                                                                                                               \
        const double distance = ((double)WIDEN(*NAME(from)(x, i)) - center[0]) - center[1];                            \
        rest = scalar_madd_f64(distance, distance, rest);                                                              \
    } while (0)
    EACH_VECTOR(n, x.stride == 1, BODY, REST);
#undef BODY
#undef REST
    return NAME(joined)(sum, false) + rest;
}

/* The squares of elements: the sum of x^2 if `centered` is false. */
INLINE void NAME(moments_vectors)(int64_t i, int vectors, bool contiguous, bp__layer_vector x, vector_f64 center,
                                  bool centered, NAME(lanes) sum, NAME(lanes) square) {
    UNROLL
    for (int v = 0; v < vectors; v++) {
        vector_f64 value[NAME(PARTS)];
        if (contiguous) {
            NAME(read_doubles)(NAME(from)(x, i + v * NAME(WIDTH)), value);
        } else {
            DOUBLES(NAME(values)(x, i + v * NAME(WIDTH), false), value);
        }
        UNROLL
        for (int h = 0; h < NAME(PARTS); h++) {
            if (centered) {
                value[h] -= center;
                sum[v][h] = madd_f64(value[h], splat_f64(1), sum[v][h]);
            }
            square[v][h] = madd_f64(value[h], value[h], square[v][h]);
        }
    }
}

/* Adds differences to the center and their squares in one pass. */
INLINE void NAME(moments_in_one_pass)(int64_t n, bp__layer_vector x, double center, bool centered, double sums[2]) {
    NAME(lanes) sum, square;
    double rest[2] = {0, 0};
    const vector_f64 first = splat_f64(center);
    int64_t i = 0;
    NAME(clear)(sum);
    NAME(clear)(square);
    for (; x.stride == 1 && i + 2 * NAME(WIDTH) <= n; i += 2 * NAME(WIDTH)) {
        NAME(moments_vectors)(i, 2, true, x, first, centered, sum, square);
    }
    for (; i + NAME(WIDTH) <= n; i += NAME(WIDTH)) {
        NAME(moments_vectors)(i, 1, false, x, first, centered, sum, square);
    }
    for (; i < n; i++) {
        const double distance = (double)WIDEN(*NAME(from)(x, i)) - center;
        rest[0] += distance;
        rest[1] = scalar_madd_f64(distance, distance, rest[1]);
    }
    sums[0] = NAME(joined)(sum, false) + rest[0];
    sums[1] = NAME(joined)(square, false) + rest[1];
}

/* Squared deviations are sums of squares less the square of the sum, unless this would lose digits that f64 does not
 * have to spare: in f64, in short rows, and where the center is far from the mean. */
static void NAME(moments)(int64_t n, bp__layer_vector x, double center, bool centered, double *mean, double *squares) {
    double sums[2] = {0, 0}, centers[2] = {center, 0};
    if (!centered) {
        NAME(moments_in_one_pass)(n, x, 0, false, sums);
        *mean = 0;
        *squares = sums[1];
        return;
    }
    const bool one_pass = sizeof(REAL) < sizeof(double) && n >= SHORT;
    if (one_pass) {
        NAME(moments_in_one_pass)(n, x, center, true, sums);
    } else {
        sums[0] = NAME(sum)(n, x, centers);
    }
    centers[1] = *mean = sums[0] / (double)n;
    *squares = sums[1] - sums[0] * *mean;
    if (!one_pass || sums[1] > FAR * *squares) {
        *squares = NAME(squares)(n, x, centers);
    }
}

/* ---- Elements ---- */

/* The numbers of a segment in the type of the computation. */
typedef struct NAME(scalars) {
    REAL high, low, inverse_std, less; /* less: -low inverse_std */
    REAL share, slope;
    const NAME(number) * weights, *biases;
    int step;
} NAME(scalars);

INLINE NAME(scalars) NAME(scalars_of)(const bp__layer_numbers *n) {
    const REAL high = (REAL)(n->mean[0] + n->mean[1]);
    const double low = (n->mean[0] - (double)high) + n->mean[1];
    return (NAME(scalars)){
        .high = high,
        .low = (REAL)low,
        .inverse_std = (REAL)n->inverse_std,
        .less = (REAL)(-low * n->inverse_std),
        .share = (REAL)n->share,
        .slope = (REAL)n->slope,
        .weights = n->weights,
        .biases = n->biases,
        .step = n->step,
    };
}

INLINE VECTOR NAME(number_at)(const NAME(number) * numbers, int step, int64_t i) {
    return step ? NAME(read)(numbers + i, true, 0) : SPLAT(numbers[0]);
}

INLINE void NAME(apply_vectors)(int64_t i, int vectors, bool contiguous, bp__layer_vector y, bp__layer_vector x,
                                const NAME(scalars) * s, int step) {
    UNROLL
    for (int v = 0; v < vectors; v++) {
        const int64_t at = i + v * NAME(WIDTH);
        const VECTOR distance = NAME(values)(x, at, contiguous) - SPLAT(s->high);
        const VECTOR normal = MADD(distance, SPLAT(s->inverse_std), SPLAT(s->less));
        NAME(write)
        (y, at, contiguous, MADD(normal, NAME(number_at)(s->weights, step, at), NAME(number_at)(s->biases, step, at)));
    }
}

INLINE REAL NAME(fused)(REAL a, REAL b, REAL c) {
    return _Generic(a, float : scalar_madd_f32, double : scalar_madd_f64)(a, b, c);
}

INLINE REAL NAME(deviation)(bp__layer_vector x, int64_t i, const NAME(scalars) * s) {
    return (WIDEN(*NAME(from)(x, i)) - s->high) - s->low;
}

INLINE void NAME(apply_with)(int64_t n, bp__layer_vector y, bp__layer_vector x, const NAME(scalars) * s, int step) {
#define BODY(i, vectors, contiguous) NAME(apply_vectors)(i, vectors, contiguous, y, x, s, step)
#define REST(i)                                                                                                        \
    do {                                                                                                               \
        const REAL distance = WIDEN(*NAME(from)(x, i)) - s->high;                                                      \
        const REAL normal = NAME(fused)(distance, s->inverse_std, s->less);                                            \
        *(NAME(element) *)(uintptr_t)NAME(from)(y, i) =                                                                \
            NARROW(NAME(fused)(normal, s->weights[(i)*step], s->biases[(i)*step]));                                    \
    } while (0)
    EACH_VECTOR(n, x.stride == 1 && y.stride == 1, BODY, REST);
#undef BODY
#undef REST
}

static void NAME(apply)(int64_t n, bp__layer_vector y, bp__layer_vector x, const bp__layer_numbers *numbers) {
    const NAME(scalars) s = NAME(scalars_of)(numbers);
    if (s.step) {
        NAME(apply_with)(n, y, x, &s, 1);
    } else {
        NAME(apply_with)(n, y, x, &s, 0);
    }
}

/* ---- Gradients ---- */

INLINE double NAME(distance)(bp__layer_vector x, int64_t i, const bp__layer_numbers *numbers) {
    return ((double)WIDEN(*NAME(from)(x, i)) - numbers->mean[0]) - numbers->mean[1];
}

INLINE void NAME(sums_vectors)(int64_t i, int vectors, bool contiguous, bp__layer_vector y, bp__layer_vector x,
                               const bp__layer_numbers *numbers, int step, NAME(lanes) sum, NAME(lanes) product) {
    UNROLL
    for (int v = 0; v < vectors; v++) {
        const int64_t at = i + v * NAME(WIDTH);
        vector_f64 d[NAME(PARTS)], value[NAME(PARTS)], weight[NAME(PARTS)];
        DOUBLES(NAME(values)(y, at, contiguous), d);
        DOUBLES(NAME(values)(x, at, contiguous), value);
        DOUBLES(NAME(number_at)(numbers->weights, step, at), weight);
        UNROLL
        for (int h = 0; h < NAME(PARTS); h++) {
            d[h] *= weight[h];
            sum[v][h] += d[h];
            product[v][h] =
                madd_f64(d[h], (value[h] - splat_f64(numbers->mean[0])) - splat_f64(numbers->mean[1]), product[v][h]);
        }
    }
}

INLINE void NAME(sums_with)(int64_t n, bp__layer_vector y, bp__layer_vector x, const bp__layer_numbers *numbers,
                            int step, double sums[2]) {
    NAME(lanes) sum, product;
    double rest[2] = {0, 0};
    const NAME(number) *weights = numbers->weights;
    NAME(clear)(sum);
    NAME(clear)(product);
#define BODY(i, vectors, contiguous) NAME(sums_vectors)(i, vectors, contiguous, y, x, numbers, step, sum, product)
#define REST(i)                                                                                                        \
    do {                                                                                                               \
        const double d = (double)WIDEN(*NAME(from)(y, i)) * (double)weights[(i)*step];                                 \
        rest[0] += d;                                                                                                  \
        rest[1] = scalar_madd_f64(d, NAME(distance)(x, i, numbers), rest[1]);                                          \
    } while (0)
    EACH_VECTOR(n, x.stride == 1 && y.stride == 1, BODY, REST);
#undef BODY
#undef REST
    sums[0] += NAME(joined)(sum, false) + rest[0];
    sums[1] += NAME(joined)(product, false) + rest[1];
}

static void NAME(sums)(int64_t n, bp__layer_vector y, bp__layer_vector x, const bp__layer_numbers *numbers,
                       double sums[2]) {
    if (numbers->step) {
        NAME(sums_with)(n, y, x, numbers, 1, sums);
    } else {
        NAME(sums_with)(n, y, x, numbers, 0, sums);
    }
}

INLINE void NAME(gradient_vectors)(int64_t i, int vectors, bool contiguous, bp__layer_vector g, bp__layer_vector y,
                                   bp__layer_vector x, const NAME(scalars) * s, int step) {
    UNROLL
    for (int v = 0; v < vectors; v++) {
        const int64_t at = i + v * NAME(WIDTH);
        const VECTOR deviation = (NAME(values)(x, at, contiguous) - SPLAT(s->high)) - SPLAT(s->low);
        const VECTOR d = MADD(NAME(values)(y, at, contiguous), NAME(number_at)(s->weights, step, at), SPLAT(-s->share));
        NAME(write)(g, at, contiguous, MADD(deviation, SPLAT(-s->slope), d) * SPLAT(s->inverse_std));
    }
}

INLINE void NAME(gradient_with)(int64_t n, bp__layer_vector g, bp__layer_vector y, bp__layer_vector x,
                                const NAME(scalars) * s, int step) {
#define BODY(i, vectors, contiguous) NAME(gradient_vectors)(i, vectors, contiguous, g, y, x, s, step)
#define REST(i)                                                                                                        \
    do {                                                                                                               \
        const REAL d = NAME(fused)(WIDEN(*NAME(from)(y, i)), s->weights[(i)*step], -s->share);                         \
        *(NAME(element) *)(uintptr_t)NAME(from)(g, i) =                                                                \
            NARROW(NAME(fused)(NAME(deviation)(x, i, s), -s->slope, d) * s->inverse_std);                              \
    } while (0)
    EACH_VECTOR(n, x.stride == 1 && y.stride == 1 && g.stride == 1, BODY, REST);
#undef BODY
#undef REST
}

static void NAME(gradient)(int64_t n, bp__layer_vector g, bp__layer_vector y, bp__layer_vector x,
                           const bp__layer_numbers *numbers) {
    const NAME(scalars) s = NAME(scalars_of)(numbers);
    if (s.step) {
        NAME(gradient_with)(n, g, y, x, &s, 1);
    } else {
        NAME(gradient_with)(n, g, y, x, &s, 0);
    }
}

INLINE void NAME(weigh_vectors)(int64_t i, int vectors, bool contiguous, bp__layer_vector y, bp__layer_vector x,
                                const bp__layer_numbers *numbers, double *products, double *sums) {
    UNROLL
    for (int v = 0; v < vectors; v++) {
        const int64_t at = i + v * NAME(WIDTH);
        vector_f64 d[NAME(PARTS)], value[NAME(PARTS)];
        DOUBLES(NAME(values)(y, at, contiguous), d);
        DOUBLES(NAME(values)(x, at, contiguous), value);
        UNROLL
        for (int h = 0; h < NAME(PARTS); h++) {
            value[h] = (value[h] - splat_f64(numbers->mean[0])) - splat_f64(numbers->mean[1]);
            value[h] = value[h] * splat_f64(numbers->inverse_std) * d[h];
        }
        NAME(add_sums)(products + at, value, true, 0);
        NAME(add_sums)(sums + at, d, true, 0);
    }
}

static void NAME(weigh)(int64_t n, bp__layer_vector y, bp__layer_vector x, const bp__layer_numbers *numbers,
                        double *products, double *sums) {
#define BODY(i, vectors, contiguous) NAME(weigh_vectors)(i, vectors, contiguous, y, x, numbers, products, sums)
#define REST(i)                                                                                                        \
    do {                                                                                                               \
        const double d = (double)WIDEN(*NAME(from)(y, i));                                                             \
        products[i] += NAME(distance)(x, i, numbers) * numbers->inverse_std * d;                                       \
        sums[i] += d;                                                                                                  \
    } while (0)
    EACH_VECTOR(n, x.stride == 1 && y.stride == 1, BODY, REST);
#undef BODY
#undef REST
}

/* ---- Weights ---- */

static void NAME(widen_numbers)(int64_t n, bp__layer_vector x, void *of_to) {
    NAME(number) *to = of_to;
    for (int64_t i = 0; i < n; i++) {
        to[i] = WIDEN(*NAME(from)(x, i));
    }
}

static void NAME(fill)(int64_t n, double value, void *to) {
    for (int64_t i = 0; i < n; i++) {
        ((NAME(number) *)to)[i] = (REAL)value;
    }
}

static void NAME(narrow_numbers)(int64_t n, const double *from, bp__layer_vector to) {
    for (int64_t i = 0; i < n; i++) {
        *(NAME(element) *)(uintptr_t)NAME(from)(to, i) = NARROW((REAL)from[i]);
    }
}

static double NAME(load)(const char *from) {
    return (double)WIDEN(*(const NAME(element) *)(const void *)from);
}

static void NAME(store)(char *to, double value) {
    *(NAME(element) *)(void *)to = NARROW((REAL)value);
}
#undef EACH_VECTOR
#include "kernel_layer_columns.h"
