/* kernel_avx2.c - compiles the product kernels for AVX2 and FMA3: 16 registers, 12 of them for sums. */
#include "gemm.h"

#if defined(__AVX2__) && defined(__FMA__)
#define SET bp__native_avx2
#define SET_NAME "avx2"
#define VECTOR_BYTES 32
#define REAL_VECTORS 3
#define REAL_COLUMNS 4
#define MEMORY_COLUMNS_1 8
#define MEMORY_COLUMNS_2 6
#define MEMORY_COLUMNS_3 4
#define COMPLEX_VECTORS 1
#define COMPLEX_COLUMNS 6
#include "kernel_set.h"
#endif
