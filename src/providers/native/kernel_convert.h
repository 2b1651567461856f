/* kernel_convert.h - stores vectors in each type, and converts them to f64. Include it after half.h. */
#ifndef BP_NATIVE_KERNEL_CONVERT_H
#define BP_NATIVE_KERNEL_CONVERT_H

/* store_vector() converts and stores all lanes. */
INLINE void store_vector_f32(void *to, vector_f32 x) {
    memcpy(to, &x, sizeof x);
}

INLINE void store_vector_f64(void *to, vector_f64 x) {
    memcpy(to, &x, sizeof x);
}

INLINE void store_vector_f16(void *to, vector_f32 x) {
#if VECTOR_BYTES == 64 && defined(__AVX512F__)
    _mm256_storeu_si256(to, _mm512_maskz_cvtps_ph((__mmask16)0xffff, x, _MM_FROUND_TO_NEAREST_INT));
#elif VECTOR_BYTES == 32 && defined(__F16C__)
    _mm_storeu_si128(to, _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
#elif defined(F16_STORE_V)
    F16_STORE_V(to, x);
#else
    uint16_t half[VECTOR_BYTES / 4];
    for (int i = 0; i < VECTOR_BYTES / 4; i++) {
        half[i] = narrow_f16(x[i]);
    }
    memcpy(to, half, sizeof half);
#endif
}

#if VECTOR_BYTES == 64 && defined(__AVX512F__)
INLINE void store_vector_bf16(void *to, vector_f32 x) {
    const __m512i bits = (__m512i)x, last = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    const __m512i rounded = _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff)), last);
    const __m512i quiet = _mm512_set1_epi32(0x400000);
    const __m512i half = _mm512_mask_or_epi32(rounded, _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q), bits, quiet);
    _mm256_storeu_si256(to, _mm512_cvtepi32_epi16(_mm512_srli_epi32(half, 16)));
}
#else
INLINE void store_vector_bf16(void *to, vector_f32 x) {
    typedef uint32_t bits_of_vector __attribute__((vector_size(VECTOR_BYTES)));
    const bits_of_vector bits = (bits_of_vector)x, nan = (bits_of_vector)(x != x);
    const bits_of_vector rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16, quiet = bits >> 16 | 0x40u;
    const bits_of_vector half = (nan & quiet) | (~nan & rounded);
#if VECTOR_BYTES == 32 && defined(__AVX2__)
    const __m256i packed = _mm256_packus_epi32((__m256i)half, (__m256i)half); /* of each half of the register */
    _mm_storeu_si128(to, _mm256_castsi256_si128(_mm256_permute4x64_epi64(packed, 0x08)));
#else
    typedef uint16_t halves __attribute__((vector_size(VECTOR_BYTES / 2)));
    const halves narrow = __builtin_convertvector(half, halves);
    memcpy(to, &narrow, sizeof narrow);
#endif
}
#endif

/* doubles() converts all lanes, in their order. */
INLINE void doubles_f64(vector_f64 x, vector_f64 *to) {
    to[0] = x;
}

INLINE void doubles_f32(vector_f32 x, vector_f64 *to) {
#if VECTOR_BYTES == 64 && defined(__AVX512F__)
    to[0] = _mm512_cvtps_pd(_mm512_castps512_ps256(x));
    to[1] = _mm512_cvtps_pd(_mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd(x), 1)));
#elif VECTOR_BYTES == 32 && defined(__AVX__)
    to[0] = _mm256_cvtps_pd(_mm256_castps256_ps128(x));
    to[1] = _mm256_cvtps_pd(_mm256_extractf128_ps(x, 1));
#elif VECTOR_BYTES == 16 && defined(__SSE2__)
    to[0] = _mm_cvtps_pd(x);
    to[1] = _mm_cvtps_pd(_mm_movehl_ps(x, x));
#else
    enum { HALF = VECTOR_BYTES / 8 };
    for (int h = 0; h < 2; h++) {
        vector_f64 half = {0};
        for (int i = 0; i < HALF; i++) {
            half[i] = (double)x[h * HALF + i];
        }
        to[h] = half;
    }
#endif
}

#endif
