/* kernel_avx512bf16.c - compiles the product kernels for AVX512_BF16: 32 registers, 24 of them for sums. */
#include "gemm.h"

#if defined(__AVX512BF16__) && defined(__AVX512VL__)
#define SET bp__native_avx512bf16
#define SET_NAME "bf16"
#define VECTOR_BYTES 64
#define REAL_VECTORS 3
#define REAL_COLUMNS 8
#define DOT(sum, v, s) ((vector_f32)_mm512_dpbf16_ps(sum, (__m512bh)(v), (__m512bh)(s)))
#include "kernel_bf16.h"
#endif
