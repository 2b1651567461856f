/* kernel_wide_avx2.c - compiles the AVX-512 contraction kernels for AVX2: each vector becomes two. */
#include "providers/native/contract/contract.h"

extern const bp__contract_kernels bp__contract_wide[BP__CONTRACT_DTYPES];
#define KERNEL_ISA wide
#define VECTOR_BYTES 64
#include "providers/native/contract/kernel_set.c"
