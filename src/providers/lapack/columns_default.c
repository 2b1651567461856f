/* columns_default.c - passes over columns in vectors that every compiler has. */
#define SET bp__lapack_passes_default
#define VECTOR_BYTES 16
#include "providers/lapack/columns_set.h"
