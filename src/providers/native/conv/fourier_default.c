/* fourier_default.c - compiles the kernels of convolutions by Fourier transforms for the baseline instruction set. */
#define SET bp__fourier_default
#define VECTOR_BYTES 16
#include "fourier_kernels.h"
