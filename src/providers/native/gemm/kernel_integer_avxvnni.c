/* kernel_integer_avxvnni.c - compiles the kernels of 8-bit integers for AVX_VNNI: VPDPWSSD is VPMADDWD and the addition
 * in one instruction. It does not saturate. */
#include "gemm.h"

#if defined(__AVXVNNI__)
#include <immintrin.h>
#define SET bp__native_integer_avxvnni
#define PACKS bp__native_integer_avx2
#define VECTOR_BYTES 32
#define REAL_VECTORS 2
#define REAL_COLUMNS 4
#define DOT(sum, v, s) ((vector_u32)_mm256_dpwssd_avx_epi32((__m256i)(sum), (__m256i)(v), (__m256i)(s)))
#include "kernel_integer.h"
#endif
