/* winograd_avx512.c - compiles the kernels of Winograd's convolution for AVX-512 (F, VL, BW, DQ). */
#include "winograd.h"

#if defined(__AVX512F__) && defined(__AVX512VL__)
#define SET bp__winograd_avx512
#define VECTOR_BYTES 64
#include "winograd_kernels.h"
#endif
