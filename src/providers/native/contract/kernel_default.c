/* kernel_default.c - contractions without special instructions. */
#define SET bp__contract_default
#define VECTOR_BYTES 16
#include "kernel_set.h"
