/* kernel_integer.h - template: product kernels for 8-bit integers. Parameters: SET, VECTOR_BYTES, REAL_VECTORS and
 * REAL_COLUMNS (2 and 4, or 3 and 8), and optionally PACKS, another set with the same panels, whose functions pack for
 * this one, too; and DOT(sum, v, s), an instruction of the processor: for each lane
 *     sum = v[odd] * s[odd] + v[even] * s[even] + sum
 *
 * Elements are widened to 16 bits while they are packed, in pairs with neighbouring k. The sum of two products of a
 * pair fits 32 bits for both signs of both types, so nothing saturates, and sums are exact modulo 2^32 in any order.
 */
#include "gemm.h"

#include "providers/native/kernel_vector.h"

#define JOIN__(a, b) a##_##b
#define JOIN_(a, b) JOIN__(a, b)
#define JOIN(a, b) JOIN_(a, b)

#define MOST_COLUMNS 8
#define TYPE u32
#define VL (VECTOR_BYTES / 4)
#if VECTOR_BYTES == 64
#define V_LANES 16
#define LANES_UNIT LANES_32
#elif VECTOR_BYTES == 32
#define V_LANES 8
#define LANES_UNIT LANES_16
#else
#define V_LANES 4
#define LANES_UNIT LANES_8
#endif
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

/* alpha is 1, and beta is 0 or 1: a multiplication of vectors would take longer than the rest of a small tile. */
#define SCALED(factor, x) ((void)(factor), x)
INLINE uint32_t scalar_madd_u32(uint32_t alpha, uint32_t sum, uint32_t c) {
    (void)alpha;
    return sum + c;
}
INLINE vector_u32 madd_u32(vector_u32 alpha, vector_u32 sum, vector_u32 c) {
    (void)alpha;
    return sum + c;
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

#include "kernel_pairs.h"
#undef REAL

/* ---- Packing ---- */

#include "kernel_bytes.h"

INLINE uint32_t pair_of(int32_t even, int32_t odd) {
    return ((uint32_t)even & 0xffffu) | (uint32_t)odd << 16;
}

#define PACK_NAME(name) JOIN(PACKS, name)
#define DECLARE_PACK(name)                                                                                             \
    void PACK_NAME(name)(void *panels, const void *source, int64_t across, int64_t along, int64_t count, int64_t k,    \
                         bool conjugate);
#ifndef PACKS
#define PACKS SET
#define MAKES_PACKS
#endif
DECLARE_PACK(pack_v_i8)
DECLARE_PACK(pack_s_i8)
DECLARE_PACK(pack_v_u8)
DECLARE_PACK(pack_s_u8)

#ifdef MAKES_PACKS
#define PACK_WIDTH_V(left) (vectors_u32(left) * VL)

#define PACK PACK_NAME(pack_v_i8)
#define BYTES i8
#define IN int8_t
#define PACK_LANES V_LANES
#define LANES LANES_F32
#define PACK_WIDTH(left) PACK_WIDTH_V(left)
#include "kernel_pack_bytes.h"

#define PACK PACK_NAME(pack_s_i8)
#define BYTES i8
#define IN int8_t
#define PACK_LANES S_LANES
#define LANES LANES_S
#define PACK_WIDTH(left) NR
#include "kernel_pack_bytes.h"

#define PACK PACK_NAME(pack_v_u8)
#define BYTES u8
#define IN uint8_t
#define PACK_LANES V_LANES
#define LANES LANES_F32
#define PACK_WIDTH(left) PACK_WIDTH_V(left)
#include "kernel_pack_bytes.h"

#define PACK PACK_NAME(pack_s_u8)
#define BYTES u8
#define IN uint8_t
#define PACK_LANES S_LANES
#define LANES LANES_S
#define PACK_WIDTH(left) NR
#include "kernel_pack_bytes.h"
#endif

#include "kernel_integer_paths.h"

/* ---- The table ---- */

#define KERNELS(of_v, of_s)                                                                                            \
    {                                                                                                                  \
        .lanes = VL, .p_panel = MV * VL, .q_panel = NR, .k_block = K_BLOCK, .k_unit = 2, .element = 1, .result = 4,    \
        .packed = 2, .sum = 4, .rows_columns = FEW_COLUMNS, .s_columns = SMALL_COLUMNS,                                \
        .pack_v = PACK_NAME(pack_v_##of_v), .pack_s = PACK_NAME(pack_s_##of_s), .block = block,                        \
        .small = small_##of_v##_##of_s, .gemv = gemv_##of_v##_##of_s, .outer = outer_##of_v##_##of_s,                  \
        .dot = dot_##of_v##_##of_s, .tiny = tiny_##of_v##_##of_s, .scale = scale_u32                                   \
    }
const bp__native_integer_set SET = {{{KERNELS(i8, i8), KERNELS(i8, u8)}, {KERNELS(u8, i8), KERNELS(u8, u8)}}};
