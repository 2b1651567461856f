/* lanes_avx2.c - small matrices on AVX2 and FMA3. */
#include "lanes.h"

#if defined(__AVX2__) && defined(__FMA__)
#define SET bp__lanes_avx2
#define VECTOR_BYTES 32
#include "lanes_set.h"
#endif
