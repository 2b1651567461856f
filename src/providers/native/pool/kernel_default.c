/* kernel_default.c - compiles the pooling kernels for the baseline instruction set. */
#define SET bp__pool_default
#define VECTOR_BYTES 16
#include "kernel_set.h"
