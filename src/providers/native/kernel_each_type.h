/* kernel_each_type.h - instantiates a template of kernels for f16, bf16, f32 and f64. Parameters: TEMPLATE (its path
 * from src/, in quotes) and VECTOR_BYTES.
 *
 * The template finds TYPE (the suffix of its names, which NAME() adds), REAL (type of sums), IN (type in memory),
 * WIDEN(x) and NARROW(x), which convert from IN to REAL and back, and for vectors of REAL: VECTOR, MADD, SPLAT and
 * LOAD(from), which converts too; with AVX-512 also LOAD_HALF(from), of half as many elements, unless REAL is double.
 */
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

INLINE vector_f32 load_elements_f32(const void *from) {
    vector_f32 x;
    memcpy(&x, from, sizeof x);
    return x;
}

INLINE vector_f64 load_elements_f64(const void *from) {
    vector_f64 x;
    memcpy(&x, from, sizeof x);
    return x;
}

INLINE vector_f32 load_elements_f16(const void *from) {
#ifdef F16_LOAD_V
    return (vector_f32)F16_LOAD_V(from);
#else
    uint16_t half[VECTOR_BYTES / 4];
    vector_f32 x;
    memcpy(half, from, sizeof half);
    for (int i = 0; i < VECTOR_BYTES / 4; i++) {
        x[i] = widen_f16(half[i]);
    }
    return x;
#endif
}

#define TYPE f32
#define VECTOR vector_f32
#define MADD madd_f32
#define SPLAT splat_f32
#define LOAD(from) load_elements_f32(from)
#define LOAD_HALF(from) _mm256_loadu_ps((const float *)(const void *)(from))
#define REAL float
#define IN float
#define WIDEN SAME
#define NARROW SAME
#include TEMPLATE
#undef TYPE
#undef REAL
#undef IN
#undef WIDEN
#undef NARROW
#undef VECTOR
#undef MADD
#undef SPLAT
#undef LOAD
#undef LOAD_HALF

#define TYPE f64
#define VECTOR vector_f64
#define MADD madd_f64
#define SPLAT splat_f64
#define LOAD(from) load_elements_f64(from)
#define REAL double
#define IN double
#define WIDEN SAME
#define NARROW SAME
#include TEMPLATE
#undef TYPE
#undef REAL
#undef IN
#undef WIDEN
#undef NARROW
#undef VECTOR
#undef MADD
#undef SPLAT
#undef LOAD

#define TYPE f16
#define VECTOR vector_f32
#define MADD madd_f32
#define SPLAT splat_f32
#define LOAD(from) load_elements_f16(from)
#define LOAD_HALF(from) F16_LOAD_S(from)
#define REAL float
#define IN uint16_t
#define WIDEN widen_f16
#define NARROW narrow_f16
#include TEMPLATE
#undef TYPE
#undef REAL
#undef IN
#undef WIDEN
#undef NARROW
#undef VECTOR
#undef MADD
#undef SPLAT
#undef LOAD
#undef LOAD_HALF

#define TYPE bf16
#define VECTOR vector_f32
#define MADD madd_f32
#define SPLAT splat_f32
#define LOAD(from) ((vector_f32)BF16_LOAD_V(from))
#define LOAD_HALF(from) ((__m256)BF16_LOAD_S(from))
#define REAL float
#define IN uint16_t
#define WIDEN widen_bf16
#define NARROW narrow_bf16
#include TEMPLATE
#undef TYPE
#undef REAL
#undef IN
#undef WIDEN
#undef NARROW
#undef VECTOR
#undef MADD
#undef SPLAT
#undef LOAD
#undef LOAD_HALF
#undef TEMPLATE
