/* kernel_pairs.h - template: multiplies panels whose elements are pairs of numbers with neighbouring k. Parameters: REAL
 * (type of sums and of C), VECTOR (a vector of it), VL (its elements), NAME(x) (appends the type's suffix), REAL_VECTORS
 * and REAL_COLUMNS of a tile (3 and 8, or 2 and 4), NR and MV (the same), K_BLOCK, and DOT(sum, v, s): for each lane, the
 * sum plus the two products.
 */
typedef uint32_t pairs_v __attribute__((vector_size(VECTOR_BYTES)));
typedef uint32_t loose_v __attribute__((vector_size(VECTOR_BYTES), aligned(4), may_alias));

#define S_CHUNK_BYTES (192 * 1024)
/* Columns of S that stay in the second-level cache while panels of V are read. */
#define CHUNK ((int)(S_CHUNK_BYTES / (K_BLOCK * sizeof(uint16_t)) / NR * NR))

/* ---- Tiles ---- */

/* Computes `count` tiles side by side, each of mv vectors by nr columns, from panels with t->k / 2 pairs. */
INLINE void tile(int mv, int nr, const bp__native_view *t, const uint32_t *panel, const uint32_t *s, REAL *c, int rows,
                 int64_t count) {
    const int64_t pairs = (t->k + 1) / 2;
    const NAME(target) target = NAME(target_of)(t, rows);
    for (; count > 0; count--, s += NR * pairs, c += nr * target.c_q) {
        const uint32_t *v = panel, *y = s;
        VECTOR sum[MOST_COLUMNS][MV];
        UNROLL
        for (int j = 0; j < nr; j++) {
            UNROLL
            for (int i = 0; i < mv; i++) {
                __builtin_prefetch(c + j * target.c_q + i * VL, 1);
                sum[j][i] = NAME(splat)(0);
            }
        }
        for (int64_t l = pairs; l > 0; l--, v += mv * VL, y += NR) {
            pairs_v x[MV];
            UNROLL
            for (int i = 0; i < mv; i++) {
                x[i] = *(const loose_v *)(v + i * VL);
            }
            UNROLL
            for (int j = 0; j < nr; j++) {
                const pairs_v factor = (pairs_v){0} + y[j];
                UNROLL
                for (int i = 0; i < mv; i++) {
                    sum[j][i] = DOT(sum[j][i], x[i], factor);
                }
            }
        }
        if (PARTS_OF_VECTORS && !PARTS_OR_WHOLE && rows < mv * VL) {
            NAME(finish)(mv, nr, true, sum, t, &target, c);
        } else {
            NAME(finish)(mv, nr, false, sum, t, &target, c);
        }
    }
}

typedef void tile_function(const bp__native_view *t, const uint32_t *v, const uint32_t *s, REAL *c, int rows,
                           int64_t count);
#define TILE(mv, nr)                                                                                                   \
    static void tile_##mv##nr(const bp__native_view *t, const uint32_t *v, const uint32_t *s, REAL *c, int rows,      \
                              int64_t count) {                                                                         \
        tile(mv, nr, t, v, s, c, rows, count);                                                                         \
    }
#define FOUR(f, mv) f(mv, 1) f(mv, 2) f(mv, 3) f(mv, 4)
#define EIGHT(f, mv) FOUR(f, mv) f(mv, 5) f(mv, 6) f(mv, 7) f(mv, 8)
#if REAL_COLUMNS == 8
#define TILES(f) EIGHT(f, 1) EIGHT(f, 2) EIGHT(f, 3)
#else
#define TILES(f) FOUR(f, 1) FOUR(f, 2)
#endif
TILES(TILE)
#define ENTRY(mv, nr) [mv - 1][nr - 1] = tile_##mv##nr,
static tile_function *const tiles[MV][NR] = {TILES(ENTRY)};

/* Multiplies packed panels, tile by tile. The columns of S are cut into chunks that stay in the second-level cache
 * while all panels of V are read. */
static void block(const bp__native_view *given) {
    bp__native_view own = *given, *b = &own;
    const int64_t pairs = (b->k + 1) / 2;
    REAL *c = b->c;
    for (int64_t chunk = 0; chunk < b->q; chunk += CHUNK) {
        const int64_t end = b->q - chunk < CHUNK ? b->q : chunk + CHUNK, rest = (end - chunk) % NR, q = end - rest;
        const uint32_t *v = b->v, *s = b->s;
        b->bias = given->bias;
        for (int64_t p = 0; p < b->p;) {
            const int mv = NAME(vectors)(b->p - p);
            const int rows = b->p - p < mv * VL ? (int)(b->p - p) : mv * VL;
            REAL *to = c + p * b->c_p;
            tiles[mv - 1][NR - 1](b, v, s + chunk * pairs, to + chunk * b->c_q, rows, (end - chunk) / NR);
            if (rest) {
                tiles[mv - 1][rest - 1](b, v, s + q * pairs, to + q * b->c_q, rows, 1);
            }
            v += mv * VL * pairs;
            b->bias = b->bias ? (const REAL *)b->bias + rows : NULL;
            p += rows;
        }
    }
}
