/* fourier_wide_avx2.c - compiles the AVX-512 kernels of convolutions by Fourier transforms from the same template for
 * AVX2: each 64-byte vector becomes two of 32 bytes. */
#define SET bp__fourier_wide
#define VECTOR_BYTES 64
#include "fourier_kernels.h"
