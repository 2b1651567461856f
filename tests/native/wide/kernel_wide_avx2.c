/* kernel_wide_avx2.c - compiles the AVX-512 tiles from the same templates for AVX2: each 64-byte vector becomes two of
 * 32 bytes. This tests their logic on machines without AVX-512, but not the AVX-512 machine code.
 */
#define SET bp__native_wide
#define SET_NAME "wide"
#define VECTOR_BYTES 64
#define REAL_VECTORS 3
#define REAL_COLUMNS 8
#define MEMORY_COLUMNS_1 8
#define MEMORY_COLUMNS_2 8
#define MEMORY_COLUMNS_3 8
#define COMPLEX_VECTORS 2
#define COMPLEX_COLUMNS 6
#include "providers/native/gemm/kernel_set.h"
