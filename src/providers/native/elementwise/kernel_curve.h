/* kernel_curve.h - template: inverse trigonometric and hyperbolic functions, further exponentials and logarithms, and
 * activations of vectors of one real type. They have the errors that elementwise.h states. Parameters: as of
 * kernel_pair.h, and EXP2_LOWEST and EXP2_HIGHEST (2^x is 0 up to here, and infinite from here on), SINH_OVERFLOWS
 * (sinh and cosh are infinite from here on), SINH_TERMS of (sinh(x) / x - 1) / x^2 in x^2 up to 1 by Taylor's series,
 * SHRINK_ABOVE and SHRINK_BELOW (see tanhshrink), LOG10_E_HIGH and LOG10_E_LOW (1 / ln 10 and what rounding it leaves).
 */
#define ALL(x) NAME(splat)((REAL)(x))
#define MASK(x) ((NAME(bitmask))(x))
#define SIGN ((NAME(bits))ALL(-0.))
#define INTEGRAL ALL(UINT64_C(1) << MANTISSA)
#define POLYNOMIAL(terms, x) NAME(polynomial)(terms, (int)(sizeof terms / sizeof *terms), x)

/* ---- Inverse trigonometric functions ---- */

INLINE VECTOR NAME(atan)(VECTOR x) {
    return NAME(atan2)(x, ALL(1));
}

/* sqrt(1 - x^2), without loss of digits near 1. */
INLINE VECTOR NAME(other_leg)(VECTOR x) {
    return NAME(root)((ALL(1) - x) * (ALL(1) + x));
}

INLINE VECTOR NAME(asin)(VECTOR x) {
    return NAME(atan2)(x, NAME(other_leg)(x));
}

INLINE VECTOR NAME(acos)(VECTOR x) {
    return NAME(atan2)(NAME(other_leg)(x), x);
}

/* ---- Hyperbolic functions ---- */

/* e^a / 2 of a size, which may overflow later than e^a. */
INLINE VECTOR NAME(half_exp)(VECTOR a) {
    VECTOR scale;
    const VECTOR limit = ALL(SINH_OVERFLOWS), limited = NAME(select_less)(limit, a, limit, a);
    const VECTOR part = NAME(exp_scaled)(limited, ALL(0), &scale);
    return ALL(0.5) * part * scale;
}

INLINE VECTOR NAME(sinh)(VECTOR x) {
    static const REAL term[] = {SINH_TERMS};
    const VECTOR a = NAME(size_of)(x), z = x * x, half = NAME(half_exp)(a);
    const VECTOR below = NAME(madd)(a * z, POLYNOMIAL(term, z), a), above = half - ALL(0.25) / half;
    return NAME(with_sign)(NAME(select_less)(a, ALL(1), below, above), x);
}

INLINE VECTOR NAME(cosh)(VECTOR x) {
    const VECTOR half = NAME(half_exp)(NAME(size_of)(x));
    return half + ALL(0.25) / half;
}

/* log(1 + small), or log(2 large) where the number is so large that its square may overflow. */
INLINE VECTOR NAME(log_of_sum)(VECTOR large, VECTOR small) {
    const NAME(bitmask) is_large = MASK(large > INTEGRAL);
    const VECTOR log = NAME(log1p)(NAME(select)(is_large, large, small));
    return NAME(select)(is_large, log + ALL(0.69314718055994530942), log);
}

/* The sum of a size and sqrt(a^2 + 1), less 1. */
INLINE VECTOR NAME(asinh)(VECTOR x) {
    const VECTOR a = NAME(size_of)(x), z = a * a;
    return NAME(with_sign)(NAME(log_of_sum)(a, a + z / (ALL(1) + NAME(root)(z + ALL(1)))), x);
}

INLINE VECTOR NAME(acosh)(VECTOR x) {
    const VECTOR above = x - ALL(1);
    const VECTOR result = NAME(log_of_sum)(x, above + NAME(root)(above * (x + ALL(1))));
    return NAME(select)(MASK(x < ALL(1)), ALL(NAN), result);
}

INLINE VECTOR NAME(atanh)(VECTOR x) {
    const VECTOR a = NAME(size_of)(x), twice = a + a, less = ALL(1) - a;
    const VECTOR sum = NAME(select_less)(a, ALL(0.5), NAME(madd)(twice, a / less, twice), twice / less);
    return NAME(with_sign)(ALL(0.5) * NAME(log1p)(sum), x);
}

/* ---- Powers of 2, logarithms to base 10, the complement of the error function ---- */

