/* kernel_set.c - instantiates the kernels of cumulative sums of one instruction set. CMake compiles this file once for
 * each (KERNEL_ISA, VECTOR_BYTES). */
#include "cumsum.h"
#include "providers/native/isa.h"
#include "providers/native/kernel_vector.h"

#define JOIN__(a, b) a##_##b
#define JOIN_(a, b) JOIN__(a, b)
#define NAME(x) JOIN_(x, TYPE)

/* Numbers of 64 bits in a vector, and vectors of eight. */
#define LANES (VECTOR_BYTES / 8)
#define VECTORS (8 / LANES)

/* BEFORE_n gives each lane in the second half of 2n lanes the last one of the first half, and the others 0. LAST gives
 * all lanes the last one. FOLLOWED_BY moves the lanes up by one, from the last one of the vector before. */
#if VECTOR_BYTES == 64
#define BEFORE_1(x, zero) __builtin_shufflevector(x, zero, 8, 0, 8, 2, 8, 4, 8, 6)
#define BEFORE_2(x, zero) __builtin_shufflevector(x, zero, 8, 8, 1, 1, 8, 8, 5, 5)
#define BEFORE_4(x, zero) __builtin_shufflevector(x, zero, 8, 8, 8, 8, 3, 3, 3, 3)
#define LAST(x) __builtin_shufflevector(x, x, 7, 7, 7, 7, 7, 7, 7, 7)
#define FOLLOWED_BY(before, x) __builtin_shufflevector(before, x, 7, 8, 9, 10, 11, 12, 13, 14)
#elif VECTOR_BYTES == 32
#define BEFORE_1(x, zero) __builtin_shufflevector(x, zero, 4, 0, 4, 2)
#define BEFORE_2(x, zero) __builtin_shufflevector(x, zero, 4, 4, 1, 1)
#define LAST(x) __builtin_shufflevector(x, x, 3, 3, 3, 3)
#define FOLLOWED_BY(before, x) __builtin_shufflevector(before, x, 3, 4, 5, 6)
#else
#define BEFORE_1(x, zero) __builtin_shufflevector(x, zero, 2, 0)
#define LAST(x) __builtin_shufflevector(x, x, 1, 1)
#define FOLLOWED_BY(before, x) __builtin_shufflevector(before, x, 1, 2)
#endif

#define TYPE f32
#define NUMBER float
#define SUM double
#include "kernel_cumsum.h"
#undef TYPE
#undef NUMBER
#undef SUM

#define TYPE f64
#define NUMBER double
#define SUM double
#include "kernel_cumsum.h"
#undef TYPE
#undef NUMBER
#undef SUM

/* Sums of integers wrap around. */
#define TYPE i64
#define NUMBER uint64_t
#define SUM uint64_t
#include "kernel_cumsum.h"

const bp__cumsum_set KERNEL_TABLE(bp__cumsum) = {
    .of = {[BP__DOMAIN_I64] = {add_row_i64, add_columns_i64},
           [BP__DOMAIN_F32] = {add_row_f32, add_columns_f32},
           [BP__DOMAIN_F64] = {add_row_f64, add_columns_f64}},
};
