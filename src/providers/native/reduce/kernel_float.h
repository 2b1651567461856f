/* kernel_float.h - template: the kernels of reductions and softmax for one floating type. Parameters: as in
 * kernel_each_type.h. */
#include "providers/native/kernel_lanes.h"
#define LOWEST ((REAL)-INFINITY)
#define HIGHEST ((REAL)INFINITY)
#define UNORDERED(x) ((x) != (x))
#define GREATEST(x, y) _Generic(x, vector_f32 : maximum_f32, vector_f64 : maximum_f64)(x, y)
#define LEAST(x, y) (-GREATEST(-(x), -(y)))
#if VECTOR_BYTES == 64 && defined(__AVX512F__)
typedef unsigned NAME(nans);
#define NANS(x, y) _Generic(x, vector_f32 : nan_lanes_f32, vector_f64 : nan_lanes_f64)(x, y)
#define ANY_NAN(nans) ((nans) != 0)
#else
typedef __typeof__((VECTOR){0} != (VECTOR){0}) NAME(nans);
#define NANS(x, y) (((x) != (x)) | ((y) != (y)))
#define ANY_NAN(nans) NAME(any)((NAME(flags))(nans))
#endif
#include "kernel_extreme.h"
#undef GREATEST
#undef LEAST
#undef NANS
#undef ANY_NAN
#undef LOWEST
#undef HIGHEST
#undef UNORDERED

/* ---- Sums and products ---- */

INLINE void NAME(sum_tile)(int64_t lane, int vectors, bool whole, int lanes, const bp__reduce_piece *p, double *values,
                           bool product) {
    vector_f64 sum[TILE][NAME(PARTS)];
    const NAME(element) *from = (const NAME(element) *)(const void *)p->at[0] + lane * p->lane[0];
    UNROLL
    for (int v = 0; v < vectors; v++) {
        UNROLL
        for (int h = 0; h < NAME(PARTS); h++) {
            sum[v][h] = splat_f64(product ? 1 : 0);
        }
    }
    for (int64_t i = 0; i < p->count; i++, from += p->next[0]) {
        UNROLL
        for (int v = 0; v < vectors; v++) {
            vector_f64 x[NAME(PARTS)];
            if (whole) {
                NAME(read_doubles)(from + v * NAME(WIDTH), x);
            } else {
                DOUBLES(NAME(get)(from + v * NAME(WIDTH), p->lane[0], false, lanes), x);
            }
            UNROLL
            for (int h = 0; h < NAME(PARTS); h++) {
                sum[v][h] = product ? sum[v][h] * x[h] : madd_f64(x[h], splat_f64(1), sum[v][h]);
            }
        }
    }
    UNROLL
    for (int v = 0; v < vectors; v++) {
        double *to = values + lane + v * NAME(WIDTH);
        if (product) {
            for (int i = 0; i < (whole ? NAME(WIDTH) : lanes); i++) {
                to[i] *= sum[v][i / (VECTOR_BYTES / 8)][i % (VECTOR_BYTES / 8)];
            }
        } else {
            NAME(add_sums)(to, sum[v], whole, lanes);
        }
    }
}

static void NAME(add_sum)(const bp__reduce_piece *p, void *values, int64_t *indices) {
    (void)indices;
    EACH_TILE(p->lanes, p->lane[0] == 1, NAME(sum_tile), p, values, false);
}

static void NAME(add_prod)(const bp__reduce_piece *p, void *values, int64_t *indices) {
    (void)indices;
    EACH_TILE(p->lanes, p->lane[0] == 1, NAME(sum_tile), p, values, true);
}

/* Reads the whole vectors of a row of n elements into x, TILE of them at a time, from element i on, and leaves i behind
 * them. ADD(v) adds x to the sums of vector v. */
#define EACH_WHOLE_VECTOR(from, n, i, x, ADD)                                                                          \
    for (; i + TILE * NAME(WIDTH) <= n; i += TILE * NAME(WIDTH)) {                                                     \
        UNROLL                                                                                                         \
        for (int v = 0; v < TILE; v++) {                                                                               \
            NAME(read_doubles)(from + i + v * NAME(WIDTH), x);                                                         \
            ADD(v)                                                                                                     \
        }                                                                                                              \
    }                                                                                                                  \
    for (; i + NAME(WIDTH) <= n; i += NAME(WIDTH)) {                                                                   \
        NAME(read_doubles)(from + i, x);                                                                               \
        ADD(0)                                                                                                         \
    }

