/* kernel_avx512.c - compiles the kernels of random numbers for AVX-512 (F, VL, BW, DQ). */
#include "random.h"

#if defined(__AVX512F__) && defined(__AVX512VL__)
#define KERNELS bp__random_kernels_avx512
#define VECTOR_BYTES 64
#include "kernel_set.h"
#endif
