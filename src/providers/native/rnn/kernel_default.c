/* kernel_default.c - compiles the kernels of recurrent layers for the baseline instruction set. */
#define SET bp__rnn_default
#define VECTOR_BYTES 16
#include "kernel_set.h"
