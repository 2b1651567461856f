/* kernel_set.h - instantiates all product kernels of one instruction set from the templates. Parameters: SET (name of
 * the table), SET_NAME, VECTOR_BYTES, and the tiles: REAL_VECTORS, REAL_COLUMNS (a multiple of 4), COMPLEX_VECTORS,
 * COMPLEX_COLUMNS. Tiles of real types that read S in memory have MEMORY_COLUMNS_1 columns if they have one vector, and
 * so on, at most MOST_COLUMNS. Only the table is not static, so that several sets can be in one program.
 */
#include "gemm.h"

#include "providers/native/kernel_vector.h"

#define JOIN__(a, b) a##_##b
#define JOIN_(a, b) JOIN__(a, b)
#define JOIN(a, b) JOIN_(a, b)

#define EACH_COLUMN_2(f, mv) f(mv, 1) f(mv, 2)
#define EACH_COLUMN_4(f, mv) EACH_COLUMN_2(f, mv) f(mv, 3) f(mv, 4)
#define EACH_COLUMN_6(f, mv) EACH_COLUMN_4(f, mv) f(mv, 5) f(mv, 6)
#define EACH_COLUMN_8(f, mv) EACH_COLUMN_6(f, mv) f(mv, 7) f(mv, 8)
#define EACH_TILE_1(f, column) column(f, 1)
#define EACH_TILE_2(f, column) EACH_TILE_1(f, column) column(f, 2)
#define EACH_TILE_3(f, column) EACH_TILE_2(f, column) column(f, 3)
#define EACH_TILE_(f, vectors, columns) EACH_TILE_##vectors(f, EACH_COLUMN_##columns)
#define EACH_TILE(f, vectors, columns) EACH_TILE_(f, vectors, columns)

#define MOST_COLUMNS 8
/* Columns of S for which rows of V are transposed in registers, and vectors of rows that are computed at once. */
#define ROWS_COLUMNS 2
#define MOST_GROUPS 4
#define EACH_COLUMN__(f, mv, columns) EACH_COLUMN_##columns(f, mv)
#define EACH_COLUMN_OF(f, mv, columns) EACH_COLUMN__(f, mv, columns)
#define EACH_MEMORY_TILE_1(f) EACH_COLUMN_OF(f, 1, MEMORY_COLUMNS_1)
#define EACH_MEMORY_TILE_2(f) EACH_MEMORY_TILE_1(f) EACH_COLUMN_OF(f, 2, MEMORY_COLUMNS_2)
#define EACH_MEMORY_TILE_3(f) EACH_MEMORY_TILE_2(f) EACH_COLUMN_OF(f, 3, MEMORY_COLUMNS_3)
#define EACH_MEMORY_TILE_(f, vectors) EACH_MEMORY_TILE_##vectors(f)
#define EACH_MEMORY_TILE(f, vectors) EACH_MEMORY_TILE_(f, vectors)

/* Block sizes along k decide the results, so they depend on the type only and never on a cache size. */
#define K_BLOCK_F32 384
#define K_BLOCK_F64 256
#define K_BLOCK_C64 256
#define K_BLOCK_C128 192
/* Bytes of the columns of S that stay in the second-level cache while panels of V are read. */
#define S_CHUNK_BYTES (192 * 1024)

/* Location of a tile's operands: in panels, in memory, or in memory with a last vector that is not full. */
enum { FROM_PANELS, FROM_MEMORY, FROM_PART };

/* ---- f64 ---- */
#define REAL double
#define TYPE f64
#define VL (VECTOR_BYTES / 8)
#define K_BLOCK K_BLOCK_F64
#define VECTOR_LANES LANES_F64
#define S_LANES VL
#define S_LANES_LIST LANES_F64
#include "kernel_real.h"

#include "kernel_rows.h"

#include "kernel_paths.h"
#undef REAL
#undef TYPE
#undef VL
#undef K_BLOCK
#undef VECTOR_LANES
#undef S_LANES
#undef S_LANES_LIST
#undef NAME
#undef VECTOR
#undef MV
#undef NR
#undef CHUNK

/* ---- f32, and the 16-bit types that use its kernels ---- */
#define REAL float
#define TYPE f32
#define VL (VECTOR_BYTES / 4)
#define K_BLOCK K_BLOCK_F32
#define VECTOR_LANES LANES_F32
#if VECTOR_BYTES == 64
#define S_LANES 8
#define S_LANES_LIST LANES_8
#else
#define S_LANES 4
#define S_LANES_LIST LANES_4
#endif
#include "kernel_real.h"

#include "kernel_rows.h"

#include "kernel_paths.h"

#include "kernel_half.h"
HALF(f16)
HALF(bf16)

#define PACK pack_v_f16
#define IN uint16_t
#define PACK_LANES VL
#define LANES VECTOR_LANES
#define PACK_WIDTH(left) (NAME(vectors)(left) * VL)
#define PACK_ONE(x) widen_f16(x)
#ifdef F16_LOAD_V
#define PACK_LOAD(from) F16_LOAD_V(from)
#endif
#include "kernel_pack.h"

