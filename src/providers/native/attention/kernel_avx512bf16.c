/* kernel_avx512bf16.c - compiles the kernels of attention for AVX512_BF16. */
#include "attention.h"

#if defined(__AVX512BF16__) && defined(__AVX512VL__)
#include <immintrin.h>

#define PAIRS bp__attention_pairs_avx512bf16
#define NUMBERS bp__attention_numbers_avx512
#define VECTOR_BYTES 64
#define DOT(sum, a, b) ((vector_f32)_mm512_dpbf16_ps(sum, (__m512bh)(a), (__m512bh)(b)))
#define JOIN_ROUNDED(even, odd) join_rounded(even, odd)

/* The instruction puts the rounded numbers of `odd` behind the numbers of `even`. */
static inline __attribute__((always_inline)) __m512i join_rounded(__m512 even, __m512 odd) {
    const __m512i order = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6,
                                           21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
    return _mm512_permutexvar_epi16(order, (__m512i)_mm512_cvtne2ps_pbh(odd, even));
}

#include "kernel_bf16.h"
#endif
