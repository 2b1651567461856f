/* kernel_avx2.c - compiles the kernels of single elements for AVX2, FMA3 and F16C. */
#include "elementwise.h"

#if defined(__AVX2__) && defined(__FMA__)
#define KERNELS bp__element_kernels_avx2
#define VECTOR_BYTES 32
#include "kernel_set.h"
#endif
