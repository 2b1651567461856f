/* half.h - converts f16 and bf16 to f32 and back, as scalars and as vectors. Kernel templates that compute in f32 use
 * it; results are rounded to nearest even. Include it after kernel_vector.h. Which vector loads exist depends on the
 * instruction set.
 */
#ifndef BP_NATIVE_HALF_H
#define BP_NATIVE_HALF_H

INLINE float float_of(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

INLINE uint32_t bits_of(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

INLINE float widen_bf16(uint16_t x) {
    return float_of((uint32_t)x << 16);
}

INLINE uint16_t narrow_bf16(float x) {
    const uint32_t bits = bits_of(x);
    if ((bits & 0x7fffffffu) > 0x7f800000u) {
        return (uint16_t)(bits >> 16 | 0x40u);
    }
    return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

INLINE float widen_f16(uint16_t x) {
    const uint32_t sign = (uint32_t)(x & 0x8000u) << 16, exponent = x >> 10 & 31u, mantissa = x & 0x3ffu;
    if (exponent == 31) {
        return float_of(sign | 0x7f800000u | mantissa << 13 | (mantissa ? 0x400000u : 0));
    }
    if (exponent == 0) {
        const float tiny = (float)mantissa * 0x1p-24f;
        return float_of(sign | bits_of(tiny));
    }
    return float_of(sign | (exponent + 112) << 23 | mantissa << 13);
}

INLINE uint16_t narrow_f16(float x) {
    const uint32_t sign = bits_of(x) >> 16 & 0x8000u;
    uint32_t bits = bits_of(x) & 0x7fffffffu;
    if (bits > 0x7f800000u) {
        return (uint16_t)(sign | 0x7e00u | (bits >> 13 & 0x3ffu));
    }
    if (bits >= 0x47800000u) { /* 65536 and above; from 65520 on the addition below carries into infinity */
        return (uint16_t)(sign | 0x7c00u);
    }
    if (bits < 0x38800000u) { /* below 2^-14: the sum with 0.5 has the spacing of f16's subnormals */
        return (uint16_t)(sign | (bits_of(float_of(bits) + 0.5f) - bits_of(0.5f)));
    }
    bits += 0xfffu + (bits >> 13 & 1u);
    return (uint16_t)(sign | (bits - (112u << 23)) >> 13);
}

/* Loads of f32 vectors. V has VECTOR_BYTES / 4 lanes; S has half as many, but at least four. */
#define BITS_VECTOR(lanes)                                                                                             \
    typedef uint16_t half_bits_##lanes __attribute__((vector_size(2 * lanes), aligned(2), may_alias));                 \
    typedef uint32_t float_bits_##lanes __attribute__((vector_size(4 * lanes)));
BITS_VECTOR(4)
BITS_VECTOR(8)
BITS_VECTOR(16)
#undef BITS_VECTOR
#define SHIFTED(from, lanes) (__builtin_convertvector(*(const half_bits_##lanes *)(from), float_bits_##lanes) << 16)

/* gcc makes two halves of SHIFTED() of 8 or 16 lanes, and joins them. */
#if defined(__AVX512F__)
#define BF16_LOAD_16(from)                                                                                             \
    ((float_bits_16)_mm512_slli_epi32(                                                                                 \
        _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)(const void *)(from))), 16))
#else
#define BF16_LOAD_16(from) SHIFTED(from, 16)
#endif
#if defined(__AVX2__)
#define BF16_LOAD_8(from)                                                                                              \
    ((float_bits_8)_mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(const void *)(from))), 16))
#else
#define BF16_LOAD_8(from) SHIFTED(from, 8)
#endif

#if VECTOR_BYTES == 64
#define BF16_LOAD_V(from) BF16_LOAD_16(from)
#define BF16_LOAD_S(from) BF16_LOAD_8(from)
#elif VECTOR_BYTES == 32
#define BF16_LOAD_V(from) BF16_LOAD_8(from)
#define BF16_LOAD_S(from) SHIFTED(from, 4)
#else
#define BF16_LOAD_V(from) SHIFTED(from, 4)
#define BF16_LOAD_S(from) SHIFTED(from, 4)
#endif

