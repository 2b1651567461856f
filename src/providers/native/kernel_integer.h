/* kernel_integer.h - template: product kernels for 8-bit integers. Parameters: SET, VECTOR_BYTES, REAL_VECTORS and
 * REAL_COLUMNS (2 and 4, or 3 and 8), and optionally DOT(sum, v, s), an instruction of the processor: for each lane
 *     sum = v[odd] * s[odd] + v[even] * s[even] + sum
 *
 * Elements are widened to 16 bits while they are packed, in pairs with neighbouring k. The sum of two products of a
 * pair fits 32 bits for both signs of both types, so nothing saturates, and sums are exact modulo 2^32 in any order.
 */
#include "native.h"

#include "kernel_vector.h"

#define JOIN__(a, b) a##_##b
#define JOIN_(a, b) JOIN__(a, b)
#define JOIN(a, b) JOIN_(a, b)

#define MOST_COLUMNS 8
#define TYPE u32
#define VL (VECTOR_BYTES / 4)
#define VECTOR vector_u32
#define NAME(x) JOIN(x, TYPE)
#define MV REAL_VECTORS
#define NR REAL_COLUMNS
#define K_BLOCK 768
#if REAL_COLUMNS == 8
#define S_LANES 8
#define LANES_S LANES_8
#else
#define S_LANES 4
#define LANES_S LANES_4
#endif

/* ---- Vectors: unsigned, because their sums wrap around ---- */

typedef uint32_t vector_u32 __attribute__((vector_size(VECTOR_BYTES)));

INLINE uint32_t scalar_madd_u32(uint32_t a, uint32_t b, uint32_t c) {
    return a * b + c;
}
INLINE vector_u32 madd_u32(vector_u32 a, vector_u32 b, vector_u32 c) {
    return a * b + c;
}
INLINE vector_u32 splat_u32(uint32_t value) {
    return (vector_u32){0} + value;
}
INLINE vector_u32 load_part_u32(const uint32_t *from, int count) {
    return (vector_u32)load_part_f32((const float *)(const void *)from, count);
}
INLINE void store_part_u32(uint32_t *to, vector_u32 x, int count) {
    store_part_f32((float *)(void *)to, (vector_f32)x, count);
}

#ifndef DOT
typedef int32_t vector_i32 __attribute__((vector_size(VECTOR_BYTES)));
#define LOWER(x) ((vector_i32)((x) << 16) >> 16)
#define UPPER(x) ((vector_i32)(x) >> 16)
#define DOT(sum, v, s) ((sum) + (vector_u32)(LOWER(v) * LOWER(s) + UPPER(v) * UPPER(s)))
#endif

#define REAL uint32_t
#include "kernel_finish.h"
#undef REAL

/* ---- Packing ---- */

#define REAL int16_t
typedef int16_t shorts_v __attribute__((vector_size(2 * VL)));
typedef int16_t shorts_s __attribute__((vector_size(2 * S_LANES)));
typedef int8_t bytes_v_i8 __attribute__((vector_size(VL), aligned(1), may_alias));
typedef int8_t bytes_s_i8 __attribute__((vector_size(S_LANES), aligned(1), may_alias));
typedef uint8_t bytes_v_u8 __attribute__((vector_size(VL), aligned(1), may_alias));
typedef uint8_t bytes_s_u8 __attribute__((vector_size(S_LANES), aligned(1), may_alias));

#define PACK_WIDTH_V(left) (NAME(vectors)(left) * VL)

#define PACK plain_v_i8
#define IN int8_t
#define PACK_LANES VL
#define LANES LANES_F32
#define PACK_WIDTH(left) PACK_WIDTH_V(left)
#define PACK_ONE(x) ((int16_t)(x))
#define PACK_LOAD(from) __builtin_convertvector(*(const bytes_v_i8 *)(from), shorts_v)
#include "kernel_pack.h"

#define PACK plain_s_i8
#define IN int8_t
#define PACK_LANES S_LANES
#define LANES LANES_S
#define PACK_WIDTH(left) NR
#define PACK_ONE(x) ((int16_t)(x))
#define PACK_LOAD(from) __builtin_convertvector(*(const bytes_s_i8 *)(from), shorts_s)
#include "kernel_pack.h"

#define PACK plain_v_u8
#define IN uint8_t
#define PACK_LANES VL
#define LANES LANES_F32
#define PACK_WIDTH(left) PACK_WIDTH_V(left)
#define PACK_ONE(x) ((int16_t)(x))
#define PACK_LOAD(from) __builtin_convertvector(*(const bytes_v_u8 *)(from), shorts_v)
#include "kernel_pack.h"

#define PACK plain_s_u8
#define IN uint8_t
#define PACK_LANES S_LANES
#define LANES LANES_S
#define PACK_WIDTH(left) NR
#define PACK_ONE(x) ((int16_t)(x))
#define PACK_LOAD(from) __builtin_convertvector(*(const bytes_s_u8 *)(from), shorts_s)
#include "kernel_pack.h"
#undef REAL

#include "kernel_pair_types.h"

#define PAIR(lanes, count)                                                                                             \
    typedef uint16_t halves_##lanes __attribute__((vector_size(2 * (count)), aligned(2), may_alias));                  \
    INLINE void pair_##lanes(uint32_t *to, const int16_t *even, const int16_t *odd) {                                  \
        const pairs_##lanes low = __builtin_convertvector(*(const halves_##lanes *)(const void *)even, pairs_##lanes); \
        pairs_##lanes high = {0};                                                                                      \
        if (odd) {                                                                                                     \
            high = __builtin_convertvector(*(const halves_##lanes *)(const void *)odd, pairs_##lanes);                 \
        }                                                                                                              \
        *(loose_##lanes *)(void *)to = low | high << 16;                                                               \
    }
PAIR(v, VL)
PAIR(s, S_LANES)
#undef PAIR

#define REAL uint32_t
#define ROW int16_t
#include "kernel_pairs.h"

#define IN int8_t
PACK_PAIRS(pack_v_i8, v_i8, true)
PACK_PAIRS(pack_s_i8, s_i8, false)
#undef IN
#define IN uint8_t
PACK_PAIRS(pack_v_u8, v_u8, true)
PACK_PAIRS(pack_s_u8, s_u8, false)
#undef IN

/* ---- The table ---- */

#define KERNELS(of_v, of_s)                                                                                            \
    {                                                                                                                  \
        .lanes = VL, .p_panel = MV * VL, .q_panel = NR, .k_block = K_BLOCK, .k_unit = 2, .element = 1, .result = 4,    \
        .packed = 2, .sum = 4, .pack_v = pack_v_##of_v, .pack_s = pack_s_##of_s, .block = block, .scale = scale_u32    \
    }
const bp__native_integer_set SET = {{{KERNELS(i8, i8), KERNELS(i8, u8)}, {KERNELS(u8, i8), KERNELS(u8, u8)}}};
