/* kernel_vector.h - defines the vector types and operations of one instruction set for the kernel templates. Vectors
 * are VECTOR_BYTES wide and use the vector extension of GCC and clang. Intrinsics are used only for what the extension
 * cannot express: fused multiply-add and masked loads.
 *
 * On a processor with 32-byte registers, a 64-byte vector is compiled to two. Tests use this to run the AVX-512 tile
 * without AVX-512.
 */
#ifndef BP_NATIVE_KERNEL_VECTOR_H
#define BP_NATIVE_KERNEL_VECTOR_H

#include <stdint.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

/* Products and sums are fused only where the code calls madd(), because the results of every path depend on it. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#define UNROLL _Pragma("unroll")
#else
#define UNROLL _Pragma("GCC unroll 32")
#pragma GCC diagnostic ignored "-Wpsabi"
#endif

/* Hides from the compiler how a variable was computed. */
#define OPAQUE(x) __asm__("" : "+r"(x))

#define INLINE static inline __attribute__((always_inline, unused))

#if defined(__FMA__) || defined(__aarch64__)
#define FUSED 1
#else
#define FUSED 0
#endif

typedef float vector_f32 __attribute__((vector_size(VECTOR_BYTES)));
typedef double vector_f64 __attribute__((vector_size(VECTOR_BYTES)));

/* madd is a*b + c, with one rounding if the processor has FMA. msub is c - a*b. */
#if FUSED
INLINE float scalar_madd_f32(float a, float b, float c) {
    return __builtin_fmaf(a, b, c);
}
INLINE double scalar_madd_f64(double a, double b, double c) {
    return __builtin_fma(a, b, c);
}
#else
INLINE float scalar_madd_f32(float a, float b, float c) {
    return a * b + c;
}
INLINE double scalar_madd_f64(double a, double b, double c) {
    return a * b + c;
}
#endif

#if VECTOR_BYTES == 64 && defined(__AVX512F__)
#define X86_BINARY(name, f32, f64)                                                                                     \
    INLINE vector_f32 name##_f32(vector_f32 a, vector_f32 b, vector_f32 c) {                                           \
        return _mm512_##f32(a, b, c);                                                                                  \
    }                                                                                                                  \
    INLINE vector_f64 name##_f64(vector_f64 a, vector_f64 b, vector_f64 c) {                                           \
        return _mm512_##f64(a, b, c);                                                                                  \
    }
X86_BINARY(madd, fmadd_ps, fmadd_pd)
X86_BINARY(msub, fnmadd_ps, fnmadd_pd)
#elif VECTOR_BYTES == 64 && defined(__FMA__)
#define HALVES(name, type, half, function)                                                                             \
    INLINE type name(type a, type b, type c) {                                                                         \
        union {                                                                                                        \
            type whole;                                                                                                \
            half part[2];                                                                                              \
        } x = {a}, y = {b}, z = {c};                                                                                   \
        z.part[0] = function(x.part[0], y.part[0], z.part[0]);                                                         \
        z.part[1] = function(x.part[1], y.part[1], z.part[1]);                                                         \
        return z.whole;                                                                                                \
    }
