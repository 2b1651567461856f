/* fft_wide_avx2.c - compiles the AVX-512 kernels of Fourier transforms from the same template for AVX2, for
 * convolutions with 16 lanes. Wide kernels need fused multiply-adds of half vectors, which only x86-64 has. */
#if defined(__x86_64__)
#define KERNEL_ISA wide
#define VECTOR_BYTES 64
#include "providers/native/fft/kernel_set.c"
#endif
