/* columns_default.c - compiles the passes over columns with 16-byte vectors, which every compiler supports. */
#define SET bp__lapack_passes_default
#define VECTOR_BYTES 16
#include "providers/lapack/columns_set.h"
