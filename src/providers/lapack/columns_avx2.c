/* columns_avx2.c - compiles the passes over columns for AVX2. */
#if defined(__AVX2__)
#define SET bp__lapack_passes_avx2
#define VECTOR_BYTES 32
#include "providers/lapack/columns_set.h"
#endif
