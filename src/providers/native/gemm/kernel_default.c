/* kernel_default.c - compiles the product kernels for the baseline instruction set: SSE2, NEON, or scalar code. */
#define SET bp__native_default
#define SET_NAME "default"
#define VECTOR_BYTES 16
#if defined(__aarch64__)
#define REAL_VECTORS 3 /* 32 registers */
#define COMPLEX_VECTORS 2
#else
#define REAL_VECTORS 2
#define COMPLEX_VECTORS 1
#endif
#define REAL_COLUMNS 4
#define MEMORY_COLUMNS_1 8
#define MEMORY_COLUMNS_2 4
#define MEMORY_COLUMNS_3 4
#define COMPLEX_COLUMNS 4
#include "kernel_set.h"
