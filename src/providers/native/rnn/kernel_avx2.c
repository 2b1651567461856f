/* kernel_avx2.c - compiles the kernels of recurrent layers for AVX2 and FMA3. */
#include "rnn.h"

#if defined(__AVX2__) && defined(__FMA__)
#define SET bp__rnn_avx2
#define VECTOR_BYTES 32
#include "kernel_set.h"
#endif
