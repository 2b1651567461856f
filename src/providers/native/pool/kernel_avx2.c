/* kernel_avx2.c - compiles the pooling kernels for AVX2 and FMA3. */
#include "pool.h"

#if defined(__AVX2__) && defined(__FMA__)
#define SET bp__pool_avx2
#define VECTOR_BYTES 32
#include "kernel_set.h"
#endif
