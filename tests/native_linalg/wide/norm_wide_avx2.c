/* norm_wide_avx2.c - compiles the AVX-512 sums of matrix norms for AVX2: each vector becomes two. */
#include "providers/native/linalg/matrix_norm.h"

extern const bp__matrix_norm_kernels bp__matrix_norm_wide[BP__MATRIX_NORM_DTYPES];
#define KERNEL_ISA wide
#define VECTOR_BYTES 64
#include "providers/native/linalg/matrix_norm_set.c"