#define PACK pack_s_f16
#define IN uint16_t
#define PACK_LANES S_LANES
#define LANES S_LANES_LIST
#define PACK_WIDTH(left) NR
#define PACK_ONE(x) widen_f16(x)
#ifdef F16_LOAD_S
#define PACK_LOAD(from) F16_LOAD_S(from)
#endif
#include "kernel_pack.h"

#define PACK pack_v_bf16
#define IN uint16_t
#define PACK_LANES VL
#define LANES VECTOR_LANES
#define PACK_WIDTH(left) (NAME(vectors)(left) * VL)
#define PACK_ONE(x) widen_bf16(x)
#define PACK_LOAD(from) BF16_LOAD_V(from)
#include "kernel_pack.h"

#define PACK pack_s_bf16
#define IN uint16_t
#define PACK_LANES S_LANES
#define LANES S_LANES_LIST
#define PACK_WIDTH(left) NR
#define PACK_ONE(x) widen_bf16(x)
#define PACK_LOAD(from) BF16_LOAD_S(from)
#include "kernel_pack.h"
#undef REAL
#undef TYPE
#undef VL
#undef K_BLOCK
#undef VECTOR_LANES
#undef S_LANES
#undef S_LANES_LIST
#undef NAME
#undef VECTOR
#undef MV
#undef NR
#undef CHUNK

/* ---- Complex types ---- */
#define REAL float
#define TYPE c64
#define PART f32
#define VL (VECTOR_BYTES / 4)
#define VECTOR_LANES LANES_F32
#define K_BLOCK K_BLOCK_C64
#include "kernel_complex.h"

#include "kernel_complex_paths.h"
#undef REAL
#undef TYPE
#undef PART
#undef VL
#undef VECTOR_LANES
#undef K_BLOCK
#undef NAME
#undef PARTS
#undef VECTOR
#undef MV
#undef NR
#undef CHUNK

#define REAL double
#define TYPE c128
#define PART f64
#define VL (VECTOR_BYTES / 8)
#define VECTOR_LANES LANES_F64
#define K_BLOCK K_BLOCK_C128
#include "kernel_complex.h"

#include "kernel_complex_paths.h"

/* ---- The table ---- */
#define REAL_TYPE(type, bytes, block_of_k)                                                                             \
    {                                                                                                                  \
        .lanes = VECTOR_BYTES / bytes, .p_panel = REAL_VECTORS * VECTOR_BYTES / bytes, .q_panel = REAL_COLUMNS,        \
        .k_block = block_of_k, .k_unit = 1, .element = bytes, .result = bytes, .packed = bytes, .sum = bytes,          \
        .pack_v = pack_v_##type, .pack_s = pack_s_##type, .block = block_##type, .small = small_##type,                \
        .gemv = gemv_##type, .outer = outer_##type, .dot = dot_##type, .tiny = tiny_##type, .scale = scale_##type      \
    }
#define HALF_TYPE(type)                                                                                                \
    {                                                                                                                  \
        .lanes = VECTOR_BYTES / 4, .p_panel = REAL_VECTORS * VECTOR_BYTES / 4, .q_panel = REAL_COLUMNS,                \
        .k_block = K_BLOCK_F32, .k_unit = 1, .element = 2, .result = 2, .packed = 4, .sum = 4,                         \
        .pack_v = pack_v_##type, .pack_s = pack_s_##type, .block = block_f32, .scale = scale_##type,                   \
        .widen = widen_block_##type, .narrow = narrow_block_##type                                                     \
    }
#define COMPLEX_TYPE(type, bytes, block_of_k)                                                                          \
    {                                                                                                                  \
        .complex = true, .lanes = VECTOR_BYTES / bytes * 2, .p_panel = COMPLEX_VECTORS * VECTOR_BYTES / bytes * 2,     \
        .q_panel = COMPLEX_COLUMNS, .k_block = block_of_k, .k_unit = 1, .element = bytes, .result = bytes,             \
        .packed = bytes, .sum = bytes, .pack_v = pack_v_##type, .pack_s = pack_s_##type, .block = block_##type,        \
        .small = small_##type, .gemv = gemv_##type, .outer = outer_##type, .dot = dot_##type, .tiny = tiny_##type,     \
        .scale = scale_##type                                                                                          \
    }
const bp__native_set SET = {
    .name = SET_NAME,
    .of = {HALF_TYPE(f16), HALF_TYPE(bf16), REAL_TYPE(f32, 4, K_BLOCK_F32), REAL_TYPE(f64, 8, K_BLOCK_F64),
           COMPLEX_TYPE(c64, 8, K_BLOCK_C64), COMPLEX_TYPE(c128, 16, K_BLOCK_C128)},
};
