/* kernel_math.h - defines elementary functions of vectors, for kernels of f32 (vector_f32) and f64 (vector_f64):
 * weight, exp, log, tanh, sigmoid, silu, gelu and root. kernel_math_type.h has their descriptions and errors. They have
 * no branches, and no lane depends on another one. Without fused multiply-add they keep their error bounds, but results
 * differ in the last bits.
 *
 * An ulp is the distance of the two numbers of the type next to the result, at least the distance of denormal numbers.
 * The bounds are tested in tests/elementwise/test_functions.c. */
#ifndef BP_NATIVE_KERNEL_MATH_H
#define BP_NATIVE_KERNEL_MATH_H

#include "providers/native/kernel_vector.h"

#include <math.h>

/* Square roots, correctly rounded. */
#if VECTOR_BYTES == 64 && defined(__AVX512F__)
INLINE vector_f32 root_f32(vector_f32 x) {
    return _mm512_sqrt_ps(x);
}
INLINE vector_f64 root_f64(vector_f64 x) {
    return _mm512_sqrt_pd(x);
}
#elif VECTOR_BYTES == 32 && defined(__AVX__)
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
    for (int i = 0; i < (int)(sizeof x / sizeof x[0]); i++) {
        x[i] = sqrtf(x[i]);
    }
    return x;
}
INLINE vector_f64 root_f64(vector_f64 x) {
    for (int i = 0; i < (int)(sizeof x / sizeof x[0]); i++) {
        x[i] = sqrt(x[i]);
    }
    return x;
}
#endif

/* Instructions of AVX-512 for what takes several steps otherwise, with equal results: a < b ? yes : no, and x times 2
 * to the power of an integer n, which rounds once. */
#if VECTOR_BYTES == 64 && defined(__AVX512F__)
#define MATH_AVX512 1
INLINE vector_f32 avx512_select_less_f32(vector_f32 a, vector_f32 b, vector_f32 yes, vector_f32 no) {
    return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(a, b, _CMP_LT_OQ), no, yes);
}
INLINE vector_f64 avx512_select_less_f64(vector_f64 a, vector_f64 b, vector_f64 yes, vector_f64 no) {
    return _mm512_mask_blend_pd(_mm512_cmp_pd_mask(a, b, _CMP_LT_OQ), no, yes);
}
INLINE vector_f32 avx512_scale_f32(vector_f32 x, vector_f32 n) {
    return _mm512_scalef_ps(x, n);
}
INLINE vector_f64 avx512_scale_f64(vector_f64 x, vector_f64 n) {
    return _mm512_scalef_pd(x, n);
}
#else
#define MATH_AVX512 0
#endif

#define LOG2_E 1.44269504088896340736
#define LIFT 96
#define LOWERED 0x1p-96 /* 2^-LIFT */

#define MATH__(name, type) name##_##type
#define MATH_(name, type) MATH__(name, type)
#define MATH(name) MATH_(name, MATH_TYPE)

/* Polynomials: WEIGHT_TERMS of (e^r - 1) / r, EXP_TERMS of (e^r - 1 - r) / r^2 and LOG_TERMS of
 * (2 artanh(s) / s - 2) / s^2 in s^2, by Chebyshev interpolation. RATIO_ABOVE and RATIO_BELOW: numerator and
 * denominator of (1 - normal(a)) exp(a^2 / 2) / RATIO_FACTOR, where normal() is the distribution function, by iterated
 * least squares of relative errors up to a = FARTHEST; their highest terms, which are not listed, have the factor 1. No
 * coefficient is negative, so that none cancel, and the steps of both are so similar that most of their rounding errors
 * do. All have errors below a quarter of the type's rounding error. */
#define MATH_TYPE f32
#define MATH_REAL float
#define MATH_VECTOR vector_f32
#define MATH_INTEGER uint32_t
#define MATH_SIGNED int32_t
#define MANTISSA 23
#define BIAS 127
#define SPLIT 12
#define LEAST_EXPONENT -126.f
#define LEAST_NORMAL 0x1p-126f
#define LOWEST -120.f
#define HIGHEST 89.f
#define TANH_IS_1 10.f
#define FARTHEST 14.7f
#define LN2_HIGH 0x1.62ep-1f
#define LN2_LOW 3.19461849453e-5f
#define WEIGHT_TERMS                                                                                                   \
    1.00000001077157014f, 0.500000001345772714f, 0.166665052604081235f, 0.0416664650060400488f,                        \
        0.00836914849085634660f, 0.00139336410319867012f
