/* kernel_default.c - compiles the convolution kernels for the baseline instruction set. */
#define SET bp__conv_default
#define VECTOR_BYTES 16
#include "kernel_set.h"
