/* norm_avx2.c - compiles the sums of matrix norms for AVX2 and FMA3. */
#include "norm.h"

#if defined(__AVX2__) && defined(__FMA__)
#define SET bp__norm_avx2
#define VECTOR_BYTES 32
#include "norm_set.h"
#endif
