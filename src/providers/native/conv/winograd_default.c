/* winograd_default.c - compiles the kernels of Winograd's convolution for the baseline instruction set. */
#define SET bp__winograd_default
#define VECTOR_BYTES 16
#include "winograd_kernels.h"
