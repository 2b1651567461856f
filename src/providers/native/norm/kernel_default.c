/* kernel_default.c - compiles the kernels of batch normalization for the baseline instruction set. */
#define SET bp__batch_norm_default
#define VECTOR_BYTES 16
#include "kernel_set.h"