INLINE VECTOR NAME(exp2)(VECTOR x) {
    const VECTOR high = ALL(EXP2_HIGHEST), magic = ALL(1.5) * INTEGRAL;
    const VECTOR limited = NAME(select_less)(high, x, high, NAME(maximum)(ALL(EXP2_LOWEST), x));
    const VECTOR n = (limited + magic) - magic, half = NAME(madd)(n, ALL(0.5), magic);
    const VECTOR rest = NAME(exp_less_1)((limited - n) * ALL(0.69314718055994530942));
    return (ALL(1) + rest) * NAME(exponent)(half) * NAME(exponent)(n - (half - magic) + magic);
}

/* A product of twice the digits, so that powers of 10 have whole logarithms. */
INLINE VECTOR NAME(log10)(VECTOR x) {
    const NAME(sum) factor = {ALL(LOG10_E_HIGH), ALL(LOG10_E_LOW)};
    const NAME(sum) product = NAME(product_of_sums)(NAME(exact_log)(x), factor);
    return NAME(log_or_special)(x, product.high + product.low);
}

/* Twice the tail of the normal distribution of a sqrt(2). The square is computed without rounding, as in gelu. */
INLINE VECTOR NAME(erfc)(VECTOR x) {
    const VECTOR size = NAME(size_of)(x), limit = ALL(ERFC_IS_0), a = NAME(select_less)(limit, size, limit, size);
    const NAME(sum) square = NAME(exact_product)(a, a);
    VECTOR scale;
    const VECTOR part = NAME(exp_scaled)(-square.high, -square.low, &scale);
    const VECTOR tail = NAME(normal_tail)(a * ALL(1.41421356237309504880)) * part * (scale + scale);
    return NAME(select_less)(x, ALL(0), ALL(2) - tail, tail);
}

/* ---- Activations ---- */

INLINE VECTOR NAME(hardsigmoid)(VECTOR x) {
    const VECTOR raised = NAME(maximum)(ALL(0), x + ALL(3));
    return NAME(select)(MASK(raised > ALL(6)), ALL(6), raised) / ALL(6);
}

INLINE VECTOR NAME(softsign)(VECTOR x) {
    return x / (ALL(1) + NAME(size_of)(x));
}

/* min(x, 0) - log(1 + e^-|x|). */
INLINE VECTOR NAME(logsigmoid)(VECTOR x) {
    const VECTOR small = NAME(exp_bounded)(NAME(maximum)(ALL(LOWEST), (VECTOR)((NAME(bits))x | SIGN)));
    return NAME(select_less)(x, ALL(0), x, ALL(0)) - NAME(log1p)(small);
}

INLINE VECTOR NAME(selu)(VECTOR x) {
    const VECTOR below = ALL(1.75809934084737685994) * NAME(expm1)(x);
    return NAME(select_less)(ALL(0), x, ALL(1.05070098735548049342) * x, below);
}

/* x tanh(log(1 + e^x)) is x (1 + 2 v) / (1 + 2 v + 2 v^2) with v = e^-x, and x w (2 + w) / (2 + 2 w + w^2) with w = e^x
 * of negative x. */
INLINE VECTOR NAME(mish)(VECTOR x) {
    VECTOR scale;
    const VECTOR low = NAME(maximum)(ALL(LOWEST), x);
    const VECTOR part = NAME(exp_scaled)(NAME(maximum)(ALL(LOWEST), (VECTOR)((NAME(bits))x | SIGN)), ALL(0), &scale);
    const VECTOR v = part * scale, sum = v + v * v, above = ALL(1) + (v + v);
    const VECTOR positive = x * (above / (ALL(1) + (sum + sum)));
    const VECTOR negative = low * part * ((ALL(2) + v) / (ALL(2) + (v + sum))) * scale;
    const VECTOR result = NAME(select_less)(x, ALL(0), negative, positive);
    return NAME(select)(MASK(x == ALL(-INFINITY)), ALL(NAN), result);
}

/* x - tanh(x). Up to 2 it is x^3 times a quotient of polynomials in x^2 whose terms are positive, so that none cancel:
 * the continued fraction of tanh, cut off. */
INLINE VECTOR NAME(tanhshrink)(VECTOR x) {
    static const REAL above[] = {SHRINK_ABOVE}, below[] = {SHRINK_BELOW};
    const VECTOR z = x * x, near = x * (z * POLYNOMIAL(above, z) / POLYNOMIAL(below, z));
    return NAME(select_less)(NAME(size_of)(x), ALL(2), near, x - NAME(tanh)(x));
}

#undef ALL
#undef MASK
#undef SIGN
#undef INTEGRAL
#undef POLYNOMIAL

/* Parameters that no other template has. */
#undef EXP2_LOWEST
#undef EXP2_HIGHEST
#undef SINH_OVERFLOWS
#undef ERFC_IS_0
#undef SINH_TERMS
#undef SHRINK_ABOVE
#undef SHRINK_BELOW
#undef LOG10_E_HIGH
#undef LOG10_E_LOW
