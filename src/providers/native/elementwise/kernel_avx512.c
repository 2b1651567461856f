/* kernel_avx512.c - compiles the kernels of single elements for AVX-512 (F, VL, BW, DQ). */
#include "elementwise.h"

#if defined(__AVX512F__) && defined(__AVX512VL__)
#define KERNELS bp__element_kernels_avx512
#define VECTOR_BYTES 64
#include "kernel_set.h"
#endif
