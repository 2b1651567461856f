/* kernel_real.h - template: product kernels of one real type. Parameters: REAL, TYPE (f32 or f64), VL (elements of a
 * vector), K_BLOCK. A tile has REAL_VECTORS vectors and REAL_COLUMNS columns. gemm.h explains why all paths give
 * bitwise the same results.
 */
#define NAME(x) JOIN(x, TYPE)
#define VECTOR NAME(vector)
#define MV REAL_VECTORS
#define NR REAL_COLUMNS
/* Columns of S that stay in the second-level cache while panels of V are read. */
#define CHUNK ((int)(S_CHUNK_BYTES / (K_BLOCK * sizeof(REAL)) / NR * NR))

#include "kernel_finish.h"

/* Computes `count` tiles side by side, each of mv vectors by nr columns: all sums are in registers, and k is the outer
 * loop. `packed`: both operands are panels. `part`: the last vector of V in memory is not full. */
INLINE void NAME(tile)(int mv, int nr, bool packed, bool part, const bp__native_view *t, const REAL *panel,
                       const REAL *s, REAL *c, int rows, int64_t count) {
    const int64_t depth = t->k, v_k = packed ? mv * VL : t->v_k, s_k = packed ? NR : t->s_k;
    const int64_t s_q = packed ? 1 : t->s_q, s_tile = packed ? NR * depth : nr * s_q;
    const NAME(target) target = NAME(target_of)(t, rows);
    for (; count > 0; count--, s += s_tile, c += nr * target.c_q) {
        const REAL *v = panel, *y = s;
        VECTOR sum[MOST_COLUMNS][MV];
        UNROLL
        for (int j = 0; j < nr; j++) {
            UNROLL
            for (int i = 0; i < mv; i++) {
                if (packed) {
                    __builtin_prefetch(c + j * target.c_q + i * VL, 1);
                }
                sum[j][i] = NAME(splat)(0);
            }
        }
        for (int64_t k = depth; k > 0; k--, v += v_k, y += s_k) {
            VECTOR x[MV];
            UNROLL
            for (int i = 0; i < mv; i++) {
                x[i] = part && i == mv - 1 ? NAME(load_part)(v + i * VL, rows - i * VL) : NAME(load)(v + i * VL);
            }
            UNROLL
            for (int j = 0; j < nr; j++) {
                const VECTOR factor = NAME(splat)(y[j * s_q]);
                UNROLL
                for (int i = 0; i < mv; i++) {
                    sum[j][i] = NAME(madd)(x[i], factor, sum[j][i]);
                }
            }
        }
        NAME(finish)(mv, nr, part, sum, &target, c);
    }
}

/* One function for each size of tile and location of its operands. If a load takes a part of a vector as well as a
 * whole one, all tiles from memory use it. */
typedef void NAME(tile_function)(const bp__native_view *t, const REAL *v, const REAL *s, REAL *c, int rows,
                                 int64_t count);
#define TILE(name, mv, nr, packed, part)                                                                               \
    static void NAME(name##_##mv##nr)(const bp__native_view *t, const REAL *v, const REAL *s, REAL *c, int rows,       \
                                      int64_t count) {                                                                 \
        NAME(tile)(mv, nr, packed, part, t, v, s, c, rows, count);                                                     \
    }
#define PANELS_TILE(mv, nr) TILE(panels, mv, nr, true, false)
#if PARTS_OR_WHOLE
#define MEMORY_TILES(mv, nr) TILE(part, mv, nr, false, true)
#else
#define MEMORY_TILES(mv, nr) TILE(memory, mv, nr, false, false) TILE(part, mv, nr, false, true)
#endif
EACH_TILE(PANELS_TILE, REAL_VECTORS, REAL_COLUMNS)
EACH_MEMORY_TILE(MEMORY_TILES, REAL_VECTORS)
#define PANELS_ROW(mv, nr) [FROM_PANELS][mv - 1][nr - 1] = NAME(panels_##mv##nr),
#if PARTS_OR_WHOLE
#define MEMORY_ROW(mv, nr) [FROM_MEMORY][mv - 1][nr - 1] = NAME(part_##mv##nr),
#else
#define MEMORY_ROW(mv, nr) [FROM_MEMORY][mv - 1][nr - 1] = NAME(memory_##mv##nr),
#endif
#define PART_ROW(mv, nr) [FROM_PART][mv - 1][nr - 1] = NAME(part_##mv##nr),
static NAME(tile_function) *const NAME(tiles)[3][MV][MOST_COLUMNS] = {EACH_TILE(PANELS_ROW, REAL_VECTORS, REAL_COLUMNS)
                                                                          EACH_MEMORY_TILE(MEMORY_ROW, REAL_VECTORS)
                                                                              EACH_MEMORY_TILE(PART_ROW, REAL_VECTORS)};
#undef TILE
#undef PANELS_TILE
#undef MEMORY_TILES
#undef PANELS_ROW
#undef MEMORY_ROW
#undef PART_ROW

/* Multiplies packed panels, tile by tile. The columns of S are cut into chunks that stay in the second-level cache
 * while all panels of V are read. */
static void NAME(block)(const bp__native_view *given) {
    bp__native_view own = *given, *b = &own;
    REAL *c = b->c;
    for (int64_t chunk = 0; chunk < b->q; chunk += CHUNK) {
        const int64_t end = b->q - chunk < CHUNK ? b->q : chunk + CHUNK;
        const REAL *v = b->v;
        b->bias = given->bias;
        for (int64_t p = 0; p < b->p;) {
            const int mv = NAME(vectors)(b->p - p);
            const int rows = b->p - p < mv * VL ? (int)(b->p - p) : mv * VL;
            const int64_t whole = (end - chunk) / NR, rest = (end - chunk) % NR, q = end - rest;
            const REAL *s = b->s;
            NAME(tiles)
            [FROM_PANELS][mv - 1][NR - 1](b, v, s + chunk * b->k, c + p * b->c_p + chunk * b->c_q, rows, whole);
            if (rest) {
                NAME(tiles)
                [FROM_PANELS][mv - 1][rest - 1](b, v, s + q * b->k, c + p * b->c_p + q * b->c_q, rows, 1);
            }
            v += mv * VL * b->k;
            b->bias = b->bias ? (const REAL *)b->bias + rows : NULL;
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