INLINE double NAME(sum_of_row)(const NAME(element) * from, int64_t n, bool product) {
    vector_f64 sum[TILE][NAME(PARTS)], x[NAME(PARTS)];
    int64_t i = 0;
    UNROLL
    for (int v = 0; v < TILE * NAME(PARTS); v++) {
        sum[v / NAME(PARTS)][v % NAME(PARTS)] = splat_f64(product ? 1 : 0);
    }
#define ADD_AT(v)                                                                                                      \
    UNROLL                                                                                                             \
    for (int h = 0; h < NAME(PARTS); h++) {                                                                            \
        sum[v][h] = product ? sum[v][h] * x[h] : madd_f64(x[h], splat_f64(1), sum[v][h]);                              \
    }
    EACH_WHOLE_VECTOR(from, n, i, x, ADD_AT)
    if (i < n && !product) {
        DOUBLES(NAME(get)(from + i, 1, false, (int)(n - i)), x);
        ADD_AT(1)
    }
#undef ADD_AT
    double result = NAME(joined)(sum, product);
    for (; i < n && product; i++) {
        result *= (double)WIDEN(from[i]);
    }
    return result;
}

static void NAME(rows_sum)(const bp__reduce_piece *p, void *values, int64_t *indices) {
    const NAME(element) *from = (const NAME(element) *)(const void *)p->at[0];
    (void)indices;
    for (int64_t l = 0; l < p->lanes; l++, from += p->lane[0]) {
        ((double *)values)[l] += NAME(sum_of_row)(from, p->count, false);
    }
}

static void NAME(rows_prod)(const bp__reduce_piece *p, void *values, int64_t *indices) {
    const NAME(element) *from = (const NAME(element) *)(const void *)p->at[0];
    (void)indices;
    for (int64_t l = 0; l < p->lanes; l++, from += p->lane[0]) {
        ((double *)values)[l] *= NAME(sum_of_row)(from, p->count, true);
    }
}

static void NAME(store_sum)(int64_t lanes, const void *values, const int64_t *indices, char *to, int64_t stride,
                            bool i64, double divisor) {
    (void)indices, (void)i64;
    for (int64_t l = 0; l < lanes; l++) {
        ((NAME(element) *)(void *)to)[l * stride] = NARROW((REAL)(((const double *)values)[l] / divisor));
    }
}

/* ---- Variances ---- */
#include "kernel_variance.h"
#undef EACH_WHOLE_VECTOR

/* ---- Softmax ---- */

INLINE VECTOR NAME(exponential)(VECTOR x) {
    return _Generic((x), vector_f32 : exp_f32, vector_f64 : exp_f64)(x);
}

INLINE void NAME(exps_tile)(int64_t lane, int vectors, bool whole, int lanes, const bp__reduce_piece *p,
                            const NAME(number) * centers, double *sums, bool keep) {
    vector_f64 sum[TILE][NAME(PARTS)];
    VECTOR center[TILE];
    const NAME(element) *from = (const NAME(element) *)(const void *)p->at[0] + lane * p->lane[0];
    NAME(element) *to = (NAME(element) *)(void *)p->at[1] + lane * p->lane[1];
    UNROLL
    for (int v = 0; v < vectors; v++) {
        center[v] = NAME(read)(centers + lane + v * NAME(WIDTH), whole, lanes);
        UNROLL
        for (int h = 0; h < NAME(PARTS); h++) {
            sum[v][h] = splat_f64(0);
        }
    }
    for (int64_t i = 0; i < p->count; i++, from += p->next[0], to += p->next[1]) {
        UNROLL
        for (int v = 0; v < vectors; v++) {
            vector_f64 x[NAME(PARTS)];
            const VECTOR e = NAME(exponential)(NAME(get)(from + v * NAME(WIDTH), p->lane[0], whole, lanes) - center[v]);
            if (keep) {
                NAME(put)(to + v * NAME(WIDTH), p->lane[1], whole, lanes, e);
            }
            DOUBLES(e, x);
            UNROLL
            for (int h = 0; h < NAME(PARTS); h++) {
                sum[v][h] += x[h];
            }
        }
    }
    UNROLL
    for (int v = 0; v < vectors; v++) {
        NAME(add_sums)(sums + lane + v * NAME(WIDTH), sum[v], whole, lanes);
    }
}

