/* kernel_avx512.c - compiles the kernels of recurrent layers for AVX-512. */
#include "rnn.h"

#if defined(__AVX512F__) && defined(__AVX512VL__)
#define SET bp__rnn_avx512
#define VECTOR_BYTES 64
#include "kernel_set.h"
#endif
