/* kernel_avx512.c - compiles the kernels of batch normalization for AVX-512 (F, VL, BW, DQ). */
#include "norm.h"

#if defined(__AVX512F__) && defined(__AVX512VL__)
#define SET bp__batch_norm_avx512
#define VECTOR_BYTES 64
#include "kernel_set.h"
#endif
