/* kernel_math_type.h - template: elementary functions of vectors of one real type. kernel_math.h has its parameters. */
typedef MATH_INTEGER MATH(bits) __attribute__((vector_size(VECTOR_BYTES)));
typedef MATH_SIGNED MATH(bitmask) __attribute__((vector_size(VECTOR_BYTES)));

#define V MATH_VECTOR
#define BITS MATH(bits)
#define ALL(x) MATH(splat)((MATH_REAL)(x))
#define MAGIC ALL(1.5 / EPSILON) /* adding it rounds to an integer, which is in the low bits of the sum */
#define BIASED_MAGIC ALL(1.5 / EPSILON + BIAS)
#define LIFTED_MAGIC ALL(1.5 / EPSILON + LIFT)
#define EPSILON (1. / (double)(UINT64_C(1) << MANTISSA))
#define SIGN ((BITS)ALL(-0.))

/* Returns `yes` in lanes with a set mask, otherwise `no`. */
INLINE V MATH(select)(MATH(bitmask) mask, V yes, V no) {
    return (V)((mask & (MATH(bitmask))yes) | (~mask & (MATH(bitmask))no));
}

/* a < b ? yes : no of each lane: no if one of both is NaN. */
INLINE V MATH(select_less)(V a, V b, V yes, V no) {
#if MATH_AVX512
    return MATH(avx512_select_less)(a, b, yes, no);
#else
    return MATH(select)((MATH(bitmask))(a < b), yes, no);
#endif
}

/* first x^count + ... + term[1] x + term[0] */
INLINE V MATH(horner)(V first, const MATH_REAL *term, int count, V x) {
    UNROLL
    for (int i = count - 1; i >= 0; i--) {
        first = MATH(madd)(first, x, ALL(term[i]));
    }
    return first;
}

/* term[0] + term[1] x + ... */
INLINE V MATH(polynomial)(const MATH_REAL *term, int count, V x) {
    return MATH(horner)(ALL(term[count - 1]), term, count - 1, x);
}
#define POLYNOMIAL(terms, x) MATH(polynomial)(terms, (int)(sizeof terms / sizeof *terms), x)

/* The same with a further term that has the factor 1. */
INLINE V MATH(monic)(const MATH_REAL *term, int count, V x) {
    return MATH(horner)(x + ALL(term[count - 1]), term, count - 1, x);
}
#define MONIC(terms, x) MATH(monic)(terms, (int)(sizeof terms / sizeof *terms), x)

INLINE V MATH(size_of)(V x) {
    return (V)((BITS)x & ~SIGN);
}

/* size e^(factor r) of a reduced factor r; the factor is a power of 2 or the negative of one. */
INLINE V MATH(exp_reduced)(V r, double size, double factor) {
    static const MATH_REAL term[] = {WEIGHT_TERMS};
    enum { COUNT = sizeof term / sizeof *term };
    MATH_REAL scaled[COUNT];
    double power = size * factor;
    UNROLL
    for (int i = 0; i < COUNT; i++) {
        scaled[i] = (MATH_REAL)(power * (double)term[i]);
        power *= factor;
    }
    return MATH(madd)(POLYNOMIAL(scaled, r), r, ALL(size));
}

/* 2 to a power x, given as x + MAGIC. */
INLINE V MATH(exponent)(V shifted) {
    return (V)(((BITS)shifted + BIAS) << MANTISSA);
}

/* x times 2 to a power n + LIFT, given as n + LIFTED_MAGIC, of x from 0.1 to 2: adds to the exponent. Small numbers are
 * computed 2^LIFT times as large, so that none but the result is a denormal number. */
INLINE V MATH(lifted)(V x, V shifted) {
    return (V)((BITS)x + ((BITS)shifted << MANTISSA));
}

/* e^x of x that is at most a few rounding errors above 0, for weights of softmax: with an error below 1 ulp, to which
 * the rounding of ln 2 adds |x| times its relative error, and without fused multiply-add the rounding of a product. x
 * is split into n ln 2 and a rest from -0.35 to 0.35; n becomes the exponent of the result. Results are 0 where n is
 * below LEAST_EXPONENT, because the exponent's bits are 0 there. NaN stays NaN. */
INLINE V MATH(weight)(V x) {
    const double ln2 = 0.69314718055994530942;
    const V limited = MATH(maximum)(ALL((LEAST_EXPONENT - 1) * ln2), x);
    const V shifted = MATH(madd)(limited, ALL(1 / ln2), BIASED_MAGIC);
    const V rest = MATH(madd)(shifted - BIASED_MAGIC, ALL(-ln2), limited);
    return MATH(exp_reduced)(rest, 1, 1) * (V)((BITS)shifted << MANTISSA);
}

