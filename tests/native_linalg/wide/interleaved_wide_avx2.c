/* interleaved_wide_avx2.c - compiles the AVX-512 kernels for interleaved batches for AVX2: each vector becomes two. */
#include "providers/native/linalg/interleaved.h"

extern const bp__interleaved_kernels bp__interleaved_wide[BP__INTERLEAVED_DTYPES];
#define KERNEL_ISA wide
#define VECTOR_BYTES 64
#include "providers/native/linalg/interleaved_set.c"
