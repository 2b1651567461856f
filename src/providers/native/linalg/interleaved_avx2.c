/* interleaved_avx2.c - small matrices on AVX2 and FMA3. */
#include "interleaved.h"

#if defined(__AVX2__) && defined(__FMA__)
#define SET bp__interleaved_avx2
#define VECTOR_BYTES 32
#include "interleaved_set.h"
#endif
