/* fourier_wide_avx2.c - compiles the AVX-512 kernels of convolutions by Fourier transforms from the same template for
 * AVX2: each 64-byte vector becomes two of 32 bytes. */
#define KERNEL_ISA wide
#define VECTOR_BYTES 64
#include "providers/native/conv/fourier_set.c"
