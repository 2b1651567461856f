/* kernel_bf16.h - template: product kernels that multiply bf16 numbers in pairs, as VDPBF16PS does. Parameters: SET,
 * SET_NAME, VECTOR_BYTES (64), REAL_VECTORS, REAL_COLUMNS, and DOT(sum, v, s), the instruction: for each lane of f32
 *     sum = v[odd] * s[odd] + sum, then sum = v[even] * s[even] + sum
 * with one rounding each, denormal numbers counting as 0.
 *
 * Elements of f32 are rounded to bf16, to nearest even, while they are packed. A sum begins with 0 for each block of k; if
 * k is odd, its last pair has a 0. Everything else is as in native.h, so results depend neither on threads nor on tiles.
 */
#include "native.h"

#include "kernel_vector.h"

#define JOIN__(a, b) a##_##b
#define JOIN_(a, b) JOIN__(a, b)
#define JOIN(a, b) JOIN_(a, b)

#define MOST_COLUMNS 8
#define REAL float
#define TYPE f32
#define VL (VECTOR_BYTES / 4)
#define VECTOR vector_f32
#define NAME(x) JOIN(x, TYPE)
#define MV REAL_VECTORS
#define NR REAL_COLUMNS
#define K_BLOCK 768 /* decides the results, as in kernel_set.h; the panels have the bytes of 384 elements of f32 */
#define S_CHUNK_BYTES (192 * 1024)
/* Columns of S that stay in the second-level cache while panels of V are read. */
#define CHUNK ((int)(S_CHUNK_BYTES / (K_BLOCK * sizeof(uint16_t)) / NR * NR))

#include "kernel_finish.h"

#include "kernel_half.h"
HALF(bf16)

/* ---- Packing ---- */

#define PACK_WIDTH_V(left) (NAME(vectors)(left) * VL)
#define S_LANES 8

#define PACK plain_v_f32
#define IN float
#define PACK_LANES VL
#define LANES LANES_F32
#define PACK_WIDTH(left) PACK_WIDTH_V(left)
#define PACK_ONE(x) (x)
#define PACK_LOAD(from) (*(const NAME(loose) *)(from))
#include "kernel_pack.h"

#define PACK plain_s_f32
#define IN float
#define PACK_LANES S_LANES
#define LANES LANES_8
#define PACK_WIDTH(left) NR
#define PACK_ONE(x) (x)
#define PACK_LOAD(from) (*(const JOIN(vector, plain_s_f32) *)(from))
#include "kernel_pack.h"

#define PACK plain_v_bf16
#define IN uint16_t
#define PACK_LANES VL
#define LANES LANES_F32
#define PACK_WIDTH(left) PACK_WIDTH_V(left)
#define PACK_ONE(x) widen_bf16(x)
#define PACK_LOAD(from) BF16_LOAD_V(from)
#include "kernel_pack.h"

#define PACK plain_s_bf16
#define IN uint16_t
#define PACK_LANES S_LANES
#define LANES LANES_8
#define PACK_WIDTH(left) NR
#define PACK_ONE(x) widen_bf16(x)
#define PACK_LOAD(from) BF16_LOAD_S(from)
#include "kernel_pack.h"

/* The bits of floats and of pairs: the half of an even k is the lower one. */
typedef uint32_t pairs_v __attribute__((vector_size(VECTOR_BYTES)));
typedef uint32_t pairs_s __attribute__((vector_size(4 * S_LANES)));
typedef uint32_t loose_v __attribute__((vector_size(VECTOR_BYTES), aligned(4), may_alias));
typedef uint32_t loose_s __attribute__((vector_size(4 * S_LANES), aligned(4), may_alias));

/* Returns the bits of floats rounded to bf16 in their upper halves. NaN becomes quiet. */
#define ROUND(lanes)                                                                                                   \
    INLINE pairs_##lanes round_##lanes(pairs_##lanes bits) {                                                           \
        const pairs_##lanes is_nan = (pairs_##lanes)((bits & 0x7fffffffu) > 0x7f800000u);                              \
        const pairs_##lanes nearest = bits + 0x7fffu + (bits >> 16 & 1u);                                              \
        return ((bits | 0x400000u) & is_nan) | (nearest & ~is_nan);                                                    \
    }                                                                                                                  \
    INLINE void pair_##lanes(uint32_t *to, const float *even, const float *odd) {                                      \
        const pairs_##lanes low = round_##lanes(*(const loose_##lanes *)(const void *)even);                           \
        pairs_##lanes high = {0};                                                                                      \
        if (odd) {                                                                                                     \
            high = round_##lanes(*(const loose_##lanes *)(const void *)odd);                                           \
        }                                                                                                              \
        *(loose_##lanes *)(void *)to = low >> 16 | (high & 0xffff0000u);                                               \
    }
ROUND(v)
ROUND(s)
#undef ROUND

/* Converts k rows of a panel; `width` is a multiple of S_LANES. */
static void pair_rows(void *panel, const float *rows, int width, int64_t k) {
    uint32_t *to = panel;
    for (int64_t l = 0; l < k; l += 2, to += width) {
        const float *even = rows + l * width, *odd = l + 1 < k ? even + width : NULL;
        if (width % VL == 0) {
            for (int i = 0; i < width; i += VL) {
                pair_v(to + i, even + i, odd ? odd + i : NULL);
            }
        } else {
            for (int i = 0; i < width; i += S_LANES) {
                pair_s(to + i, even + i, odd ? odd + i : NULL);
            }
        }
    }
}

