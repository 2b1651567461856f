/* kernel_default.c - kernels for the instruction set that the compiler may assume everywhere: SSE2, NEON, or none. */
#define SET bp__fft_default
#define VECTOR_BYTES 16
#include "kernel_set.h"
