/* fourier_avx512.c - compiles the kernels of convolutions by Fourier transforms for AVX-512 (F, VL, BW, DQ). */
#include "fourier.h"

#if defined(__AVX512F__) && defined(__AVX512VL__)
#define SET bp__fourier_avx512
#define VECTOR_BYTES 64
#include "fourier_kernels.h"
#endif
