/* kernel_real.h - template: product kernels of one real type. Parameters: REAL, TYPE (f32 or f64), VL (elements of a
 * vector), K_BLOCK. A tile has REAL_VECTORS vectors and REAL_COLUMNS columns. native.h explains why all paths give
 * bitwise the same results.
 */
#define NAME(x) JOIN(x, TYPE)
#define VECTOR NAME(vector)
#define MV REAL_VECTORS
#define NR REAL_COLUMNS
/* Columns of S that stay in the second-level cache while panels of V are read. */
#define CHUNK ((int)(S_CHUNK_BYTES / (K_BLOCK * sizeof(REAL)) / NR * NR))

typedef REAL NAME(loose) __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(REAL)), may_alias));
INLINE VECTOR NAME(load)(const REAL *from) {
    return *(const NAME(loose) *)from;
}
INLINE void NAME(store)(REAL *to, VECTOR x) {
    *(NAME(loose) *)to = x;
}

/* Returns the number of vectors of the next panel of V. Panels are full, except that MV + 1 remaining vectors are cut
 * into two panels of similar size. */
INLINE int NAME(vectors)(int64_t left) {
    int64_t vectors = (left + VL - 1) / VL;
    return vectors == MV + 1 && MV > 2 ? MV - 1 : vectors < MV ? (int)vectors : MV;
}

INLINE REAL NAME(update)(REAL alpha, REAL sum, REAL beta, REAL c) {
    return NAME(scalar_madd)(alpha, sum, beta * c);
}

/* Writes the sums of a tile to C: c = alpha * sum + beta * c. `rows` of the tile's mv * VL rows exist. */
INLINE void NAME(finish)(int mv, int nr, VECTOR (*sum)[MV], const bp__native_view *t, REAL *c, int rows) {
    const REAL alpha = (REAL)t->alpha[0], beta = (REAL)t->beta[0];
    const int64_t c_q = t->c_q, c_p = t->c_p;
    if (c_p == 1 && rows == mv * VL) {
        const VECTOR alphas = NAME(splat)(alpha), betas = NAME(splat)(beta);
        UNROLL
        for (int j = 0; j < nr; j++) {
            UNROLL
            for (int i = 0; i < mv; i++) {
                REAL *to = c + j * c_q + i * VL;
                NAME(store)(to, beta == 0 ? alphas * sum[j][i] : NAME(madd)(alphas, sum[j][i], betas * NAME(load)(to)));
            }
        }
        return;
    }
    REAL lanes[NR * MV * VL];
    UNROLL
    for (int j = 0; j < nr; j++) {
        UNROLL
        for (int i = 0; i < mv; i++) {
            NAME(store)(lanes + (j * mv + i) * VL, sum[j][i]);
        }
    }
    for (int j = 0; j < nr; j++) {
        for (int i = 0; i < rows; i++) {
            REAL *to = c + j * c_q + i * c_p, x = lanes[j * mv * VL + i];
            *to = beta == 0 ? alpha * x : NAME(update)(alpha, x, beta, *to);
        }
    }
}

/* Computes a tile of mv vectors by nr columns: all sums are in registers, and k is the outer loop. `packed`: both
 * operands are panels. `part`: the last vector of V in memory is not full. */
INLINE void NAME(tile)(int mv, int nr, bool packed, bool part, const bp__native_view *t, const REAL *v, const REAL *s,
                       REAL *c, int rows) {
    const int64_t v_k = packed ? mv * VL : t->v_k, s_k = packed ? NR : t->s_k, s_q = packed ? 1 : t->s_q;
    VECTOR sum[NR][MV];
    UNROLL
    for (int j = 0; j < nr; j++) {
        if (packed) {
            __builtin_prefetch(c + j * t->c_q, 1);
        }
        UNROLL
        for (int i = 0; i < mv; i++) {
            sum[j][i] = NAME(splat)(0);
        }
    }
    for (int64_t k = t->k; k > 0; k--) {
        VECTOR x[MV];
        UNROLL
        for (int i = 0; i < mv; i++) {
            x[i] = part && i == mv - 1 ? NAME(load_part)(v + i * VL, rows - i * VL) : NAME(load)(v + i * VL);
        }
        UNROLL
        for (int j = 0; j < nr; j++) {
            const VECTOR y = NAME(splat)(s[j * s_q]);
            UNROLL
            for (int i = 0; i < mv; i++) {
                sum[j][i] = NAME(madd)(x[i], y, sum[j][i]);
            }
        }
        v += v_k;
        s += s_k;
    }
    NAME(finish)(mv, nr, sum, t, c, rows);
}

