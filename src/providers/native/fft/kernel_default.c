/* kernel_default.c - compiles the transform kernels for the baseline instruction set: SSE2, NEON, or scalar code. */
#define SET bp__fft_default
#define VECTOR_BYTES 16
#include "kernel_set.h"
