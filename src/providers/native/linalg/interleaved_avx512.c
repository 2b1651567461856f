/* interleaved_avx512.c - compiles the kernels for interleaved batches for AVX-512 (F, VL, BW, DQ). */
#include "interleaved.h"

#if defined(__AVX512F__) && defined(__AVX512VL__)
#define SET bp__interleaved_avx512
#define VECTOR_BYTES 64
#include "interleaved_set.h"
#endif
