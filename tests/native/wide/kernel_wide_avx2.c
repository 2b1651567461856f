/* kernel_wide_avx2.c - the tiles of AVX-512 from the same templates, with each 64-byte vector lowered to two of 32
 * bytes (or to what the compiler has): so their logic is tested on machines without AVX-512. The machine code is
 * another, of course.
 */
#define SET bp__native_wide
#define SET_NAME "wide"
#define VECTOR_BYTES 64
#define REAL_VECTORS 3
#define REAL_COLUMNS 8
#define COMPLEX_VECTORS 2
#define COMPLEX_COLUMNS 6
#include "providers/native/kernel_set.h"
