/* kernel_avx2.c - compiles the kernels of attention for AVX2 and FMA3. */
#include "attention.h"

#if defined(__AVX2__) && defined(__FMA__)
#define NUMBERS bp__attention_numbers_avx2
#define ELEMENTS bp__attention_elements_avx2
#define VECTOR_BYTES 32
#include "kernel_set.h"
#endif