#define EXP_TERMS 0.5000000013f, 0.1666666668f, 0.04166646471f, 0.008333310902f, 0.001393367373f, 0.0001989101718f
#define LOG_TERMS 0.6666666655f, 0.4000012263f, 0.2855073084f, 0.233329128f
#define RATIO_ABOVE 121.0284431f, 106.1895964f, 44.42547734f, 9.859895853f
#define RATIO_BELOW 96.56781156f, 161.7779993f, 116.2425903f, 45.41174617f, 9.860616078f
#define RATIO_FACTOR 0.3989467645
#include "providers/native/kernel_math_type.h"
#undef MATH_TYPE
#undef MATH_REAL
#undef MATH_VECTOR
#undef MATH_INTEGER
#undef MATH_SIGNED
#undef MANTISSA
#undef BIAS
#undef SPLIT
#undef LEAST_EXPONENT
#undef LEAST_NORMAL
#undef LOWEST
#undef HIGHEST
#undef TANH_IS_1
#undef FARTHEST
#undef LN2_HIGH
#undef LN2_LOW
#undef WEIGHT_TERMS
#undef EXP_TERMS
#undef LOG_TERMS
#undef RATIO_ABOVE
#undef RATIO_BELOW
#undef RATIO_FACTOR

#define MATH_TYPE f64
#define MATH_REAL double
#define MATH_VECTOR vector_f64
#define MATH_INTEGER uint64_t
#define MATH_SIGNED int64_t
#define MANTISSA 52
#define BIAS 1023
#define SPLIT 27
#define LEAST_EXPONENT -1022.
#define LEAST_NORMAL 0x1p-1022
#define LOWEST -760.
#define HIGHEST 710.
#define TANH_IS_1 20.
#define FARTHEST 38.8
#define LN2_HIGH 0x1.62e42fefa2p-1
#define LN2_LOW 7.3710025651677989e-13
#define WEIGHT_TERMS                                                                                                   \
    0.999999999999999999, 0.500000000000000561, 0.166666666666666710, 0.0416666666665731426, 0.00833333333332614088,   \
        0.00138888889324885982, 0.000198412698748004920, 0.0000248015043469976873, 0.00000275572554257464342,          \
        2.76263573194914660e-7, 2.51052063739570111e-8
#define EXP_TERMS                                                                                                      \
    0.5, 0.16666666666666671, 0.0416666666666666698, 0.00833333333332611986, 0.00138888888888837374,                   \
        0.000198412698748739751, 0.0000248015873255858389, 2.75572553325544091e-6, 2.75572735947994132e-7,             \
        2.51052451539013699e-8, 2.09147070696123534e-9
#define LOG_TERMS                                                                                                      \
    0.666666666666666973, 0.399999999998981919, 0.285714286265702036, 0.222222110378165877, 0.181828961834830866,      \
        0.153314872358657332, 0.146193434535126152
#define RATIO_ABOVE                                                                                                    \
    2271740.49388047307, 3755982.01627900084, 3078864.94003436674, 1616657.00900225884, 596527.535566676502,           \
        160884.023857725263, 32074.8064698317465, 4673.20411351712084, 478.000937040945622, 31.2115702843371068
#define RATIO_BELOW                                                                                                    \
    1812586.6662183721, 4443074.97753577845, 5095346.39440743135, 3615944.70423374665, 1768507.00815367451,            \
        627656.326310421961, 165494.805394924799, 32550.8073893203382, 4704.41568420282466, 479.000937034820749,       \
        31.2115702844045003
#define RATIO_FACTOR 0.398942280401535335
#include "providers/native/kernel_math_type.h"
#undef MATH_TYPE
#undef MATH_REAL
#undef MATH_VECTOR
#undef MATH_INTEGER
#undef MATH_SIGNED
#undef MANTISSA
#undef BIAS
#undef SPLIT
#undef LEAST_EXPONENT
#undef LEAST_NORMAL
#undef LOWEST
#undef HIGHEST
#undef TANH_IS_1
#undef FARTHEST
#undef LN2_HIGH
#undef LN2_LOW
#undef WEIGHT_TERMS
#undef EXP_TERMS
#undef LOG_TERMS
#undef RATIO_ABOVE
#undef RATIO_BELOW
#undef RATIO_FACTOR

#endif