/* Splits x into n ln 2 + r. Returns r and sets *n. */
INLINE V MATH(reduced)(V x, V *n) {
    *n = MATH(madd)(x, ALL(LOG2_E), MAGIC) - MAGIC;
    return MATH(madd)(*n, ALL(-LN2_LOW), MATH(madd)(*n, ALL(-LN2_HIGH), x));
}

/* e^r - 1 of a reduced r. */
INLINE V MATH(exp_less_1)(V r) {
    static const MATH_REAL term[] = {EXP_TERMS};
    return MATH(madd)(r * r, POLYNOMIAL(term, r), r);
}

/* e to the power of x + low, with x from LOWEST to HIGHEST and a low that rounding x would remove: the product of the
 * result and *scale, which need not be a normal number. Multiply by the scale last, so that only this step rounds to a
 * denormal number. */
INLINE V MATH(exp_scaled)(V x, V low, V *scale) {
    V n;
    const V rest = MATH(exp_less_1)(MATH(reduced)(x, &n) + low), half = MATH(madd)(n, ALL(0.5), MAGIC);
    *scale = MATH(exponent)(n - (half - MAGIC) + MAGIC);
    return (ALL(1) + rest) * MATH(exponent)(half);
}

/* e^x of x from LOWEST to HIGHEST, or NaN, with an error below 1 ulp. */
INLINE V MATH(exp_bounded)(V x) {
    V scale;
#if MATH_AVX512
    const V rest = MATH(exp_less_1)(MATH(reduced)(x, &scale));
    return MATH(avx512_scale)(ALL(1) + rest, scale);
#else
    const V result = MATH(exp_scaled)(x, ALL(0), &scale);
    return result * scale;
#endif
}

/* e^x, with an error below 1 ulp. */
INLINE V MATH(exp)(V x) {
    return MATH(exp_bounded)(MATH(select_less)(ALL(HIGHEST), x, ALL(HIGHEST), MATH(maximum)(ALL(LOWEST), x)));
}

/* A positive finite x as 2^k (1 + f), 1 + f from sqrt(0.5) to sqrt(2). With s = f / (2 + f), log(1 + f) is
 * 2 artanh(s) = f - (half - s rest), half = f^2 / 2. */
typedef struct MATH(log_parts) {
    V k, f, half, s, rest;
} MATH(log_parts);

INLINE MATH(log_parts) MATH(log_split)(V x) {
    static const MATH_REAL term[] = {LOG_TERMS};
    const MATH(bitmask) denormal = (MATH(bitmask))(x < ALL(LEAST_NORMAL));
    const BITS bits = (BITS)MATH(select)(denormal, x * ALL(1 / EPSILON), x);
    const BITS biased = (bits - (BITS)ALL(0.70710678118654752440) + ((MATH_INTEGER)BIAS << MANTISSA)) >> MANTISSA;
    const V k = (V)(biased | (BITS)ALL(1 / EPSILON)) - ALL(1 / EPSILON) -
                MATH(select)(denormal, ALL(BIAS + MANTISSA), ALL(BIAS));
    const V f = (V)(bits - ((biased - BIAS) << MANTISSA)) - ALL(1);
    const V s = f / (ALL(2) + f), z = s * s, half = ALL(0.5) * f * f;
    return (MATH(log_parts)){k, f, half, s, MATH(madd)(z, POLYNOMIAL(term, z), half)};
}

/* The result of a logarithm whose argument x may be 0, negative, infinite or NaN. */
INLINE V MATH(log_or_special)(V x, V result) {
    const V special = MATH(select)((MATH(bitmask))(x == ALL(0)), ALL(-INFINITY), ALL(NAN));
    return MATH(select)((MATH(bitmask))(x > ALL(0)), MATH(select)((MATH(bitmask))(x == ALL(INFINITY)), x, result),
                        special);
}

/* The natural logarithm, with an error below 1 ulp; -infinity of 0, NaN of negative numbers. */
INLINE V MATH(log)(V x) {
    const MATH(log_parts) p = MATH(log_split)(x);
    const V low = MATH(madd)(p.s, p.rest, p.k * ALL(LN2_LOW));
    return MATH(log_or_special)(x, MATH(madd)(p.k, ALL(LN2_HIGH), p.f - (p.half - low)));
}

