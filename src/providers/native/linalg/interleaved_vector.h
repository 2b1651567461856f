/* interleaved_vector.h - defines vector operations for the linear algebra kernels, in addition to kernel_vector.h:
 * masks, selection, square roots and powers of two. For both real types of one instruction set; the parameter is
 * VECTOR_BYTES.
 */
#include "providers/native/kernel_vector.h"

#include <stdbool.h>

typedef int32_t ints_f32 __attribute__((vector_size(VECTOR_BYTES)));
typedef int64_t ints_f64 __attribute__((vector_size(VECTOR_BYTES)));

/* Returns a in lanes with all bits of the mask set, b in the others. */
#if VECTOR_BYTES == 32 && defined(__AVX2__)
INLINE vector_f32 select_f32(ints_f32 mask, vector_f32 a, vector_f32 b) {
    return _mm256_blendv_ps(b, a, (vector_f32)mask);
}
INLINE vector_f64 select_f64(ints_f64 mask, vector_f64 a, vector_f64 b) {
    return _mm256_blendv_pd(b, a, (vector_f64)mask);
}
#elif VECTOR_BYTES == 16 && defined(__SSE2__)
INLINE vector_f32 select_f32(ints_f32 mask, vector_f32 a, vector_f32 b) {
    return _mm_or_ps(_mm_and_ps((vector_f32)mask, a), _mm_andnot_ps((vector_f32)mask, b));
}
INLINE vector_f64 select_f64(ints_f64 mask, vector_f64 a, vector_f64 b) {
    return _mm_or_pd(_mm_and_pd((vector_f64)mask, a), _mm_andnot_pd((vector_f64)mask, b));
}
#else
INLINE vector_f32 select_f32(ints_f32 mask, vector_f32 a, vector_f32 b) {
    return (vector_f32)((mask & (ints_f32)a) | (~mask & (ints_f32)b));
}
INLINE vector_f64 select_f64(ints_f64 mask, vector_f64 a, vector_f64 b) {
    return (vector_f64)((mask & (ints_f64)a) | (~mask & (ints_f64)b));
}
#endif

/* Returns the larger of both; b if one is NaN. */
#if VECTOR_BYTES == 64 && defined(__AVX512F__)
INLINE vector_f32 larger_f32(vector_f32 a, vector_f32 b) {
    return _mm512_max_ps(a, b);
}
INLINE vector_f64 larger_f64(vector_f64 a, vector_f64 b) {
    return _mm512_max_pd(a, b);
}
#elif VECTOR_BYTES == 32 && defined(__AVX2__)
INLINE vector_f32 larger_f32(vector_f32 a, vector_f32 b) {
    return _mm256_max_ps(a, b);
}
INLINE vector_f64 larger_f64(vector_f64 a, vector_f64 b) {
    return _mm256_max_pd(a, b);
}
#else
INLINE vector_f32 larger_f32(vector_f32 a, vector_f32 b) {
    return select_f32(a > b, a, b);
}
INLINE vector_f64 larger_f64(vector_f64 a, vector_f64 b) {
    return select_f64(a > b, a, b);
}
#endif

#if VECTOR_BYTES == 64 && defined(__AVX512F__)
INLINE vector_f32 root_f32(vector_f32 x) {
    return _mm512_sqrt_ps(x);
}
INLINE vector_f64 root_f64(vector_f64 x) {
    return _mm512_sqrt_pd(x);
}
#elif VECTOR_BYTES == 32 && defined(__AVX2__)
INLINE vector_f32 root_f32(vector_f32 x) {
    return _mm256_sqrt_ps(x);
}
INLINE vector_f64 root_f64(vector_f64 x) {
    return _mm256_sqrt_pd(x);
}
#elif VECTOR_BYTES == 16 && defined(__SSE2__)
INLINE vector_f32 root_f32(vector_f32 x) {
    return _mm_sqrt_ps(x);
}
INLINE vector_f64 root_f64(vector_f64 x) {
    return _mm_sqrt_pd(x);
}
#else
INLINE vector_f32 root_f32(vector_f32 x) {
    for (int i = 0; i < VECTOR_BYTES / 4; i++) {
        x[i] = __builtin_sqrtf(x[i]);
    }
    return x;
}
INLINE vector_f64 root_f64(vector_f64 x) {
    for (int i = 0; i < VECTOR_BYTES / 8; i++) {
        x[i] = __builtin_sqrt(x[i]);
    }
    return x;
}
#endif

