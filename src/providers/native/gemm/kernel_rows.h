/* kernel_rows.h - template: products of a few columns of S with rows of V that are contiguous along k, such as a row-major
 * matrix times a vector. Squares of V are transposed in registers, because packing V would take longer than the product.
 * Included after kernel_real.h, with the same parameters.
 */

/* Elements of V that are loaded at once from a row. */
#define QUAD (16 / (int)sizeof(REAL))
#define QUADS(x) JOIN(x##_quad, TYPE)

/* Lanes of two vectors that are interleaved, or put side by side, within each 16 bytes. */
#define UNPACK_LOW(lane, a) ((lane) / QUAD * QUAD + (lane) % QUAD / 2 + ((lane)&1 ? VL : 0))
#define UNPACK_HIGH(lane, a) (UNPACK_LOW(lane, a) + QUAD / 2)
#define HALVES_LOW(lane, a) ((lane) % 4 < 2 ? (lane) : (lane)-2 + VL)
#define HALVES_HIGH(lane, a) ((lane) % 4 < 2 ? (lane) + 2 : (lane) + VL)

/* Loads elements [0, count) of VL rows. Vector l of `to` gets element l of each row. If `edge`, row i is at at[i],
 * otherwise at i * v_p. */
INLINE void NAME(load_rows)(VECTOR *to, const REAL *from, int64_t v_p, bool edge, const int64_t *at, int count) {
    VECTOR row[QUAD];
    UNROLL
    for (int i = 0; i < QUAD; i++) {
        QUADS(vector) part[VL / QUAD];
        UNROLL
        for (int j = 0; j < VL / QUAD; j++) {
            const int lane = i + j * QUAD;
            const REAL *x = from + (edge ? at[lane] : lane * v_p);
            part[j] = count < QUAD ? QUADS(load_part)(x, count) : QUADS(load)(x);
        }
        row[i] = QUADS(join)(part);
    }
    UNROLL
    for (int i = 0; i < QUAD; i += 2) {
        to[i / 2] = __builtin_shufflevector(row[i], row[i + 1], VECTOR_LANES(UNPACK_LOW, 0));
        to[i / 2 + QUAD / 2] = __builtin_shufflevector(row[i], row[i + 1], VECTOR_LANES(UNPACK_HIGH, 0));
    }
    if (QUAD == 4) {
        const VECTOR a = to[0], b = to[1], c = to[QUAD - 2], d = to[QUAD - 1];
        to[0] = __builtin_shufflevector(a, b, VECTOR_LANES(HALVES_LOW, 0));
        to[1] = __builtin_shufflevector(a, b, VECTOR_LANES(HALVES_HIGH, 0));
        to[QUAD - 2] = __builtin_shufflevector(c, d, VECTOR_LANES(HALVES_LOW, 0));
        to[QUAD - 1] = __builtin_shufflevector(c, d, VECTOR_LANES(HALVES_HIGH, 0));
    }
}

/* sum[j] += elements [0, count) of VL rows times column j of S, k ascending: the chain of gemm.h. */
INLINE void NAME(add_rows)(int nr, VECTOR *sum, const REAL *v, const bp__native_view *t, const REAL *s, bool edge,
                           const int64_t *at, int count) {
    VECTOR x[QUAD];
    NAME(load_rows)(x, v, t->v_p, edge, at, count);
    UNROLL
    for (int l = 0; l < QUAD; l++) {
        if (l < count) {
            UNROLL
            for (int j = 0; j < nr; j++) {
                sum[j] = NAME(madd)(x[l], NAME(splat)(s[l * t->s_k + j * t->s_q]), sum[j]);
            }
        }
    }
}

/* Returns whether the lines of many rows would be in a few sets of a first-level cache, and would be evicted before all
 * of a line is used. */
INLINE bool NAME(rows_collide)(int64_t v_p) {
    const int64_t period = 1024 / (int64_t)sizeof(REAL), close = 16 / (int64_t)sizeof(REAL);
    const int64_t rest = (v_p % period + period) % period;
    return rest < close || rest > period - close;
}

/* Computes nr columns of C for `groups` vectors of rows, where `rows` rows exist. Each group has chains of its own.
 * `edge`: the last group is not full. */
