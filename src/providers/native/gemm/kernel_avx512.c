/* kernel_avx512.c - compiles the product kernels for AVX-512 (F, VL, BW, DQ): 32 registers, 24 of them for sums. */
#include "gemm.h"

#if defined(__AVX512F__) && defined(__AVX512VL__)
#define SET bp__native_avx512
#define SET_NAME "avx512"
#define VECTOR_BYTES 64
#define REAL_VECTORS 3
#define REAL_COLUMNS 8
#define MEMORY_COLUMNS_1 8
#define MEMORY_COLUMNS_2 8
#define MEMORY_COLUMNS_3 8
#define COMPLEX_VECTORS 2
#define COMPLEX_COLUMNS 6
#include "kernel_set.h"
#endif