/* f16 by integer operations on vectors, for processors without conversions. They take less code than branches for each
 * lane, and are faster. */
#define F16_VECTOR(lanes)                                                                                              \
    typedef float floats_##lanes __attribute__((vector_size(4 * lanes)));                                              \
    typedef int32_t integers_##lanes __attribute__((vector_size(4 * lanes)));                                          \
    INLINE float_bits_##lanes choose_bits_##lanes(integers_##lanes flags, float_bits_##lanes a,                        \
                                                  float_bits_##lanes b) {                                              \
        return ((float_bits_##lanes)flags & a) | (~(float_bits_##lanes)flags & b);                                     \
    }                                                                                                                  \
    INLINE floats_##lanes widen_f16_##lanes(const void *from) {                                                        \
        const float_bits_##lanes x = __builtin_convertvector(*(const half_bits_##lanes *)from, float_bits_##lanes);    \
        const float_bits_##lanes exponent = x & 0x7c00u, mantissa = x & 0x3ffu, sign = (x & 0x8000u) << 16;            \
        const float_bits_##lanes quiet = (float_bits_##lanes)(mantissa != 0) & 0x400000u;                              \
        const floats_##lanes tiny = __builtin_convertvector((integers_##lanes)mantissa, floats_##lanes) * 0x1p-24f;    \
        const float_bits_##lanes normal = ((x & 0x7fffu) << 13) + (112u << 23);                                        \
        const float_bits_##lanes special = 0x7f800000u | mantissa << 13 | quiet;                                       \
        const float_bits_##lanes finite =                                                                              \
            choose_bits_##lanes((integers_##lanes)(exponent == 0), (float_bits_##lanes)tiny, normal);                  \
        return (floats_##lanes)(sign | choose_bits_##lanes((integers_##lanes)(exponent == 0x7c00u), special, finite)); \
    }                                                                                                                  \
    INLINE void narrow_f16_##lanes(void *to, floats_##lanes x) {                                                       \
        const integers_##lanes bits = (integers_##lanes)x & 0x7fffffff;                                                \
        const float_bits_##lanes b = (float_bits_##lanes)bits, sign = (float_bits_##lanes)x >> 16 & 0x8000u;           \
        const float_bits_##lanes nan = 0x7e00u | (b >> 13 & 0x3ffu);                                                   \
        const float_bits_##lanes tiny = (float_bits_##lanes)((floats_##lanes)bits + 0.5f) - 0x3f000000u;               \
        const float_bits_##lanes normal = (b + 0xfffu + (b >> 13 & 1u) - (112u << 23)) >> 13;                          \
        const float_bits_##lanes large =                                                                               \
            choose_bits_##lanes(bits > 0x7f800000, nan, (float_bits_##lanes){0} + 0x7c00u);                            \
        const float_bits_##lanes finite = choose_bits_##lanes(bits < 0x38800000, tiny, normal);                        \
        const float_bits_##lanes half = sign | choose_bits_##lanes(bits >= 0x47800000, large, finite);                 \
        *(half_bits_##lanes *)to = __builtin_convertvector(half, half_bits_##lanes);                                   \
    }

#if VECTOR_BYTES == 64 && defined(__AVX512F__)
#define F16_LOAD_V(from) _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)(from)))
#define F16_LOAD_S(from) _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)(from)))
#elif VECTOR_BYTES == 32 && defined(__F16C__)
#define F16_LOAD_V(from) _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)(from)))
#define F16_LOAD_S(from) _mm_cvtph_ps(_mm_loadl_epi64((const __m128i *)(const void *)(from)))
#elif VECTOR_BYTES == 16
F16_VECTOR(4)
#define F16_LOAD_V(from) widen_f16_4(from)
#define F16_LOAD_S(from) widen_f16_4(from)
#define F16_STORE_V(to, x) narrow_f16_4(to, x)
#endif
#undef F16_VECTOR

#endif
