/* interleaved_avx2.c - compiles the kernels for interleaved batches for AVX2 and FMA3. */
#include "interleaved.h"

#if defined(__AVX2__) && defined(__FMA__)
#define SET bp__interleaved_avx2
#define VECTOR_BYTES 32
#include "interleaved_set.h"
#endif
