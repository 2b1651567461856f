/* kernel_function.h - template: functions of vectors of one real type that only operations on single elements need.
 * They have the errors that elementwise.h states. Parameters: TYPE (its suffix), REAL, VECTOR, WORD (the integer
 * of its bits), MANTISSA, BIAS, FINITE (its greatest number), the constants below, and NAME(x).
 *
 * SIN_TERMS of (sin r - r) / r^3 and COS_TERMS of (cos r - 1 + r^2 / 2) / r^4 in r^2 up to (pi / 4)^2, and ERF_TERMS of
 * erf(x) / x - 1 in x^2 up to 1, by Chebyshev interpolation. QUARTER: pi / 2 in parts with so few bits that products
 * with the quarter turns of NEAR are exact, and a last part. NEAR: the largest angle that is reduced with them.
 * ERF_IS_1: from here on erf is 1. EXPM1_IS_LESS_1 and EXP_OVERFLOWS: e^x - 1 is -1 up to here, and infinite from here
 * on. */
enum { NAME(LANES) = VECTOR_BYTES / sizeof(REAL) };

#define ALL(x) NAME(splat)((REAL)(x))
#define MASK(x) ((NAME(bitmask))(x))
#define SIGN ((NAME(bits))ALL(-0.))
#define INTEGRAL ALL(UINT64_C(1) << MANTISSA) /* numbers from here on are integers */
#define POLYNOMIAL(terms, x) NAME(polynomial)(terms, (int)(sizeof terms / sizeof *terms), x)

INLINE VECTOR NAME(with_sign)(VECTOR size, VECTOR sign) {
    return (VECTOR)(((NAME(bits))size & ~SIGN) | ((NAME(bits))sign & SIGN));
}

/* ---- Integers next to a number ---- */

#if !ROUNDS

/* The nearest one, the even one of two: a sum with INTEGRAL has no bits for a fraction. */
INLINE VECTOR NAME(round)(VECTOR x) {
    const VECTOR size = NAME(size_of)(x), whole = (size + INTEGRAL) - INTEGRAL;
    return NAME(select)(MASK(size < INTEGRAL), NAME(with_sign)(whole, x), x);
}

INLINE VECTOR NAME(floor)(VECTOR x) {
    const VECTOR near = NAME(round)(x);
    return NAME(select)(MASK(near > x), near - ALL(1), near);
}

INLINE VECTOR NAME(ceil)(VECTOR x) {
    return (VECTOR)((NAME(bits))NAME(floor)((VECTOR)((NAME(bits))x ^ SIGN)) ^ SIGN);
}

INLINE VECTOR NAME(trunc)(VECTOR x) {
    return NAME(with_sign)(NAME(floor)(NAME(size_of)(x)), x);
}
#endif

/* ---- Algebraic functions ---- */

INLINE VECTOR NAME(sign)(VECTOR x) {
    const VECTOR one = (VECTOR)((NAME(bits))ALL(1) | ((NAME(bits))x & SIGN));
    return NAME(select)(MASK(x == ALL(0)), ALL(0), NAME(select)(MASK(x == x), one, x));
}

INLINE VECTOR NAME(reciprocal)(VECTOR x) {
    return ALL(1) / x;
}

INLINE VECTOR NAME(rsqrt)(VECTOR x) {
    return ALL(1) / NAME(root)(x);
}

/* ---- Sine and cosine ---- */

/* An angle of n quarter turns, with the low bits of n, and a rest of high + low. */
typedef struct NAME(angle) {
    NAME(bits) quarters;
    VECTOR high, low;
} NAME(angle);

/* a - b, with the error of the difference added to *low. Exact (Knuth). */
INLINE VECTOR NAME(exact_less)(VECTOR a, VECTOR b, VECTOR *low) {
    const VECTOR difference = a - b, part = difference - a;
    *low += (a - (difference - part)) - (b + part);
    return difference;
}

/* Reduces angles from 0 to NEAR. */
INLINE NAME(angle) NAME(near_angle)(VECTOR a) {
    static const REAL part[] = {QUARTER};
    enum { LAST = sizeof part / sizeof *part - 1 };
    const VECTOR magic = ALL(1.5) * INTEGRAL, shifted = a * ALL(0.63661977236758134308) + magic, n = shifted - magic;
    VECTOR high = a, low = {0};
    UNROLL
    for (int i = 0; i < LAST; i++) {
        high = NAME(exact_less)(high, n * ALL(part[i]), &low);
    }
    low -= n * ALL(part[LAST]);
    const VECTOR sum = high + low;
    return (NAME(angle)){(NAME(bits))shifted, sum, (high - sum) + low};
}

/* Replaces lane i of an angle by the reduction of a finite x of at least 1. */
INLINE void NAME(set_far)(NAME(angle) * angle, int i, REAL x) {
    WORD bits;
    memcpy(&bits, &x, sizeof bits);
    const WORD one = (WORD)1 << MANTISSA;
    const far_angle far = far_angle_of(one | (bits & (one - 1)), (int)(bits >> MANTISSA) - BIAS - MANTISSA);
    const REAL high = (REAL)far.size, low = (REAL)(int64_t)(far.size - (uint64_t)high);
    const REAL unit =
        (REAL)(far.negative ? -1 : 1) / (REAL)(UINT64_C(1) << 63) / (REAL)(UINT64_C(1) << (far.scale - 63));
    angle->quarters[i] = (WORD)far.quarters;
    angle->high[i] = high * unit;
    angle->low[i] = low * unit;
}

