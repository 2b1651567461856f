/* winograd_wide_avx2.c - compiles the AVX-512 kernels of Winograd's convolution from the same template for AVX2: each
 * 64-byte vector becomes two of 32 bytes. This tests their logic on machines without AVX-512, but not the AVX-512
 * machine code. */
#define KERNEL_ISA wide
#define VECTOR_BYTES 64
#include "providers/native/conv/winograd_set.c"
