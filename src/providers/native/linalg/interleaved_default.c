/* interleaved_default.c - small matrices on the instruction set that the compiler may assume everywhere: SSE2, NEON, or
 * none.
 */
#define SET bp__interleaved_default
#define VECTOR_BYTES 16
#include "interleaved_set.h"