static void NAME(exps)(const bp__reduce_piece *p, const void *centers, double *sums, bool keep) {
    if (keep) {
        EACH_TILE(p->lanes, p->lane[0] == 1 && p->lane[1] == 1, NAME(exps_tile), p, centers, sums, true);
    } else {
        EACH_TILE(p->lanes, p->lane[0] == 1, NAME(exps_tile), p, centers, sums, false);
    }
}

typedef enum NAME(writing) { NAME(SCALE), NAME(SOFTMAX), NAME(LOG_SOFTMAX) } NAME(writing);

INLINE void NAME(write_tile)(int64_t lane, int vectors, bool whole, int lanes, const bp__reduce_piece *p,
                             const NAME(number) * centers, const NAME(number) * scales, NAME(writing) what) {
    VECTOR center[TILE], scale[TILE];
    const NAME(element) *from = (const NAME(element) *)(const void *)p->at[0] + lane * p->lane[0];
    NAME(element) *to = (NAME(element) *)(void *)p->at[1] + lane * p->lane[1];
    UNROLL
    for (int v = 0; v < vectors; v++) {
        center[v] = NAME(read)(centers + lane + v * NAME(WIDTH), whole, lanes);
        scale[v] = NAME(read)(scales + lane + v * NAME(WIDTH), whole, lanes);
    }
    for (int64_t i = 0; i < p->count; i++, from += p->next[0], to += p->next[1]) {
        UNROLL
        for (int v = 0; v < vectors; v++) {
            VECTOR x;
            if (what == NAME(SCALE)) {
                x = NAME(get)(to + v * NAME(WIDTH), p->lane[1], whole, lanes) * scale[v];
            } else {
                x = NAME(get)(from + v * NAME(WIDTH), p->lane[0], whole, lanes) - center[v];
                x = what == NAME(SOFTMAX) ? NAME(exponential)(x) * scale[v] : x - scale[v];
            }
            NAME(put)(to + v * NAME(WIDTH), p->lane[1], whole, lanes, x);
        }
    }
}

#define WRITES(name, what)                                                                                             \
    static void NAME(name)(const bp__reduce_piece *p, const void *centers, const void *scales) {                       \
        EACH_TILE(p->lanes, p->lane[0] == 1 && p->lane[1] == 1, NAME(write_tile), p, centers, scales, NAME(what));     \
    }
WRITES(scale, SCALE)
WRITES(softmax, SOFTMAX)
WRITES(log_softmax, LOG_SOFTMAX)
#undef WRITES

/* ---- Gradients of softmax ---- */

INLINE void NAME(products_tile)(int64_t lane, int vectors, bool whole, int lanes, const bp__reduce_piece *p,
                                double *sums, bool multiply) {
    vector_f64 sum[TILE][NAME(PARTS)];
    const NAME(element) *y = (const NAME(element) *)(const void *)p->at[0] + lane * p->lane[0];
    const NAME(element) *d = (const NAME(element) *)(const void *)p->at[1] + lane * p->lane[1];
    NAME(clear)(sum);
    for (int64_t i = 0; i < p->count; i++, y += p->next[0], d += p->next[1]) {
        UNROLL
        for (int v = 0; v < vectors; v++) {
            vector_f64 x[NAME(PARTS)], factor[NAME(PARTS)];
            DOUBLES(NAME(get)(d + v * NAME(WIDTH), p->lane[1], whole, lanes), x);
            if (multiply) {
                DOUBLES(NAME(get)(y + v * NAME(WIDTH), p->lane[0], whole, lanes), factor);
            }
            UNROLL
            for (int h = 0; h < NAME(PARTS); h++) {
                sum[v][h] = multiply ? madd_f64(x[h], factor[h], sum[v][h]) : sum[v][h] + x[h];
            }
        }
    }
    UNROLL
    for (int v = 0; v < vectors; v++) {
        NAME(add_sums)(sums + lane + v * NAME(WIDTH), sum[v], whole, lanes);
    }
}

static void NAME(products)(const bp__reduce_piece *p, double *sums) {
    EACH_TILE(p->lanes, p->lane[0] == 1 && p->lane[1] == 1, NAME(products_tile), p, sums, true);
}

static void NAME(sums)(const bp__reduce_piece *p, double *sums) {
    EACH_TILE(p->lanes, p->lane[1] == 1, NAME(products_tile), p, sums, false);
}

