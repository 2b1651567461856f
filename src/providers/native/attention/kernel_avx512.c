/* kernel_avx512.c - compiles the kernels of attention for AVX-512. */
#include "attention.h"

#if defined(__AVX512F__) && defined(__AVX512VL__)
#define NUMBERS bp__attention_numbers_avx512
#define ELEMENTS bp__attention_elements_avx512
#define VECTOR_BYTES 64
#include "kernel_set.h"
#endif
