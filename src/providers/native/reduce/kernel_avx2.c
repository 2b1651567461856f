/* kernel_avx2.c - compiles the kernels of reductions and softmax for AVX2 and FMA3. */
#include "reduce.h"

#if defined(__AVX2__) && defined(__FMA__)
#define SET bp__reduce_avx2
#define VECTOR_BYTES 32
#include "kernel_set.h"
#endif