/* Reduces sizes of angles. Infinity and NaN become NaN. Large angles are rare, and reduced one by one. */
INLINE NAME(angle) NAME(angle_of)(VECTOR a) {
    const VECTOR limit = ALL(NEAR);
    NAME(angle) angle = NAME(near_angle)(a);
    if (NAME(any_not_below)(a, limit)) {
        for (int i = 0; i < NAME(LANES); i++) {
            if (a[i] >= limit[i] && a[i] <= FINITE) {
                NAME(set_far)(&angle, i, a[i]);
            } else if (!(a[i] < limit[i])) {
                angle.high[i] = a[i] - a[i];
            }
        }
    }
    return angle;
}

/* The sine of an angle with further quarter turns. */
INLINE VECTOR NAME(sine)(NAME(angle) angle, int further) {
    static const REAL sin_term[] = {SIN_TERMS}, cos_term[] = {COS_TERMS};
    const VECTOR r = angle.high, z = r * r, half = ALL(0.5) * z, rest = ALL(1) - half;
    const VECTOR sine = r + NAME(madd)(r * z, POLYNOMIAL(sin_term, z), angle.low);
    const VECTOR cosine =
        rest + (((ALL(1) - rest) - half) + NAME(madd)(z * z, POLYNOMIAL(cos_term, z), -r * angle.low));
    const NAME(bits) quarters = angle.quarters + (WORD)further;
    const VECTOR size = NAME(select)(MASK((quarters & 1) == 1), cosine, sine);
    return (VECTOR)((NAME(bits))size ^ (quarters >> 1 << (8 * (int)sizeof(REAL) - 1)));
}

INLINE VECTOR NAME(sin)(VECTOR x) {
    const VECTOR size = NAME(sine)(NAME(angle_of)(NAME(size_of)(x)), 0);
    return (VECTOR)((NAME(bits))size ^ ((NAME(bits))x & SIGN));
}

INLINE VECTOR NAME(cos)(VECTOR x) {
    return NAME(sine)(NAME(angle_of)(NAME(size_of)(x)), 1);
}

INLINE VECTOR NAME(tan)(VECTOR x) {
    const NAME(angle) angle = NAME(angle_of)(NAME(size_of)(x));
    const VECTOR size = NAME(sine)(angle, 0) / NAME(sine)(angle, 1);
    return (VECTOR)((NAME(bits))size ^ ((NAME(bits))x & SIGN));
}

/* ---- Error function, exponential and logarithms ---- */

/* Above 1 it is 1 less the tail of the normal distribution. */
INLINE VECTOR NAME(erf)(VECTOR x) {
    static const REAL term[] = {ERF_TERMS};
    const VECTOR size = NAME(size_of)(x), a = NAME(select)(MASK(size > ALL(ERF_IS_1)), ALL(ERF_IS_1), size), z = a * a;
    const VECTOR tail = NAME(normal_tail)(a * ALL(1.41421356237309504880)) * NAME(exp_bounded)(-z);
    const VECTOR below = NAME(madd)(a, POLYNOMIAL(term, z), a), above = ALL(1) - (tail + tail);
    return NAME(with_sign)(NAME(select_less)(a, ALL(1), below, above), x);
}

/* 2^n (e^r - 1) + (2^n - 1), in halves because 2^n may overflow where the result does not; without 2^n if it is 1, so
 * that small numbers keep their bits. */
INLINE VECTOR NAME(expm1)(VECTOR x) {
    VECTOR n;
    const VECTOR least = ALL(EXPM1_IS_LESS_1), magic = ALL(1.5) * INTEGRAL;
    const VECTOR limited = NAME(select_less)(ALL(EXP_OVERFLOWS), x, ALL(EXP_OVERFLOWS), NAME(maximum)(least, x));
    const VECTOR rest = NAME(exp_less_1)(NAME(reduced)(limited, &n)), scale = NAME(exponent)(n - ALL(1) + magic);
    const VECTOR scaled = NAME(madd)(scale, rest, scale - ALL(0.5));
    return NAME(with_sign)(NAME(select)(MASK(n == ALL(0)), rest, scaled + scaled), x);
}

/* The logarithm of the rounded sum, and the error of the sum divided by it. */
INLINE VECTOR NAME(log1p)(VECTOR x) {
    const VECTOR sum = ALL(1) + x, part = sum - ALL(1), error = (ALL(1) - (sum - part)) + (x - part);
    const NAME(bitmask) finite = MASK(sum > ALL(0)) & MASK(sum < ALL(INFINITY));
    const VECTOR result = NAME(log)(sum) + NAME(select)(finite, error / sum, ALL(0));
    return NAME(select)(MASK(result == ALL(0)), x, result);
}

/* Exact for powers of 2. */
INLINE VECTOR NAME(log2)(VECTOR x) {
    const NAME(log_parts) p = NAME(log_split)(x);
    const VECTOR part = p.f - (p.half - p.s * p.rest);
    return NAME(log_or_special)(x, NAME(madd)(part, ALL(LOG2_E), p.k));
}

#undef ALL
#undef MASK
#undef SIGN
#undef INTEGRAL
#undef POLYNOMIAL
