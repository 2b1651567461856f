/* norm_default.c - sums of matrix norms without special instructions. */
#define SET bp__norm_default
#define VECTOR_BYTES 16
#include "norm_set.h"
