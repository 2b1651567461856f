/* winograd_avx2.c - compiles the kernels of Winograd's convolution for AVX2 and FMA3. */
#include "winograd.h"

#if defined(__AVX2__) && defined(__FMA__)
#define SET bp__winograd_avx2
#define VECTOR_BYTES 32
#include "winograd_kernels.h"
#endif
