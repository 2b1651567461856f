/* columns_set.h - template of all passes of one instruction set. Parameters: SET (name of the table), VECTOR_BYTES.
 * Everything except the table is static, so that a program can contain several sets. */
#include "providers/lapack/columns.h"

#include <stddef.h>

#define INLINE static inline __attribute__((always_inline))
#define ONES UINT64_MAX
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)

#define BITS 32
#include "providers/lapack/columns_kernels.h"
#undef BITS

#define BITS 64
#include "providers/lapack/columns_kernels.h"
#undef BITS

const bp__lapack_passes SET[2] = {{scan_32, clear_32}, {scan_64, clear_64}};
