/* norm_avx2.c - sums of matrix norms on AVX2 and FMA. */
#include "norm.h"

#if defined(__AVX2__) && defined(__FMA__)
#define SET bp__norm_avx2
#define VECTOR_BYTES 32
#include "norm_set.h"
#endif
