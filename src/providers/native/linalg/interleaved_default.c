/* interleaved_default.c - compiles the kernels for interleaved batches for the baseline instruction set: SSE2, NEON, or
 * scalar code.
 */
#define SET bp__interleaved_default
#define VECTOR_BYTES 16
#include "interleaved_set.h"