INLINE void NAME(gradient_tile)(int64_t lane, int vectors, bool whole, int lanes, const bp__reduce_piece *p,
                                const NAME(number) * scales, bool logarithm) {
    const NAME(element) *y = (const NAME(element) *)(const void *)p->at[0] + lane * p->lane[0];
    const NAME(element) *d = (const NAME(element) *)(const void *)p->at[1] + lane * p->lane[1];
    NAME(element) *to = (NAME(element) *)(void *)p->at[2] + lane * p->lane[2];
    for (int64_t i = 0; i < p->count; i++, y += p->next[0], d += p->next[1], to += p->next[2]) {
        UNROLL
        for (int v = 0; v < vectors; v++) {
            const VECTOR sum = NAME(read)(scales + lane + v * NAME(WIDTH), whole, lanes);
            const VECTOR weight = NAME(get)(y + v * NAME(WIDTH), p->lane[0], whole, lanes);
            const VECTOR x = NAME(get)(d + v * NAME(WIDTH), p->lane[1], whole, lanes);
            NAME(put)
            (to + v * NAME(WIDTH), p->lane[2], whole, lanes,
             logarithm ? x - NAME(exponential)(weight) * sum : weight * (x - sum));
        }
    }
}

#define GRADIENT(name, logarithm)                                                                                      \
    static void NAME(name)(const bp__reduce_piece *p, const void *centers, const void *scales) {                       \
        (void)centers;                                                                                                 \
        EACH_TILE(p->lanes, p->lane[0] == 1 && p->lane[1] == 1 && p->lane[2] == 1, NAME(gradient_tile), p, scales,     \
                  logarithm);                                                                                          \
    }
GRADIENT(gradient, false)
GRADIENT(log_gradient, true)
#undef GRADIENT

static void NAME(set)(void *numbers, int64_t index, double value) {
    ((NAME(number) *)numbers)[index] = (REAL)value;
}

/* ---- Rows of softmax ---- */

/* Read and write the last lanes of a row of 16-bit numbers, one by one. They are functions, because the loops take much
 * code. */
static __attribute__((noinline, unused)) VECTOR NAME(get_last)(const NAME(element) * from, int lanes) {
    return NAME(get)(from, 1, false, lanes);
}

static __attribute__((noinline, unused)) void NAME(put_last)(NAME(element) * to, int lanes, VECTOR x) {
    NAME(put)(to, 1, false, lanes, x);
}

/* Reads vectors of a row; lanes behind its end are `rest`. */
INLINE VECTOR NAME(row_at)(const NAME(element) * from, int64_t i, int64_t n, REAL rest) {
    if (i + NAME(WIDTH) <= n) {
        return NAME(get)(from + i, 1, true, 0);
    }
    NAME(flags) lane = {0};
    for (int l = 0; l < NAME(WIDTH); l++) {
        lane[l] = (NAME(flag))l;
    }
    const int lanes = (int)(n - i);
    const VECTOR x =
        sizeof *from == sizeof(REAL) ? NAME(get)(from + i, 1, false, lanes) : NAME(get_last)(from + i, lanes);
    return NAME(choose)((NAME(flags))(lane < (NAME(flag))lanes), x, SPLAT(rest));
}

INLINE void NAME(write_at)(NAME(element) * to, int64_t i, int64_t n, VECTOR x) {
    const int lanes = (int)(n - i);
    if (i + NAME(WIDTH) <= n) {
        NAME(put)(to + i, 1, true, 0, x);
    } else if (sizeof *to == sizeof(REAL)) {
        NAME(put)(to + i, 1, false, lanes, x);
    } else {
        NAME(put_last)(to + i, lanes, x);
    }
}

