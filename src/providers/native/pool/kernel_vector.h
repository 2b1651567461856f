/* kernel_vector.h - defines comparisons, choices and stores of vectors for the pooling kernels. Flags are one truth
 * value for each lane; places are whole numbers as wide as the numbers. */
#ifndef BP_NATIVE_POOL_KERNEL_VECTOR_H
#define BP_NATIVE_POOL_KERNEL_VECTOR_H

#include "providers/native/kernel_vector.h"

#include "providers/native/half.h"
#include "providers/native/kernel_convert.h"

typedef int32_t places_f32 __attribute__((vector_size(VECTOR_BYTES)));
typedef int64_t places_f64 __attribute__((vector_size(VECTOR_BYTES)));

typedef int32_t place_f32;
typedef int64_t place_f64;

/* greater() and unordered() compare: a > b, and whether one of them is NaN. larger() is a if a > b, otherwise b.
 * choose() takes the first place where the flag is set. any() is whether a flag is set, negative() whether a place is
 * below 0. */
#if VECTOR_BYTES == 64 && defined(__AVX512F__)
#define OPERATIONS(type, flag, suffix, places)                                                                         \
    typedef flag flags_##type;                                                                                         \
    INLINE flags_##type greater_##type(vector_##type a, vector_##type b) {                                             \
        return _mm512_cmp_##suffix##_mask(a, b, _CMP_GT_OQ);                                                           \
    }                                                                                                                  \
    INLINE flags_##type unordered_##type(vector_##type a, vector_##type b) {                                           \
        return _mm512_cmp_##suffix##_mask(a, b, _CMP_UNORD_Q);                                                         \
    }                                                                                                                  \
    INLINE vector_##type larger_##type(vector_##type a, vector_##type b) {                                             \
        return _mm512_max_##suffix(a, b);                                                                              \
    }                                                                                                                  \
    INLINE places_##type choose_##type(flags_##type f, places_##type a, places_##type b) {                             \
        return (places_##type)_mm512_mask_blend_##places(f, (__m512i)b, (__m512i)a);                                   \
    }                                                                                                                  \
    INLINE bool any_##type(flags_##type f) {                                                                           \
        return f != 0;                                                                                                 \
    }                                                                                                                  \
    INLINE bool negative_##type(places_##type p) {                                                                     \
        return _mm512_cmp_##places##_mask((__m512i)p, _mm512_setzero_si512(), _MM_CMPINT_LT) != 0;                     \
    }
OPERATIONS(f32, __mmask16, ps, epi32)
OPERATIONS(f64, __mmask8, pd, epi64)
#elif VECTOR_BYTES == 32 && defined(__AVX2__)
#define OPERATIONS(type, suffix)                                                                                       \
    typedef places_##type flags_##type;                                                                                \
    INLINE flags_##type greater_##type(vector_##type a, vector_##type b) {                                             \
        return (flags_##type)_mm256_cmp_##suffix(a, b, _CMP_GT_OQ);                                                    \
    }                                                                                                                  \
    INLINE flags_##type unordered_##type(vector_##type a, vector_##type b) {                                           \
        return (flags_##type)_mm256_cmp_##suffix(a, b, _CMP_UNORD_Q);                                                  \
    }                                                                                                                  \
    INLINE vector_##type larger_##type(vector_##type a, vector_##type b) {                                             \
        return _mm256_max_##suffix(a, b);                                                                              \
    }                                                                                                                  \
    INLINE places_##type choose_##type(flags_##type f, places_##type a, places_##type b) {                             \
        return (places_##type)_mm256_blendv_##suffix((vector_##type)b, (vector_##type)a, (vector_##type)f);            \
    }                                                                                                                  \
    INLINE bool any_##type(flags_##type f) {                                                                           \
        return _mm256_movemask_##suffix((vector_##type)f) != 0;                                                        \
    }                                                                                                                  \
    INLINE bool negative_##type(places_##type p) {                                                                     \
        return any_##type(p);                                                                                          \
    }
OPERATIONS(f32, ps)
OPERATIONS(f64, pd)
#else
#define OPERATIONS(type)                                                                                               \
    typedef places_##type flags_##type;                                                                                \
    INLINE flags_##type greater_##type(vector_##type a, vector_##type b) {                                             \
        return a > b;                                                                                                  \
    }                                                                                                                  \
    INLINE flags_##type unordered_##type(vector_##type a, vector_##type b) {                                           \
        return (a != a) | (b != b);                                                                                    \
    }                                                                                                                  \
    INLINE places_##type choose_##type(flags_##type f, places_##type a, places_##type b) {                             \
        return (f & a) | (~f & b);                                                                                     \
    }                                                                                                                  \
    INLINE vector_##type larger_##type(vector_##type a, vector_##type b) {                                             \
        return (vector_##type)choose_##type(a > b, (places_##type)a, (places_##type)b);                                \
    }                                                                                                                  \
    INLINE bool any_##type(flags_##type f) {                                                                           \
        static const flags_##type none;                                                                                \
        return memcmp(&f, &none, sizeof f) != 0;                                                                       \
    }                                                                                                                  \
    INLINE bool negative_##type(places_##type p) {                                                                     \
        return any_##type(p < 0);                                                                                      \
    }
OPERATIONS(f32)
OPERATIONS(f64)
#endif
#undef OPERATIONS

/* The 16-bit types are computed in f32. */
#define places_f16 places_f32
#define place_f16 place_f32
#define flags_f16 flags_f32
#define greater_f16 greater_f32
#define unordered_f16 unordered_f32
#define larger_f16 larger_f32
#define choose_f16 choose_f32
#define any_f16 any_f32
#define negative_f16 negative_f32
#define places_bf16 places_f32
#define place_bf16 place_f32
#define flags_bf16 flags_f32
#define greater_bf16 greater_f32
#define unordered_bf16 unordered_f32
#define larger_bf16 larger_f32
#define choose_bf16 choose_f32
#define any_bf16 any_f32
#define negative_bf16 negative_f32

#endif
