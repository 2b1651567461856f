/* lanes_wide_avx2.c - the lanes of AVX-512 on a processor with AVX2: each vector is lowered to two. */
#include "providers/native/linalg/lanes.h"

extern const bp__lanes_kernels bp__lanes_wide[BP__LANES_DTYPES];
#define SET bp__lanes_wide
#define VECTOR_BYTES 64
#include "providers/native/linalg/lanes_set.h"