HALVES(madd_f32, vector_f32, __m256, _mm256_fmadd_ps)
HALVES(madd_f64, vector_f64, __m256d, _mm256_fmadd_pd)
HALVES(msub_f32, vector_f32, __m256, _mm256_fnmadd_ps)
HALVES(msub_f64, vector_f64, __m256d, _mm256_fnmadd_pd)
#elif VECTOR_BYTES == 32 && defined(__FMA__)
INLINE vector_f32 madd_f32(vector_f32 a, vector_f32 b, vector_f32 c) {
    return _mm256_fmadd_ps(a, b, c);
}
INLINE vector_f64 madd_f64(vector_f64 a, vector_f64 b, vector_f64 c) {
    return _mm256_fmadd_pd(a, b, c);
}
INLINE vector_f32 msub_f32(vector_f32 a, vector_f32 b, vector_f32 c) {
    return _mm256_fnmadd_ps(a, b, c);
}
INLINE vector_f64 msub_f64(vector_f64 a, vector_f64 b, vector_f64 c) {
    return _mm256_fnmadd_pd(a, b, c);
}
#elif VECTOR_BYTES == 16 && defined(__FMA__)
INLINE vector_f32 madd_f32(vector_f32 a, vector_f32 b, vector_f32 c) {
    return _mm_fmadd_ps(a, b, c);
}
INLINE vector_f64 madd_f64(vector_f64 a, vector_f64 b, vector_f64 c) {
    return _mm_fmadd_pd(a, b, c);
}
INLINE vector_f32 msub_f32(vector_f32 a, vector_f32 b, vector_f32 c) {
    return _mm_fnmadd_ps(a, b, c);
}
INLINE vector_f64 msub_f64(vector_f64 a, vector_f64 b, vector_f64 c) {
    return _mm_fnmadd_pd(a, b, c);
}
#elif VECTOR_BYTES == 16 && defined(__aarch64__)
INLINE vector_f32 madd_f32(vector_f32 a, vector_f32 b, vector_f32 c) {
    return (vector_f32)vfmaq_f32(c, a, b);
}
INLINE vector_f64 madd_f64(vector_f64 a, vector_f64 b, vector_f64 c) {
    return (vector_f64)vfmaq_f64(c, a, b);
}
INLINE vector_f32 msub_f32(vector_f32 a, vector_f32 b, vector_f32 c) {
    return (vector_f32)vfmsq_f32(c, a, b);
}
INLINE vector_f64 msub_f64(vector_f64 a, vector_f64 b, vector_f64 c) {
    return (vector_f64)vfmsq_f64(c, a, b);
}
#elif FUSED
/* Vectors wider than the registers, with fused scalar operations: computed lane by lane. Only tests use this. */
#define LANEWISE(name, type, sign, fused)                                                                              \
    INLINE type name(type a, type b, type c) {                                                                         \
        for (int i = 0; i < (int)(sizeof a / sizeof a[0]); i++) {                                                      \
            c[i] = fused(sign a[i], b[i], c[i]);                                                                       \
        }                                                                                                              \
        return c;                                                                                                      \
    }
LANEWISE(madd_f32, vector_f32, +, scalar_madd_f32)
LANEWISE(madd_f64, vector_f64, +, scalar_madd_f64)
LANEWISE(msub_f32, vector_f32, -, scalar_madd_f32)
LANEWISE(msub_f64, vector_f64, -, scalar_madd_f64)
#else
INLINE vector_f32 madd_f32(vector_f32 a, vector_f32 b, vector_f32 c) {
    return a * b + c;
}
INLINE vector_f64 madd_f64(vector_f64 a, vector_f64 b, vector_f64 c) {
    return a * b + c;
}
INLINE vector_f32 msub_f32(vector_f32 a, vector_f32 b, vector_f32 c) {
    return c - a * b;
}
INLINE vector_f64 msub_f64(vector_f64 a, vector_f64 b, vector_f64 c) {
    return c - a * b;
}
#endif

#define LANES_2(f, a) f(0, a), f(1, a)
#define LANES_4(f, a) LANES_2(f, a), f(2, a), f(3, a)
#define LANES_8(f, a) LANES_4(f, a), f(4, a), f(5, a), f(6, a), f(7, a)
#define LANES_16(f, a) LANES_8(f, a), f(8, a), f(9, a), f(10, a), f(11, a), f(12, a), f(13, a), f(14, a), f(15, a)
#define LANES_32(f, a)                                                                                                 \
    LANES_16(f, a), f(16, a), f(17, a), f(18, a), f(19, a), f(20, a), f(21, a), f(22, a), f(23, a), f(24, a),          \
        f(25, a), f(26, a), f(27, a), f(28, a), f(29, a), f(30, a), f(31, a)
#define LANE_SAME(lane, value) (value)

