/* kernel_default.c - compiles the kernels of attention for the baseline instruction set. */
#define NUMBERS bp__attention_numbers_default
#define ELEMENTS bp__attention_elements_default
#define VECTOR_BYTES 16
#include "kernel_set.h"
