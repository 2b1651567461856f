/* kernel_default.c - compiles the kernels of random numbers for every processor. */
#include "random.h"

#define KERNELS bp__random_kernels_default
#define VECTOR_BYTES 16
#include "kernel_set.h"
