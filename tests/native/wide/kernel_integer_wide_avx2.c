/* kernel_integer_wide_avx2.c - compiles the tiles of 8-bit integers for AVX-512 for AVX2, with the products of the
 * template in place of the instruction. This tests everything but the instruction itself on processors without AVX-512.
 */
#define SET bp__native_integer_wide
#define VECTOR_BYTES 64
#define REAL_VECTORS 3
#define REAL_COLUMNS 8
#include "providers/native/gemm/kernel_integer.h"