/* Packs `count` rows of k elements into panels of pairs, some k of one panel at a time: as floats first. */
INLINE void pack_pairs(bp__native_pack plain, bool v, size_t element, void *panels, const void *source, int64_t across,
                       int64_t along, int64_t count, int64_t k) {
    enum { ROWS = 64 }; /* even; the floats stay in the first-level cache */
    float rows[ROWS * (MV * VL > NR ? MV * VL : NR)];
    uint32_t *to = panels;
    for (int64_t done = 0; done < count;) {
        const int width = v ? PACK_WIDTH_V(count - done) : NR;
        const int64_t some = count - done < width ? count - done : width;
        for (int64_t l = 0; l < k; l += ROWS) {
            const int64_t depth = k - l < ROWS ? k - l : ROWS;
            plain(rows, (const char *)source + (done * across + l * along) * (int64_t)element, across, along, some, depth,
                  false);
            pair_rows(to + l / 2 * width, rows, width, depth);
        }
        to += (k + 1) / 2 * width;
        done += some;
    }
}

#define PACK_PAIRS(name, which, v)                                                                                     \
    static void name(void *panels, const void *source, int64_t across, int64_t along, int64_t count, int64_t k,        \
                     bool conjugate) {                                                                                 \
        (void)conjugate;                                                                                               \
        pack_pairs(plain_##which, v, sizeof(IN), panels, source, across, along, count, k);                             \
    }
#define IN float
PACK_PAIRS(pack_v_f32, v_f32, true)
PACK_PAIRS(pack_s_f32, s_f32, false)
#undef IN
#define IN uint16_t
PACK_PAIRS(pack_v_bf16, v_bf16, true)
PACK_PAIRS(pack_s_bf16, s_bf16, false)
#undef IN
#undef PACK_PAIRS

/* ---- Tiles ---- */

/* Computes `count` tiles side by side, each of mv vectors by nr columns, from panels with t->k / 2 pairs. */
INLINE void tile(int mv, int nr, const bp__native_view *t, const uint32_t *panel, const uint32_t *s, float *c, int rows,
                 int64_t count) {
    const int64_t pairs = (t->k + 1) / 2;
    const NAME(target) target = NAME(target_of)(t, rows);
    for (; count > 0; count--, s += NR * pairs, c += nr * target.c_q) {
        const uint32_t *v = panel, *y = s;
        VECTOR sum[MOST_COLUMNS][MV];
        UNROLL
        for (int j = 0; j < nr; j++) {
            __builtin_prefetch(c + j * target.c_q, 1);
            UNROLL
            for (int i = 0; i < mv; i++) {
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
        NAME(finish)(mv, nr, sum, &target, c);
    }
}

typedef void tile_function(const bp__native_view *t, const uint32_t *v, const uint32_t *s, float *c, int rows,
                           int64_t count);
#define TILE(mv, nr)                                                                                                   \
    static void tile_##mv##nr(const bp__native_view *t, const uint32_t *v, const uint32_t *s, float *c, int rows,      \
                              int64_t count) {                                                                         \
        tile(mv, nr, t, v, s, c, rows, count);                                                                         \
    }
#define TILES(f) EIGHT(f, 1) EIGHT(f, 2) EIGHT(f, 3)
#define EIGHT(f, mv) f(mv, 1) f(mv, 2) f(mv, 3) f(mv, 4) f(mv, 5) f(mv, 6) f(mv, 7) f(mv, 8)
TILES(TILE)
#define ENTRY(mv, nr) [mv - 1][nr - 1] = tile_##mv##nr,
static tile_function *const tiles[MV][NR] = {TILES(ENTRY)};

/* Multiplies packed panels, tile by tile. The columns of S are cut into chunks that stay in the second-level cache
 * while all panels of V are read. */
static void block(const bp__native_view *b) {
    const int64_t pairs = (b->k + 1) / 2;
    float *c = b->c;
    for (int64_t chunk = 0; chunk < b->q; chunk += CHUNK) {
        const int64_t end = b->q - chunk < CHUNK ? b->q : chunk + CHUNK, rest = (end - chunk) % NR, q = end - rest;
        const uint32_t *v = b->v, *s = b->s;
        for (int64_t p = 0; p < b->p;) {
            const int mv = NAME(vectors)(b->p - p);
            const int rows = b->p - p < mv * VL ? (int)(b->p - p) : mv * VL;
            float *to = c + p * b->c_p;
            tiles[mv - 1][NR - 1](b, v, s + chunk * pairs, to + chunk * b->c_q, rows, (end - chunk) / NR);
            if (rest) {
                tiles[mv - 1][rest - 1](b, v, s + q * pairs, to + q * b->c_q, rows, 1);
            }
            v += mv * VL * pairs;
            p += rows;
        }
    }
}

/* ---- The table ---- */

#define KERNELS(type)                                                                                                  \
    .lanes = VL, .p_panel = MV * VL, .q_panel = NR, .k_block = K_BLOCK, .k_unit = 2, .packed = 2, .sum = 4,            \
    .pack_v = pack_v_##type, .pack_s = pack_s_##type, .plain_v = plain_v_##type, .plain_s = plain_s_##type,            \
    .pair = pair_rows, .block = block, .scale = scale_##type
const bp__native_set SET = {
    .name = SET_NAME,
    .of = {[BP_BF16 - BP_F16] = {KERNELS(bf16), .element = 2, .widen = widen_block_bf16, .narrow = narrow_block_bf16},
           [BP_F32 - BP_F16] = {KERNELS(f32), .element = 4}},
};
