/* kernel_avx512.c - compiles the kernels of reductions and softmax for AVX-512 (F, VL, BW, DQ). */
#include "reduce.h"

#if defined(__AVX512F__) && defined(__AVX512VL__)
#define SET bp__reduce_avx512
#define VECTOR_BYTES 64
#include "kernel_set.h"
#endif
