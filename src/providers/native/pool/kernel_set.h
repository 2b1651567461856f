/* kernel_set.h - instantiates the pooling kernels of one instruction set. Parameters: SET (name of the table) and
 * VECTOR_BYTES. */
#include "pool.h"

#include "providers/native/kernel_vector.h"

#include "providers/native/half.h"

#define JOIN__(a, b) a##_##b
#define JOIN_(a, b) JOIN__(a, b)
#define NAME(x) JOIN_(x, TYPE)

#define SAME(x) (x)
/* -O2 makes vectors of few loops. */
#if defined(__clang__)
#define VECTORIZED
#else
#define VECTORIZED __attribute__((optimize("O3")))
#endif

#define TYPE f32
#define REAL float
#define IN float
#define WIDEN SAME
#define NARROW SAME
#include "kernel_type.h"
#undef TYPE
#undef REAL
#undef IN
#undef WIDEN
#undef NARROW

#define TYPE f64
#define REAL double
#define IN double
#define WIDEN SAME
#define NARROW SAME
#include "kernel_type.h"
#undef TYPE
#undef REAL
#undef IN
#undef WIDEN
#undef NARROW

#define TYPE f16
#define REAL float
#define IN uint16_t
#define WIDEN widen_f16
#define NARROW narrow_f16
#include "kernel_type.h"
#undef TYPE
#undef REAL
#undef IN
#undef WIDEN
#undef NARROW

#define TYPE bf16
#define REAL float
#define IN uint16_t
#define WIDEN widen_bf16
#define NARROW narrow_bf16
#include "kernel_type.h"

#define KERNELS(type)                                                                                                  \
    {                                                                                                                  \
        .max = max_##type, .lowest = lowest_##type, .add = add_##type, .store = store_##type, .spread = spread_##type, \
        .scatter = scatter_##type, .element = sizeof(element_##type), .sum = sizeof(number_##type)                     \
    }
const bp__pool_kernels SET[BP__POOL_DTYPES] = {KERNELS(f16), KERNELS(bf16), KERNELS(f32), KERNELS(f64)};