#if VECTOR_BYTES == 64
#define LANES_F32 LANES_16
#define LANES_F64 LANES_8
#elif VECTOR_BYTES == 32
#define LANES_F32 LANES_8
#define LANES_F64 LANES_4
#else
#define LANES_F32 LANES_4
#define LANES_F64 LANES_2
#endif
INLINE vector_f32 splat_f32(float value) {
    return (vector_f32){LANES_F32(LANE_SAME, value)};
}
INLINE vector_f64 splat_f64(double value) {
    return (vector_f64){LANES_F64(LANE_SAME, value)};
}

/* maximum: a > b ? a : b of each lane; minimum: a < b ? a : b. They are b if one of both is NaN. */
#define EXTREME(name, f32, f64)                                                                                        \
    INLINE vector_f32 name##_f32(vector_f32 a, vector_f32 b) {                                                         \
        return f32(a, b);                                                                                              \
    }                                                                                                                  \
    INLINE vector_f64 name##_f64(vector_f64 a, vector_f64 b) {                                                         \
        return f64(a, b);                                                                                              \
    }
#define EXTREME_LANES(name, compare, type, integer)                                                                    \
    INLINE type name(type a, type b) {                                                                                 \
        typedef integer lanes __attribute__((vector_size(VECTOR_BYTES)));                                              \
        const lanes mask = (lanes)(a compare b);                                                                       \
        return (type)((mask & (lanes)a) | (~mask & (lanes)b));                                                         \
    }
#if VECTOR_BYTES == 64 && defined(__AVX512F__)
EXTREME(maximum, _mm512_max_ps, _mm512_max_pd)
EXTREME(minimum, _mm512_min_ps, _mm512_min_pd)
#elif VECTOR_BYTES == 32 && defined(__AVX__)
EXTREME(maximum, _mm256_max_ps, _mm256_max_pd)
EXTREME(minimum, _mm256_min_ps, _mm256_min_pd)
#elif VECTOR_BYTES == 16 && defined(__SSE2__)
EXTREME(maximum, _mm_max_ps, _mm_max_pd)
EXTREME(minimum, _mm_min_ps, _mm_min_pd)
#else
EXTREME_LANES(maximum_f32, >, vector_f32, int32_t)
EXTREME_LANES(maximum_f64, >, vector_f64, int64_t)
EXTREME_LANES(minimum_f32, <, vector_f32, int32_t)
EXTREME_LANES(minimum_f64, <, vector_f64, int64_t)
#endif
#undef EXTREME
#undef EXTREME_LANES

/* Whether a lane of a is not below the lane of b: it is NaN then, or not less. */
#if VECTOR_BYTES == 64 && defined(__AVX512F__)
INLINE int any_not_below_f32(vector_f32 a, vector_f32 b) {
    return _mm512_cmp_ps_mask(a, b, _CMP_NLT_UQ) != 0;
}
INLINE int any_not_below_f64(vector_f64 a, vector_f64 b) {
    return _mm512_cmp_pd_mask(a, b, _CMP_NLT_UQ) != 0;
}
#elif VECTOR_BYTES == 32 && defined(__AVX__)
INLINE int any_not_below_f32(vector_f32 a, vector_f32 b) {
    return _mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_NLT_UQ)) != 0;
}
INLINE int any_not_below_f64(vector_f64 a, vector_f64 b) {
    return _mm256_movemask_pd(_mm256_cmp_pd(a, b, _CMP_NLT_UQ)) != 0;
}
#elif VECTOR_BYTES == 16 && defined(__SSE2__)
INLINE int any_not_below_f32(vector_f32 a, vector_f32 b) {
    return _mm_movemask_ps(_mm_cmpnlt_ps(a, b)) != 0;
}
INLINE int any_not_below_f64(vector_f64 a, vector_f64 b) {
    return _mm_movemask_pd(_mm_cmpnlt_pd(a, b)) != 0;
}
#else
#define ANY_LANES(name, type)                                                                                          \
    INLINE int name(type a, type b) {                                                                                  \
        int any = 0;                                                                                                   \
        for (int i = 0; i < (int)(sizeof a / sizeof a[0]); i++) {                                                      \
            any |= !(a[i] < b[i]);                                                                                     \
        }                                                                                                              \
        return any;                                                                                                    \
    }
