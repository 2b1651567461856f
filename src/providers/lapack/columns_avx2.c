/* columns_avx2.c - passes over columns on AVX2. */
#if defined(__AVX2__)
#define SET bp__lapack_passes_avx2
#define VECTOR_BYTES 32
#include "providers/lapack/columns_set.h"
#endif