INLINE vector_f32 absolute_f32(vector_f32 x) {
    return (vector_f32)((ints_f32)x & INT32_MAX);
}
INLINE vector_f64 absolute_f64(vector_f64 x) {
    return (vector_f64)((ints_f64)x & INT64_MAX);
}

/* Returns a power of two that brings x, x >= 0, to between 1/2 and 1. It is finite and not 0 for every x. It is
 * computed from the exponent's bits: nothing is rounded, and zero, denormals and infinity need no branch. */
INLINE vector_f32 unscale_f32(vector_f32 x) {
    const ints_f32 bits = 0x7e800000 - ((ints_f32)x & 0x7f800000), usable = bits > 0;
    return (vector_f32)((usable & bits) | (~usable & 0x00800000));
}
INLINE vector_f64 unscale_f64(vector_f64 x) {
    const ints_f64 bits = INT64_C(0x7fd0000000000000) - ((ints_f64)x & INT64_C(0x7ff0000000000000));
    const ints_f64 usable = bits > 0;
    return (vector_f64)((usable & bits) | (~usable & INT64_C(0x0010000000000000)));
}

/* Returns a magnitude (not negative) with the sign of another number. */
INLINE vector_f32 signed_f32(vector_f32 size, vector_f32 of) {
    return (vector_f32)((ints_f32)size | ((ints_f32)of & INT32_MIN));
}
INLINE vector_f64 signed_f64(vector_f64 size, vector_f64 of) {
    return (vector_f64)((ints_f64)size | ((ints_f64)of & INT64_MIN));
}

/* Returns whether the mask has a bit set. */
#if VECTOR_BYTES == 64 && defined(__AVX512F__)
INLINE bool any_f32(ints_f32 mask) {
    return _mm512_test_epi32_mask((__m512i)mask, (__m512i)mask) != 0;
}
INLINE bool any_f64(ints_f64 mask) {
    return _mm512_test_epi64_mask((__m512i)mask, (__m512i)mask) != 0;
}
#elif VECTOR_BYTES == 32 && defined(__AVX2__)
INLINE bool any_f32(ints_f32 mask) {
    return !_mm256_testz_si256((__m256i)mask, (__m256i)mask);
}
INLINE bool any_f64(ints_f64 mask) {
    return !_mm256_testz_si256((__m256i)mask, (__m256i)mask);
}
#else
INLINE bool any_f32(ints_f32 mask) {
    int32_t bits = 0;
    for (int i = 0; i < VECTOR_BYTES / 4; i++) {
        bits |= mask[i];
    }
    return bits != 0;
}
INLINE bool any_f64(ints_f64 mask) {
    int64_t bits = 0;
    for (int i = 0; i < VECTOR_BYTES / 8; i++) {
        bits |= mask[i];
    }
    return bits != 0;
}
#endif

/* A sum of squares that is at least this large has lost no significant digits to denormals. */
#define LEAST_SQUARES_f32 0x1p-90F
#define LEAST_SQUARES_f64 0x1p-900

/* A rotation: c f + s g = r, c g - s f = 0 and c^2 + s^2 = 1, for f and g far from overflow. If the sum of their
 * squares is too small to be accurate, g counts as 0. That is far below the rounding of numbers near 1. */
#define DEFINE_ROTATION(part)                                                                                          \
    typedef struct rotation_##part {                                                                                   \
        vector_##part c, s, r;                                                                                         \
    } rotation_##part;                                                                                                 \
    INLINE rotation_##part rotate_##part(vector_##part f, vector_##part g) {                                           \
        const vector_##part square = madd_##part(f, f, g * g), root = root_##part(square), inverse = 1 / root;         \
        const ints_##part some = square >= splat_##part(LEAST_SQUARES_##part);                                         \
        return (rotation_##part){.c = select_##part(some, f * inverse, splat_##part(1)),                               \
                                 .s = select_##part(some, g * inverse, splat_##part(0)),                               \
                                 .r = select_##part(some, root, f)};                                                   \
    }
DEFINE_ROTATION(f32)
DEFINE_ROTATION(f64)
#undef DEFINE_ROTATION
