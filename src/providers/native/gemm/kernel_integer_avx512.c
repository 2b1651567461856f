/* kernel_integer_avx512.c - compiles the kernels of 8-bit integers for AVX-512, with VPMADDWD. */
#include "gemm.h"

#if defined(__AVX512BW__) && defined(__AVX512VL__)
#include <immintrin.h>
#define SET bp__native_integer_avx512
#define VECTOR_BYTES 64
#define REAL_VECTORS 3
#define REAL_COLUMNS 8
#define DOT(sum, v, s) ((vector_u32)_mm512_add_epi32((__m512i)(sum), _mm512_madd_epi16((__m512i)(v), (__m512i)(s))))
#include "kernel_integer.h"
#endif
