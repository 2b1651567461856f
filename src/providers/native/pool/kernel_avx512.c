/* kernel_avx512.c - compiles the pooling kernels for AVX-512 (F, VL, BW, DQ). */
#include "pool.h"

#if defined(__AVX512F__) && defined(__AVX512VL__)
#define SET bp__pool_avx512
#define VECTOR_BYTES 64
#include "kernel_set.h"
#endif
