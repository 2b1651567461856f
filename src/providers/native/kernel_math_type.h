/* kernel_math_type.h - template: elementary functions of vectors of one real type. kernel_math.h has its parameters. */
typedef MATH_INTEGER MATH(bits) __attribute__((vector_size(VECTOR_BYTES)));
typedef MATH_SIGNED MATH(bitmask) __attribute__((vector_size(VECTOR_BYTES)));

#define V MATH_VECTOR
#define BITS MATH(bits)
#define ALL(x) MATH(splat)((MATH_REAL)(x))
#define MAGIC ALL(1.5 / EPSILON) /* adding it rounds to an integer, which is in the low bits of the sum */
#define BIASED_MAGIC ALL(1.5 / EPSILON + BIAS)
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

/* term[0] + term[1] x + ... */
INLINE V MATH(polynomial)(const MATH_REAL *term, int count, V x) {
    V sum = ALL(term[count - 1]);
    UNROLL
    for (int i = count - 2; i >= 0; i--) {
        sum = MATH(madd)(sum, x, ALL(term[i]));
    }
    return sum;
}
#define POLYNOMIAL(terms, x) MATH(polynomial)(terms, (int)(sizeof terms / sizeof *terms), x)

/* 2 to a power x, given as x + MAGIC. */
INLINE V MATH(exponent)(V shifted) {
    return (V)(((BITS)shifted + BIAS) << MANTISSA);
}

/* e^x of x that is at most a few rounding errors above 0, for weights of softmax: with an error below 1 ulp, to which
 * the rounding of ln 2 adds |x| times its relative error, and without fused multiply-add the rounding of a product. x
 * is split into n ln 2 and a rest from -0.35 to 0.35; n becomes the exponent of the result. Results are 0 where n is
 * below LEAST_EXPONENT, because the exponent's bits are 0 there. NaN stays NaN. */
INLINE V MATH(weight)(V x) {
    static const MATH_REAL term[] = {WEIGHT_TERMS};
    const double ln2 = 0.69314718055994530942;
    const V limited = MATH(maximum)(ALL((LEAST_EXPONENT - 1) * ln2), x);
    const V shifted = MATH(madd)(limited, ALL(1 / ln2), BIASED_MAGIC);
    const V rest = MATH(madd)(shifted - BIASED_MAGIC, ALL(-ln2), limited);
    return MATH(madd)(POLYNOMIAL(term, rest), rest, ALL(1)) * (V)((BITS)shifted << MANTISSA);
}

/* Splits x into n ln 2 + r. Returns r and sets *n. */
INLINE V MATH(reduced)(V x, V *n) {
    *n = MATH(madd)(x, ALL(1.44269504088896340736), MAGIC) - MAGIC;
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
    V n, a = (V)((BITS)x & ~SIGN);
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

/* x / (1 + e^-y), of numbers with the same sign, with an error below 4 ulp; NaN if x is -infinity. The argument y is
 * taken as exact. */
INLINE V MATH(silu)(V x, V y) {
    V scale;
    const V low = MATH(maximum)(ALL(LOWEST), x);
    const V part = MATH(exp_scaled)(MATH(maximum)(ALL(LOWEST), (V)((BITS)y | SIGN)), ALL(0), &scale);
    const V below = ALL(1) + part * scale;
    const V result = MATH(select)((MATH(bitmask))(y < ALL(0)), low * part / below * scale, x / below);
    return MATH(select)((MATH(bitmask))(x == ALL(-INFINITY)), ALL(NAN), result);
}

/* (1 - normal(a)) exp(a^2 / 2) of a from 0 to FARTHEST, where normal() is the distribution function: a quotient of
 * polynomials. */
INLINE V MATH(normal_tail)(V a) {
    static const MATH_REAL above[] = {RATIO_ABOVE}, below[] = {RATIO_BELOW};
    return POLYNOMIAL(above, a) / POLYNOMIAL(below, a);
}

/* x times the normal distribution function of x, with an error below 8 ulp (f64: 12); NaN if x is -infinity. The square
 * is computed without rounding (Dekker, 1971). */
INLINE V MATH(gelu)(V x) {
    V a = (V)((BITS)x & ~SIGN), scale;
    a = MATH(select)((MATH(bitmask))(a > ALL(FARTHEST)), ALL(FARTHEST), a);
    const V high = (V)((BITS)a >> SPLIT << SPLIT), low = a - high, square = a * a;
    const V rest = ((high * high - square) + (high + high) * low) + low * low;
    const V part = MATH(exp_scaled)(square * ALL(-0.5), rest * ALL(-0.5), &scale);
    const V tail = MATH(normal_tail)(a) * part;
    const V result = MATH(select)((MATH(bitmask))(x < ALL(0)), -a * tail * scale, x * (ALL(1) - tail * scale));
    return MATH(select)((MATH(bitmask))(x == ALL(-INFINITY)), ALL(NAN), result);
}

#undef V
#undef BITS
#undef ALL
#undef MAGIC
#undef BIASED_MAGIC
#undef EPSILON
#undef SIGN
#undef POLYNOMIAL
