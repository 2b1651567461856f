/* kernel_round.h - rounds vectors to integers by instructions, if the instruction set has them (ROUNDS). The results
 * equal the results of the steps in kernel_function.h. */
#if VECTOR_BYTES == 64 && defined(__AVX512F__)
#define ROUNDS 1
#define ROUND_F32(x, mode) _mm512_roundscale_ps(x, (mode) | _MM_FROUND_NO_EXC)
#define ROUND_F64(x, mode) _mm512_roundscale_pd(x, (mode) | _MM_FROUND_NO_EXC)
#elif VECTOR_BYTES == 32 && defined(__AVX__)
#define ROUNDS 1
#define ROUND_F32(x, mode) _mm256_round_ps(x, (mode) | _MM_FROUND_NO_EXC)
#define ROUND_F64(x, mode) _mm256_round_pd(x, (mode) | _MM_FROUND_NO_EXC)
#else
#define ROUNDS 0
#endif

#if ROUNDS
#define ROUND(name, mode)                                                                                              \
    INLINE vector_f32 name##_f32(vector_f32 x) {                                                                       \
        return ROUND_F32(x, mode);                                                                                     \
    }                                                                                                                  \
    INLINE vector_f64 name##_f64(vector_f64 x) {                                                                       \
        return ROUND_F64(x, mode);                                                                                     \
    }
ROUND(round, _MM_FROUND_TO_NEAREST_INT)
ROUND(floor, _MM_FROUND_TO_NEG_INF)
ROUND(ceil, _MM_FROUND_TO_POS_INF)
ROUND(trunc, _MM_FROUND_TO_ZERO)
#undef ROUND
#undef ROUND_F32
#undef ROUND_F64
#endif
