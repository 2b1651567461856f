/* kernel_default.c - compiles the kernels of reductions and softmax for the baseline instruction set. */
#define SET bp__reduce_default
#define VECTOR_BYTES 16
#include "kernel_set.h"