/* One function for each size of tile and location of its operands. */
typedef void NAME(tile_function)(const bp__native_view *t, const REAL *v, const REAL *s, REAL *c, int rows);
#define TILE(mv, nr)                                                                                                   \
    static void NAME(panels_##mv##nr)(const bp__native_view *t, const REAL *v, const REAL *s, REAL *c, int rows) {     \
        NAME(tile)(mv, nr, true, false, t, v, s, c, rows);                                                             \
    }                                                                                                                  \
    static void NAME(memory_##mv##nr)(const bp__native_view *t, const REAL *v, const REAL *s, REAL *c, int rows) {     \
        NAME(tile)(mv, nr, false, false, t, v, s, c, rows);                                                            \
    }                                                                                                                  \
    static void NAME(part_##mv##nr)(const bp__native_view *t, const REAL *v, const REAL *s, REAL *c, int rows) {       \
        NAME(tile)(mv, nr, false, true, t, v, s, c, rows);                                                             \
    }
EACH_TILE(TILE, REAL_VECTORS, REAL_COLUMNS)
#define PANELS_ROW(mv, nr) [FROM_PANELS][mv - 1][nr - 1] = NAME(panels_##mv##nr),
#define MEMORY_ROW(mv, nr) [FROM_MEMORY][mv - 1][nr - 1] = NAME(memory_##mv##nr),
#define PART_ROW(mv, nr) [FROM_PART][mv - 1][nr - 1] = NAME(part_##mv##nr),
static NAME(tile_function) *const NAME(tiles)[3][MV][NR] = {EACH_TILE(PANELS_ROW, REAL_VECTORS, REAL_COLUMNS)
                                                                EACH_TILE(MEMORY_ROW, REAL_VECTORS, REAL_COLUMNS)
                                                                    EACH_TILE(PART_ROW, REAL_VECTORS, REAL_COLUMNS)};
#undef TILE
#undef PANELS_ROW
#undef MEMORY_ROW
#undef PART_ROW

/* Multiplies packed panels, tile by tile. The columns of S are cut into chunks that stay in the second-level cache
 * while all panels of V are read. */
static void NAME(block)(const bp__native_view *b) {
    REAL *c = b->c;
    for (int64_t chunk = 0; chunk < b->q; chunk += CHUNK) {
        const int64_t end = b->q - chunk < CHUNK ? b->q : chunk + CHUNK;
        const REAL *v = b->v;
        for (int64_t p = 0; p < b->p;) {
            const int mv = NAME(vectors)(b->p - p);
            const int rows = b->p - p < mv * VL ? (int)(b->p - p) : mv * VL;
            for (int64_t q = chunk; q < end; q += NR) {
                const int nr = end - q < NR ? (int)(end - q) : NR;
                NAME(tiles)
                [FROM_PANELS][mv - 1][nr - 1](b, v, (const REAL *)b->s + q * b->k, c + p * b->c_p + q * b->c_q, rows);
            }
            v += mv * VL * b->k;
            p += rows;
        }
    }
}

#define PACK NAME(pack_v)
#define IN REAL
#define PACK_LANES VL
#define LANES VECTOR_LANES
#define PACK_WIDTH(left) (NAME(vectors)(left) * VL)
#define PACK_ONE(x) (x)
#define PACK_LOAD(from) (*(const NAME(loose) *)(from))
#include "kernel_pack.h"

#define PACK NAME(pack_s)
#define IN REAL
#define PACK_LANES S_LANES
#define LANES S_LANES_LIST
#define PACK_WIDTH(left) NR
#define PACK_ONE(x) (x)
#define PACK_LOAD(from) (*(const JOIN(vector, NAME(pack_s)) *)(from))
#include "kernel_pack.h"

/* Computes a small product. S is read in memory. V is read in memory if its columns are contiguous; otherwise it is
 * packed panel by panel into scratch. */
static void NAME(small)(const bp__native_view *whole, void *scratch) {
    bp__native_view t = *whole;
    const bool in_place = whole->v_p == 1;
    for (int64_t k = 0; k < whole->k; k += K_BLOCK) {
        t.k = whole->k - k < K_BLOCK ? whole->k - k : K_BLOCK;
        for (int64_t p = 0; p < whole->p;) {
            const int mv = NAME(vectors)(whole->p - p);
            const int rows = whole->p - p < mv * VL ? (int)(whole->p - p) : mv * VL;
            const REAL *v = (const REAL *)whole->v + p * whole->v_p + k * whole->v_k;
            if (!in_place) {
                NAME(pack_v)(scratch, v, whole->v_p, whole->v_k, rows, t.k, false);
                v = scratch;
                t.v_k = mv * VL;
            }
            NAME(tile_function) *const *tile =
                NAME(tiles)[in_place && rows < mv * VL ? FROM_PART : FROM_MEMORY][mv - 1];
            for (int64_t q = 0; q < whole->q; q += NR) {
                const int nr = whole->q - q < NR ? (int)(whole->q - q) : NR;
                tile[nr - 1](&t, v, (const REAL *)whole->s + q * whole->s_q + k * whole->s_k,
                             (REAL *)whole->c + p * whole->c_p + q * whole->c_q, rows);
            }
            p += rows;
        }
        t.beta[0] = 1;
    }
}