ANY_LANES(any_not_below_f32, vector_f32)
ANY_LANES(any_not_below_f64, vector_f64)
#undef ANY_LANES
#endif

/* Loads the first `count` lanes from memory and sets the others to zero. Memory beyond them is not accessed. */
#if VECTOR_BYTES == 64 && defined(__AVX512F__)
INLINE vector_f32 load_part_f32(const float *from, int count) {
    return _mm512_maskz_loadu_ps((__mmask16)((1u << count) - 1u), from);
}
INLINE vector_f64 load_part_f64(const double *from, int count) {
    return _mm512_maskz_loadu_pd((__mmask8)((1u << count) - 1u), from);
}
#elif VECTOR_BYTES == 32 && defined(__AVX2__)
static const int32_t mask_f32[16] = {-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0};
static const int64_t mask_f64[8] = {-1, -1, -1, -1, 0, 0, 0, 0};
INLINE vector_f32 load_part_f32(const float *from, int count) {
    return _mm256_maskload_ps(from, _mm256_loadu_si256((const __m256i *)(const void *)(mask_f32 + 8 - count)));
}
INLINE vector_f64 load_part_f64(const double *from, int count) {
    return _mm256_maskload_pd(from, _mm256_loadu_si256((const __m256i *)(const void *)(mask_f64 + 4 - count)));
}
#else
INLINE vector_f32 load_part_f32(const float *from, int count) {
    vector_f32 whole = {0};
    memcpy(&whole, from, (size_t)count * sizeof *from);
    return whole;
}
INLINE vector_f64 load_part_f64(const double *from, int count) {
    vector_f64 whole = {0};
    memcpy(&whole, from, (size_t)count * sizeof *from);
    return whole;
}
#endif

/* Stores the first `count` lanes, fewer than all. Memory beyond them is not accessed. AVX2 has masked stores, but they
 * are slow on many processors. */
#if VECTOR_BYTES == 64 && defined(__AVX512F__)
INLINE void store_part_f32(float *to, vector_f32 x, int count) {
    _mm512_mask_storeu_ps(to, (__mmask16)((1u << count) - 1u), x);
}
INLINE void store_part_f64(double *to, vector_f64 x, int count) {
    _mm512_mask_storeu_pd(to, (__mmask8)((1u << count) - 1u), x);
}
#elif VECTOR_BYTES == 32 && defined(__AVX2__)
INLINE void store_part_f32(float *to, vector_f32 x, int count) {
    __m128 rest = _mm256_castps256_ps128(x);
    if (count & 4) {
        _mm_storeu_ps(to, rest);
        rest = _mm256_extractf128_ps(x, 1);
        to += 4;
    }
    if (count & 2) {
        _mm_storel_pi((__m64 *)(void *)to, rest);
        rest = _mm_movehl_ps(rest, rest);
        to += 2;
    }
    if (count & 1) {
        _mm_store_ss(to, rest);
    }
}
INLINE void store_part_f64(double *to, vector_f64 x, int count) {
    __m128d rest = _mm256_castpd256_pd128(x);
    if (count & 2) {
        _mm_storeu_pd(to, rest);
        rest = _mm256_extractf128_pd(x, 1);
        to += 2;
    }
    if (count & 1) {
        _mm_store_sd(to, rest);
    }
}
#else
INLINE void store_part_f32(float *to, vector_f32 x, int count) {
    for (int i = 0; i < count; i++) {
        to[i] = x[i];
    }
}
INLINE void store_part_f64(double *to, vector_f64 x, int count) {
    for (int i = 0; i < count; i++) {
        to[i] = x[i];
    }
}
#endif

/* 16 bytes of a row, and vectors that consist of such parts. load_part_quad() sets the lanes from `count` on to zero
 * and does not access memory beyond them. */
