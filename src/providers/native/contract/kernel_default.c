/* kernel_default.c - compiles the contraction kernels for the baseline instruction set. */
#define SET bp__contract_default
#define VECTOR_BYTES 16
#include "kernel_set.h"
