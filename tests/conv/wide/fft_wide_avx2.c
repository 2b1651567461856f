/* fft_wide_avx2.c - compiles the AVX-512 kernels of Fourier transforms from the same template for AVX2, for
 * convolutions with 16 lanes. */
#define KERNEL_ISA wide
#define VECTOR_BYTES 64
#include "providers/native/fft/kernel_set.c"
