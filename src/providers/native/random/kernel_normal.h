/* kernel_normal.h - template: pairs of normal numbers of one type. kernel_set.c has the parameters, polynomials
 * included: LOG_TERMS of (2 artanh(s) / s - 2) / s^2, SIN_TERMS of (sin(x) / x - 1) / x^2 and COS_TERMS of (cos(x) - 1
 * + x^2 / 2) / x^4, all in squares, by Chebyshev interpolation; x is at most pi / 4.
 *
 * Each step is one operation that IEEE 754 rounds correctly, so that every compiler and device returns the same. */
#define JOIN_(name, type) name##_##type
#define JOIN(name, type) JOIN_(name, type)
#define NAME(name) JOIN(name, TYPE)

#define POLYNOMIAL(name, ...)                                                                                          \
    INLINE REAL NAME(name)(REAL x) {                                                                                   \
        static const REAL term[] = {__VA_ARGS__};                                                                      \
        REAL sum = term[sizeof term / sizeof *term - 1];                                                               \
        UNROLL                                                                                                         \
        for (int i = (int)(sizeof term / sizeof *term) - 2; i >= 0; i--) {                                             \
            sum = sum * x + term[i];                                                                                   \
        }                                                                                                              \
        return sum;                                                                                                    \
    }
POLYNOMIAL(log_terms, LOG_TERMS)
POLYNOMIAL(sin_terms, SIN_TERMS)
POLYNOMIAL(cos_terms, COS_TERMS)

INLINE BITS NAME(as_bits)(REAL x) {
    BITS bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

INLINE REAL NAME(as_real)(BITS bits) {
    REAL x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* -2 log(x) of a normal number x, at most 1. With x = 2^k (1 + f), 1 + f from sqrt(0.5) to sqrt(2), and s = f / (2 +
 * f), log(1 + f) is 2 artanh(s) = f - f^2 / 2 + s (f^2 / 2 + ...). */
INLINE REAL NAME(square)(REAL x) {
    const BITS bits = NAME(as_bits)(x);
    const BITS biased = (bits - NAME(as_bits)((REAL)0.70710678118654752440) + ((BITS)BIAS << MANTISSA)) >> MANTISSA;
    const REAL k = (REAL)(int32_t)((int32_t)biased - BIAS);
    const REAL f = NAME(as_real)(bits - ((biased - BIAS) << MANTISSA)) - (REAL)1;
    const REAL s = f / ((REAL)2 + f), z = s * s, half = (REAL)0.5 * f * f;
    const REAL low = s * (z * NAME(log_terms)(z) + half) + k * LN2_LOW;
    return (REAL)-2 * (k * LN2_HIGH + (f - (half - low)));
}

VECTORIZED static void NAME(normal_pairs)(int64_t count, REAL *radius, const BITS *angle, REAL *even, REAL *odd) {
    enum { LANES = VECTOR_BYTES / sizeof(REAL), SIDE = 8 * sizeof(REAL) - 2 }; /* SIDE: the bits of a quarter turn */
    for (int64_t i = 0; i < count; i++) {
        radius[i] = NAME(square)(radius[i] * UNIT);
    }
    for (int64_t i = 0; i < count; i += LANES) { /* the arrays are longer than the last vector */
        NAME(vector) x;
        memcpy(&x, radius + i, sizeof x);
        x = NAME(root)(x);
        memcpy(radius + i, &x, sizeof x);
    }
    for (int64_t i = 0; i < count; i++) {
        const BITS quarter = (angle[i] + ((BITS)1 << (SIDE - 1))) >> SIDE;
        const REAL x = (REAL)(SIGNED)(angle[i] - (quarter << SIDE)) * TURN, z = x * x;
        const BITS sine = NAME(as_bits)(x + x * (z * NAME(sin_terms)(z)));
        const BITS cosine = NAME(as_bits)((REAL)1 - ((REAL)0.5 * z - z * (z * NAME(cos_terms)(z))));
        const BITS swapped = (BITS)0 - (quarter & 1), sign = (BITS)1 << (SIDE + 1);
        const BITS first = (cosine & ~swapped) | (sine & swapped), second = (sine & ~swapped) | (cosine & swapped);
        even[i] = radius[i] * NAME(as_real)(first ^ ((quarter + 1) << SIDE & sign));
        odd[i] = radius[i] * NAME(as_real)(second ^ (quarter << SIDE & sign));
    }
}

#undef JOIN_
#undef JOIN
#undef NAME
#undef POLYNOMIAL
