/* columns_set.h - all passes of one instruction set, from the template. Parameters: SET (name of the table),
 * VECTOR_BYTES. Everything here is static but the table, so that several sets live in one program.
 */
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