typedef float vector_quad_f32 __attribute__((vector_size(16)));
typedef double vector_quad_f64 __attribute__((vector_size(16)));
INLINE vector_quad_f32 load_quad_f32(const float *from) {
    vector_quad_f32 x;
    memcpy(&x, from, sizeof x);
    return x;
}
INLINE vector_quad_f64 load_quad_f64(const double *from) {
    vector_quad_f64 x;
    memcpy(&x, from, sizeof x);
    return x;
}
#if defined(__AVX2__)
INLINE vector_quad_f32 load_part_quad_f32(const float *from, int count) {
    static const int32_t mask[7] = {-1, -1, -1, -1, 0, 0, 0};
    return _mm_maskload_ps(from, _mm_loadu_si128((const __m128i *)(const void *)(mask + 4 - count)));
}
#else
INLINE vector_quad_f32 load_part_quad_f32(const float *from, int count) {
    return (vector_quad_f32){from[0], count > 1 ? from[1] : 0, count > 2 ? from[2] : 0, count > 3 ? from[3] : 0};
}
#endif
INLINE vector_quad_f64 load_part_quad_f64(const double *from, int count) {
    return (vector_quad_f64){from[0], count > 1 ? from[1] : 0};
}
#if VECTOR_BYTES == 64 && defined(__AVX512F__)
INLINE vector_f32 join_quad_f32(const vector_quad_f32 *part) {
    const __m512 low = _mm512_castps256_ps512(_mm256_insertf128_ps(_mm256_castps128_ps256(part[0]), part[1], 1));
    return _mm512_insertf32x8(low, _mm256_insertf128_ps(_mm256_castps128_ps256(part[2]), part[3], 1), 1);
}
INLINE vector_f64 join_quad_f64(const vector_quad_f64 *part) {
    const __m512d low = _mm512_castpd256_pd512(_mm256_insertf128_pd(_mm256_castpd128_pd256(part[0]), part[1], 1));
    return _mm512_insertf64x4(low, _mm256_insertf128_pd(_mm256_castpd128_pd256(part[2]), part[3], 1), 1);
}
#elif VECTOR_BYTES == 32 && defined(__AVX2__)
INLINE vector_f32 join_quad_f32(const vector_quad_f32 *part) {
    return _mm256_insertf128_ps(_mm256_castps128_ps256(part[0]), part[1], 1);
}
INLINE vector_f64 join_quad_f64(const vector_quad_f64 *part) {
    return _mm256_insertf128_pd(_mm256_castpd128_pd256(part[0]), part[1], 1);
}
#else
INLINE vector_f32 join_quad_f32(const vector_quad_f32 *part) {
    vector_f32 x;
    memcpy(&x, part, sizeof x);
    return x;
}
INLINE vector_f64 join_quad_f64(const vector_quad_f64 *part) {
    vector_f64 x;
    memcpy(&x, part, sizeof x);
    return x;
}
#endif

/* Vectors of numbers that are in registers already. */
#if VECTOR_BYTES == 64
INLINE vector_f32 of_lanes_f32(const float *x) {
    return (vector_f32){x[0], x[1], x[2],  x[3],  x[4],  x[5],  x[6],  x[7],
                        x[8], x[9], x[10], x[11], x[12], x[13], x[14], x[15]};
}
INLINE vector_f64 of_lanes_f64(const double *x) {
    return (vector_f64){x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7]};
}
#elif VECTOR_BYTES == 32
INLINE vector_f32 of_lanes_f32(const float *x) {
    return (vector_f32){x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7]};
}
INLINE vector_f64 of_lanes_f64(const double *x) {
    return (vector_f64){x[0], x[1], x[2], x[3]};
}
#else
INLINE vector_f32 of_lanes_f32(const float *x) {
    return (vector_f32){x[0], x[1], x[2], x[3]};
}
INLINE vector_f64 of_lanes_f64(const double *x) {
    return (vector_f64){x[0], x[1]};
}
#endif

#endif
