/* fourier_avx2.c - compiles the kernels of convolutions by Fourier transforms for AVX2 and FMA3. */
#include "fourier.h"

#if defined(__AVX2__) && defined(__FMA__)
#define SET bp__fourier_avx2
#define VECTOR_BYTES 32
#include "fourier_kernels.h"
#endif