/* The hyperbolic tangent, with an error below 3 ulp: (e^2a - 1) / (e^2a + 1) of a = |x|, with the sign of x. */
INLINE V MATH(tanh)(V x) {
    V n, a = MATH(size_of)(x);
    a = MATH(select_less)(ALL(TANH_IS_1), a, ALL(TANH_IS_1), a);
    const V rest = MATH(exp_less_1)(MATH(reduced)(a + a, &n));
#if MATH_AVX512
    const V scale = MATH(avx512_scale)(ALL(1), n);
#else
    const V scale = MATH(exponent)(n + MAGIC);
#endif
    const V less_1 = MATH(madd)(scale, rest, scale - ALL(1));
    return (V)((BITS)(less_1 / (less_1 + ALL(2))) | ((BITS)x & SIGN));
}

/* 1 / (1 + e^-x), with an error below 3 ulp. */
INLINE V MATH(sigmoid)(V x) {
    const V z = MATH(exp_bounded)(MATH(maximum)(ALL(LOWEST), (V)((BITS)x | SIGN)));
    return MATH(select_less)(x, ALL(0), z, ALL(1)) / (ALL(1) + z);
}

/* Returns max(x, 0) - tail 2^-LIFT, with the sign of x, which the difference has unless it is 0; NaN if x is -infinity.
 * Functions x f(x) with f(x) + f(-x) = 1 are max(x, 0) - |x| f(-|x|), without a choice between two formulas. */
INLINE V MATH(less_tail)(V x, V tail) {
    const V above = x - MATH(minimum)(x, ALL(0));
    return (V)((BITS)MATH(madd)(tail, ALL(-LOWERED), above) | ((BITS)x & SIGN));
}

/* x / (1 + e^-y), of numbers with the same sign, with an error below 4 ulp; NaN if x is -infinity. The argument y is
 * taken as exact. */
INLINE V MATH(silu)(V x, V y) {
    const V a = MATH(minimum)(ALL(-LOWEST), MATH(size_of)(x)),
            limited = MATH(maximum)(ALL(LOWEST), (V)((BITS)y | SIGN));
    const V shifted = MATH(madd)(limited, ALL(LOG2_E), LIFTED_MAGIC), n = shifted - LIFTED_MAGIC;
    const V rest = MATH(madd)(n, ALL(-LN2_LOW), MATH(madd)(n, ALL(-LN2_HIGH), limited));
    const V part = MATH(lifted)(MATH(exp_reduced)(rest, 1, 1), shifted);
    return MATH(less_tail)(x, a * part / MATH(madd)(part, ALL(LOWERED), ALL(1)));
}

/* The numerator and denominator of (1 - normal(a)) exp(a^2 / 2) / RATIO_FACTOR of a from 0 to FARTHEST, where normal()
 * is the distribution function. */
INLINE V MATH(tail_above)(V a) {
    static const MATH_REAL term[] = {RATIO_ABOVE};
    return MONIC(term, a);
}

INLINE V MATH(tail_below)(V a) {
    static const MATH_REAL term[] = {RATIO_BELOW};
    return MONIC(term, a);
}

/* (1 - normal(a)) exp(a^2 / 2). */
INLINE V MATH(normal_tail)(V a) {
    return MATH(tail_above)(a) * ALL(RATIO_FACTOR) / MATH(tail_below)(a);
}

/* a^2 + 2 n ln 2, where a^2 is not rounded. Without fused multiply-add it is the sum of the products of the halves of a
 * (Dekker, 1971). */
INLINE V MATH(reduced_square)(V a, V n) {
    const V multiple = n * ALL(2 * LN2_HIGH);
#if FUSED
    const V rest = MATH(madd)(a, a, multiple);
#else
    const V high = (V)((BITS)a >> SPLIT << SPLIT), low = a - high;
    const V rest = (multiple + high * high) + (high + a) * low;
#endif
    return MATH(madd)(n, ALL(2 * LN2_LOW), rest);
}

/* x times the normal distribution function of x, with an error below 8 ulp (f64: 12); NaN if x is -infinity. */
INLINE V MATH(gelu)(V x) {
    const V a = MATH(minimum)(MATH(size_of)(x), ALL(FARTHEST));
    const V shifted = MATH(madd)(a * a, ALL(-0.5 * LOG2_E), LIFTED_MAGIC), n = shifted - LIFTED_MAGIC;
    const V part = MATH(lifted)(MATH(exp_reduced)(MATH(reduced_square)(a, n), RATIO_FACTOR, -0.5), shifted);
    return MATH(less_tail)(x, a * MATH(tail_above)(a) * part / MATH(tail_below)(a));
}

#undef V
#undef BITS
#undef ALL
#undef MAGIC
#undef BIASED_MAGIC
#undef LIFTED_MAGIC
#undef EPSILON
#undef SIGN
#undef POLYNOMIAL
#undef MONIC
