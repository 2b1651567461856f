/* norm_avx512.c - compiles the sums of matrix norms for AVX-512 (F, VL, BW, DQ). */
#include "norm.h"

#if defined(__AVX512F__) && defined(__AVX512VL__)
#define SET bp__norm_avx512
#define VECTOR_BYTES 64
#include "norm_set.h"
#endif
