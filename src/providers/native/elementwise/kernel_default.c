/* kernel_default.c - compiles the kernels of single elements for the baseline instruction set. */
#define KERNELS bp__element_kernels_default
#define VECTOR_BYTES 16
#include "kernel_set.h"
