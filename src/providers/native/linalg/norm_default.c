/* norm_default.c - compiles the sums of matrix norms for the baseline instruction set. */
#define SET bp__norm_default
#define VECTOR_BYTES 16
#include "norm_set.h"