/* Returns the sum of the exponentials of a row, and keeps them in the output if it has the type of the computation. */
INLINE double NAME(sum_of_exps)(const NAME(element) * from, NAME(element) * to, int64_t n, REAL center, bool keep) {
    vector_f64 sum[TILE][NAME(PARTS)], part[NAME(PARTS)];
    int64_t i = 0;
    NAME(clear)(sum);
/* `end` is where the row ends: in the first loop behind this vector, so that nothing checks it. */
#define ADD_EXPS(v, i, end)                                                                                            \
    do {                                                                                                               \
        const VECTOR e = NAME(exponential)(NAME(row_at)(from, i, end, (REAL)-INFINITY) - SPLAT(center));               \
        if (keep) {                                                                                                    \
            NAME(write_at)(to, i, end, e);                                                                             \
        }                                                                                                              \
        DOUBLES(e, part);                                                                                              \
        UNROLL                                                                                                         \
        for (int h = 0; h < NAME(PARTS); h++) {                                                                        \
            sum[v][h] += part[h];                                                                                      \
        }                                                                                                              \
    } while (0)
    for (; i + TILE * NAME(WIDTH) <= n; i += TILE * NAME(WIDTH)) {
        UNROLL
        for (int v = 0; v < TILE; v++) {
            ADD_EXPS(v, i + v * NAME(WIDTH), i + (v + 1) * NAME(WIDTH));
        }
    }
    for (; i < n; i += NAME(WIDTH)) {
        ADD_EXPS(0, i, n);
    }
#undef ADD_EXPS
    return NAME(joined)(sum, false);
}

INLINE void NAME(softmax_row)(const NAME(element) * from, NAME(element) * to, int64_t n, bool logarithm) {
    const bool keep = !logarithm && sizeof *to == sizeof(REAL);
    const REAL center = NAME(extreme_of)(from, n, false);
    const double sum = NAME(sum_of_exps)(from, to, n, center, keep);
    const REAL scale = (REAL)(logarithm ? log(sum) : 1 / sum);
    for (int64_t i = 0; i < n; i += NAME(WIDTH)) {
        VECTOR x = NAME(row_at)(keep ? to : from, i, n, 0);
        if (!keep) {
            x -= SPLAT(center);
            x = logarithm ? x - SPLAT(scale) : NAME(exponential)(x) * SPLAT(scale);
        } else {
            x *= SPLAT(scale);
        }
        NAME(write_at)(to, i, n, x);
    }
}

static void NAME(softmax_rows)(const bp__reduce_piece *p, bool logarithm) {
    const NAME(element) *from = (const NAME(element) *)(const void *)p->at[0];
    NAME(element) *to = (NAME(element) *)(void *)p->at[1];
    for (int64_t l = 0; l < p->lanes; l++, from += p->lane[0], to += p->lane[1]) {
        if (logarithm) {
            NAME(softmax_row)(from, to, p->count, true);
        } else {
            NAME(softmax_row)(from, to, p->count, false);
        }
    }
}

INLINE void NAME(gradient_row)(const NAME(element) * y, const NAME(element) * d, NAME(element) * to, int64_t n,
                               bool logarithm) {
    vector_f64 sum[TILE][NAME(PARTS)], x[NAME(PARTS)], weight[NAME(PARTS)];
    NAME(clear)(sum);
    for (int64_t i = 0; i < n; i += TILE * NAME(WIDTH)) {
        UNROLL
        for (int v = 0; v < TILE; v++) {
            if (i + v * NAME(WIDTH) < n) {
                DOUBLES(NAME(row_at)(d, i + v * NAME(WIDTH), n, 0), x);
                DOUBLES(NAME(row_at)(y, i + v * NAME(WIDTH), n, 0), weight);
                UNROLL
                for (int h = 0; h < NAME(PARTS); h++) {
                    sum[v][h] = logarithm ? sum[v][h] + x[h] : madd_f64(x[h], weight[h], sum[v][h]);
                }
            }
        }
    }
    const VECTOR all = SPLAT((REAL)NAME(joined)(sum, false));
    for (int64_t i = 0; i < n; i += NAME(WIDTH)) {
        const VECTOR of = NAME(row_at)(y, i, n, 0), by = NAME(row_at)(d, i, n, 0);
        NAME(write_at)(to, i, n, logarithm ? by - NAME(exponential)(of) * all : of * (by - all));
    }
}

static void NAME(gradient_rows)(const bp__reduce_piece *p, bool logarithm) {
    const NAME(element) *y = (const NAME(element) *)(const void *)p->at[0];
    const NAME(element) *d = (const NAME(element) *)(const void *)p->at[1];
    NAME(element) *to = (NAME(element) *)(void *)p->at[2];
    for (int64_t l = 0; l < p->lanes; l++, y += p->lane[0], d += p->lane[1], to += p->lane[2]) {
        if (logarithm) {
            NAME(gradient_row)(y, d, to, p->count, true);
        } else {
            NAME(gradient_row)(y, d, to, p->count, false);
        }
    }
}
