/* kernel_bf16.h - template: product kernels that multiply bf16 numbers in pairs, as VDPBF16PS does. Parameters: SET,
 * SET_NAME, VECTOR_BYTES (64), REAL_VECTORS, REAL_COLUMNS, and DOT(sum, v, s), the instruction: for each lane of f32
 *     sum = v[odd] * s[odd] + sum, then sum = v[even] * s[even] + sum
 * with one rounding each, denormal numbers counting as 0.
 *
 * Elements of f32 are rounded to bf16, to nearest even, while they are packed. A sum begins with 0 for each block of k; if
 * k is odd, its last pair has a 0. Everything else is as in gemm.h, so results depend neither on threads nor on tiles.
 */
#include "gemm.h"

#include "providers/native/kernel_vector.h"

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

#include "kernel_pairs.h"

typedef uint32_t pairs_s __attribute__((vector_size(4 * S_LANES)));
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

/* Packs `count` rows of k elements into panels of pairs, some k of one panel at a time: as rows first. */
INLINE void pack_pairs(bp__native_pack plain, bool v, size_t element, void *panels, const void *source, int64_t across,
                       int64_t along, int64_t count, int64_t k) {
    enum { ROWS = 32 }; /* even; they stay in the first-level cache */
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

/* ---- The table ---- */

#define KERNELS(type)                                                                                                  \
    .lanes = VL, .p_panel = MV * VL, .q_panel = NR, .k_block = K_BLOCK, .k_unit = 2, .packed = 2, .sum = 4,            \
    .pack_v = pack_v_##type, .pack_s = pack_s_##type, .plain_v = plain_v_##type, .plain_s = plain_s_##type,            \
    .pair = pair_rows, .block = block, .scale = scale_##type
const bp__native_set SET = {
    .name = SET_NAME,
    .of = {[BP_BF16 - BP_F16] = {KERNELS(bf16), .element = 2, .result = 2, .widen = widen_block_bf16, .narrow = narrow_block_bf16},
           [BP_F32 - BP_F16] = {KERNELS(f32), .element = 4, .result = 4}},
};
