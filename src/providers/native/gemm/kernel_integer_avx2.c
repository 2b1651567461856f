/* kernel_integer_avx2.c - compiles the kernels of 8-bit integers for AVX2. */
#include "gemm.h"

#if defined(__AVX2__)
#include <immintrin.h>
#define SET bp__native_integer_avx2
#define VECTOR_BYTES 32
#define REAL_VECTORS 2
#define REAL_COLUMNS 4
#define DOT(sum, v, s) ((vector_u32)_mm256_add_epi32((__m256i)(sum), _mm256_madd_epi16((__m256i)(v), (__m256i)(s))))
#include "kernel_integer.h"
#endif
