/* kernel_wide_avx2.c - compiles the kernels of attention for AVX-512 for AVX2: each 64-byte vector becomes two of 32
 * bytes. The kernels for AVX512_BF16 need their panels.
 */
#define KERNEL_ISA wide
#define VECTOR_BYTES 64
#include "providers/native/attention/kernel_set.c"
