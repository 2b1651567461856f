/* kernel_integer_avx512vnni.c - compiles the kernels of 8-bit integers for AVX512_VNNI: VPDPWSSD is VPMADDWD and the
 * addition in one instruction. It does not saturate. */
#include "gemm.h"

#if defined(__AVX512VNNI__) && defined(__AVX512BW__) && defined(__AVX512VL__)
#include <immintrin.h>
#define SET bp__native_integer_avx512vnni
#define PACKS bp__native_integer_avx512
#define VECTOR_BYTES 64
#define REAL_VECTORS 3
#define REAL_COLUMNS 8
#define DOT(sum, v, s) ((vector_u32)_mm512_dpwssd_epi32((__m512i)(sum), (__m512i)(v), (__m512i)(s)))
#include "kernel_integer.h"
#endif
