/* kernel_avx2.c - compiles the kernels of random numbers for AVX2. */
#include "random.h"

#if defined(__AVX2__) && defined(__FMA__)
#define KERNELS bp__random_kernels_avx2
#define VECTOR_BYTES 32
#include "kernel_set.h"
#endif
