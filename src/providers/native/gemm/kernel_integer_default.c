/* kernel_integer_default.c - compiles the kernels of 8-bit integers for the baseline instruction set. */
#define SET bp__native_integer_default
#define VECTOR_BYTES 16
#define REAL_VECTORS 2
#define REAL_COLUMNS 4
#if defined(__SSE2__)
#include <immintrin.h>
#define DOT(sum, v, s) ((vector_u32)_mm_add_epi32((__m128i)(sum), _mm_madd_epi16((__m128i)(v), (__m128i)(s))))
#endif
#include "kernel_integer.h"
