/* kernel_variance.h - template: variances of lanes, for one floating type. Parameters: as in kernel_float.h, which
 * includes it.
 *
 * The deviations of a piece are differences to its first element, and then to their mean, in two passes over the piece,
 * which is in the cache. Pieces are joined by their counts, means and sums of squares (Chan, Golub, LeVeque), so that
 * memory is read once, and nothing grows with the mean of the elements. */

INLINE void NAME(read_lanes)(const NAME(element) * from, int v, bool whole, int lanes, int64_t stride, vector_f64 *to) {
    if (whole) {
        NAME(read_doubles)(from + v * NAME(WIDTH), to);
    } else {
        DOUBLES(NAME(get)(from, stride, false, lanes), to);
    }
}

INLINE void NAME(variance_tile)(int64_t lane, int vectors, bool whole, int lanes, const bp__reduce_piece *p,
                                bp__reduce_moments *values) {
    enum { LANES = VECTOR_BYTES / 8 };
    vector_f64 shift[TILE][NAME(PARTS)], mean[TILE][NAME(PARTS)], square[TILE][NAME(PARTS)], x[NAME(PARTS)];
    const NAME(element) *const first = (const NAME(element) *)(const void *)p->at[0] + lane * p->lane[0], *from = first;
    UNROLL
    for (int v = 0; v < vectors; v++) {
        NAME(read_lanes)(from, v, whole, lanes, p->lane[0], shift[v]);
        UNROLL
        for (int h = 0; h < NAME(PARTS); h++) {
            mean[v][h] = square[v][h] = splat_f64(0);
        }
    }
    for (int64_t i = 0; i < p->count; i++, from += p->next[0]) {
        UNROLL
        for (int v = 0; v < vectors; v++) {
            NAME(read_lanes)(from, v, whole, lanes, p->lane[0], x);
            UNROLL
            for (int h = 0; h < NAME(PARTS); h++) {
                mean[v][h] += x[h] - shift[v][h];
            }
        }
    }
    UNROLL
    for (int v = 0; v < vectors; v++) {
        UNROLL
        for (int h = 0; h < NAME(PARTS); h++) {
            mean[v][h] /= splat_f64((double)p->count);
        }
    }
    from = first;
    for (int64_t i = 0; i < p->count; i++, from += p->next[0]) {
        UNROLL
        for (int v = 0; v < vectors; v++) {
            NAME(read_lanes)(from, v, whole, lanes, p->lane[0], x);
            UNROLL
            for (int h = 0; h < NAME(PARTS); h++) {
                x[h] = (x[h] - shift[v][h]) - mean[v][h];
                square[v][h] = madd_f64(x[h], x[h], square[v][h]);
            }
        }
    }
    for (int v = 0; v < vectors; v++) {
        for (int i = 0; i < (whole ? NAME(WIDTH) : lanes); i++) {
            const int h = i / LANES, l = i % LANES;
            const bp__reduce_moments of_piece = {(double)p->count, shift[v][h][l], mean[v][h][l], 0, square[v][h][l]};
            join_moments(&values[lane + v * NAME(WIDTH) + i], &of_piece);
        }
    }
}

static void NAME(add_variance)(const bp__reduce_piece *p, void *values, int64_t *indices) {
    (void)indices;
    EACH_TILE(p->lanes, p->lane[0] == 1, NAME(variance_tile), p, values);
}

/* Returns the sum of the deviations of a row, or of their squares. */
INLINE double NAME(deviations)(const NAME(element) * from, int64_t n, double shift, double mean, bool squares) {
    vector_f64 sum[TILE][NAME(PARTS)], x[NAME(PARTS)];
    int64_t i = 0;
    memset(sum, 0, sizeof sum);
#define ADD_AT(v)                                                                                                      \
    UNROLL                                                                                                             \
    for (int h = 0; h < NAME(PARTS); h++) {                                                                            \
        x[h] -= splat_f64(shift);                                                                                      \
        if (squares) {                                                                                                 \
            x[h] -= splat_f64(mean);                                                                                   \
            sum[v][h] = madd_f64(x[h], x[h], sum[v][h]);                                                               \
        } else {                                                                                                       \
            sum[v][h] += x[h];                                                                                         \
        }                                                                                                              \
    }
    EACH_WHOLE_VECTOR(from, n, i, x, ADD_AT)
#undef ADD_AT
    double rest = 0;
    for (; i < n; i++) {
        const double deviation = ((double)WIDEN(from[i]) - shift) - mean;
        rest += squares ? deviation * deviation : deviation;
    }
    return NAME(joined)(sum, false) + rest;
}

static void NAME(rows_variance)(const bp__reduce_piece *p, void *of_values, int64_t *indices) {
    const NAME(element) *from = (const NAME(element) *)(const void *)p->at[0];
    bp__reduce_moments *values = of_values;
    (void)indices;
    for (int64_t l = 0; l < p->lanes; l++, from += p->lane[0]) {
        const double n = (double)p->count, shift = (double)WIDEN(from[0]);
        const double mean = NAME(deviations)(from, p->count, shift, 0, false) / n;
        const bp__reduce_moments of_row = {n, shift, mean, 0, NAME(deviations)(from, p->count, shift, mean, true)};
        join_moments(&values[l], &of_row);
    }
}

#define STORE(kind, FUNCTION)                                                                                          \
    static void NAME(store_##kind)(int64_t lanes, const void *values, const int64_t *indices, char *to,                \
                                   int64_t stride, bool i64, double divisor) {                                         \
        (void)indices, (void)i64;                                                                                      \
        for (int64_t l = 0; l < lanes; l++) {                                                                          \
            const double variance = ((const bp__reduce_moments *)values)[l].square / divisor;                          \
            ((NAME(element) *)(void *)to)[l * stride] = NARROW((REAL)FUNCTION(variance));                              \
        }                                                                                                              \
    }
STORE(var, SAME)
STORE(std, sqrt)
#undef STORE