INLINE void NAME(rows_tile)(int groups, int nr, bool edge, const bp__native_view *whole, const REAL *v, const REAL *s,
                            REAL *c, int rows) {
    const bp__native_view view = *whole, *t = &view; /* a copy that no store to C can change */
    const int64_t below = VL * t->v_p;
    VECTOR sum[MOST_GROUPS][MOST_COLUMNS];
    UNROLL
    for (int i = 0; i < groups; i++) {
        UNROLL
        for (int j = 0; j < nr; j++) {
            sum[i][j] = NAME(splat)(0);
        }
    }
    const int last = rows - (groups - 1) * VL;
    int64_t at[VL]; /* of the rows of the last group. The last row is read again for those that do not exist. */
    for (int i = 0; edge && i < VL; i++) {
        at[i] = (i < last ? i : last - 1) * t->v_p;
    }
    int64_t k = 0;
    for (; k + QUAD <= t->k; k += QUAD) {
        UNROLL
        for (int i = 0; i < groups; i++) {
            const REAL *x = v + k + i * below;
            OPAQUE(x); /* otherwise the compiler keeps a pointer to each row, and runs out of registers */
            NAME(add_rows)(nr, sum[i], x, t, s + k * t->s_k, edge && i == groups - 1, at, QUAD);
        }
    }
    if (k < t->k) {
        UNROLL
        for (int i = 0; i < groups; i++) {
            NAME(add_rows)
            (nr, sum[i], v + k + i * below, t, s + k * t->s_k, edge && i == groups - 1, at, (int)(t->k - k));
        }
    }
    UNROLL
    for (int i = 0; i < groups; i++) {
        const bool part = edge && i == groups - 1;
        const NAME(target) target = NAME(target_of)(t, part ? last : VL);
        VECTOR columns[MOST_COLUMNS][MV];
        UNROLL
        for (int j = 0; j < nr; j++) {
            columns[j][0] = sum[i][j];
        }
        NAME(finish)(1, nr, part, columns, &target, c + i * VL * target.c_p);
    }
}

typedef void NAME(rows_function)(const bp__native_view *t, const REAL *v, const REAL *s, REAL *c, int rows);
#define ROWS_TILE(groups, nr)                                                                                          \
    static void NAME(rows_##groups##nr)(const bp__native_view *t, const REAL *v, const REAL *s, REAL *c, int rows) {   \
        NAME(rows_tile)(groups, nr, false, t, v, s, c, rows);                                                          \
    }                                                                                                                  \
    static void NAME(edge_##groups##nr)(const bp__native_view *t, const REAL *v, const REAL *s, REAL *c, int rows) {   \
        NAME(rows_tile)(groups, nr, true, t, v, s, c, rows);                                                           \
    }
#define EACH_ROWS_TILE(f) f(1, 1) f(2, 1) f(3, 1) f(4, 1) f(1, 2) f(2, 2)
EACH_ROWS_TILE(ROWS_TILE)
#define ROWS_ROW(groups, nr) [0][nr - 1][groups - 1] = NAME(rows_##groups##nr), [1][nr - 1][groups - 1] = NAME(edge_##groups##nr),
static NAME(rows_function) *const NAME(rows_functions)[2][ROWS_COLUMNS][MOST_GROUPS] = {EACH_ROWS_TILE(ROWS_ROW)};
#undef ROWS_TILE
#undef EACH_ROWS_TILE
#undef ROWS_ROW

/* Computes C for q of at most ROWS_COLUMNS and v_k == 1. The groups of a tile are shared out evenly. */
static void NAME(rows)(const bp__native_view *whole) {
    bp__native_view t = *whole;
    const int most_groups = whole->q == 1 ? MOST_GROUPS : MOST_GROUPS / 2, of_a_set = VL < 8 ? 8 / VL : 1;
    const int most = NAME(rows_collide)(whole->v_p) && most_groups > of_a_set ? of_a_set : most_groups;
    for (int64_t k = 0; k < whole->k; k += K_BLOCK) {
        t.k = whole->k - k < K_BLOCK ? whole->k - k : K_BLOCK;
        for (int64_t p = 0; p < whole->p;) {
            const int64_t left = whole->p - p, groups = (left + VL - 1) / VL, tiles = (groups + most - 1) / most;
            const int64_t now = (groups + tiles - 1) / tiles;
            const int rows = left < now * VL ? (int)left : (int)now * VL;
            NAME(rows_functions)
            [rows < now * VL][whole->q - 1][now - 1](&t, (const REAL *)whole->v + p * whole->v_p + k,
                                                     (const REAL *)whole->s + k * whole->s_k,
                                                     (REAL *)whole->c + p * whole->c_p, rows);
            p += rows;
        }
        t.beta[0] = 1;
    }
}

#undef QUAD
#undef QUADS
#undef UNPACK_LOW
#undef UNPACK_HIGH
#undef HALVES_LOW
#undef HALVES_HIGH
