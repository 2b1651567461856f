/* kernel_avx2.c - compiles the kernels of batch normalization for AVX2 and FMA3. */
#include "norm.h"

#if defined(__AVX2__) && defined(__FMA__)
#define SET bp__batch_norm_avx2
#define VECTOR_BYTES 32
#include "kernel_set.h"
#endif
