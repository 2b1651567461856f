/* kernel_pair.h - template: powers, remainders, floored quotients and angles of two vectors of one real type. They have
 * the errors that elementwise.h states. Parameters: as of kernel_function.h, and HALF_BITS (low bits that a factor may
 * lose so that products of the rest are exact), LN2_HIGH and LN2_LOW (ln 2 in a part whose products with exponents are
 * exact, and the rest), THIRD_LOW (1/3 less its rounded value), ARTANH_TERMS of (artanh(s) / s - 1 - s^2 / 3) / s^4 in
 * s^2, ATAN_TERMS of (atan(t) / t - 1) / t^2 in t^2 up to tan(pi / 8)^2, and PI_HIGH and PI_LOW. */
#define ALL(x) NAME(splat)((REAL)(x))
#define MASK(x) ((NAME(bitmask))(x))
#define SIGN ((NAME(bits))ALL(-0.))
#define INTEGRAL ALL(UINT64_C(1) << MANTISSA)
#define POLYNOMIAL(terms, x) NAME(polynomial)(terms, (int)(sizeof terms / sizeof *terms), x)

/* ---- Remainders ---- */

/* A finite size as a whole number times 2^(exponent - BIAS - MANTISSA). */
static inline uint64_t NAME(whole_of)(REAL x, int *exponent) {
    WORD bits;
    memcpy(&bits, &x, sizeof bits);
    const WORD one = (WORD)1 << MANTISSA;
    const int biased = (int)(bits >> MANTISSA);
    *exponent = biased > 0 ? biased : 1;
    return (bits & (one - 1)) | (biased > 0 ? one : 0);
}

/* The remainder of finite sizes, with b > 0: a long division, STEP bits at a time. */
static inline REAL NAME(long_remainder)(REAL a, REAL b) {
    enum { STEP = 63 - MANTISSA }; /* bits by which a remainder can be moved */
    int of_a, of_b;
    uint64_t rest = NAME(whole_of)(a, &of_a);
    const uint64_t divisor = NAME(whole_of)(b, &of_b);
    if (a < b) {
        return a;
    }
    rest %= divisor;
    for (int left = of_a - of_b; left > 0 && rest > 0; left -= STEP) {
        rest = (rest << (left < STEP ? left : STEP)) % divisor;
    }
    const int power = of_b - MANTISSA; /* biased; below 1 the unit is a denormal number */
    const WORD bits = power > 0 ? (WORD)power << MANTISSA : (WORD)1 << (of_b - 1);
    REAL unit;
    memcpy(&unit, &bits, sizeof unit);
    return (REAL)rest * unit;
}

/* The remainder of the quotient rounded towards 0, which is exact. A fused difference with a rounded quotient is wrong
 * by one divisor at most, and exact, as long as the quotient has no more bits than a number. Others are rare. */
INLINE VECTOR NAME(fmod)(VECTOR of_a, VECTOR of_b) {
    const VECTOR a = NAME(size_of)(of_a), b = NAME(size_of)(of_b), ratio = a / b,
                 limit = FUSED ? INTEGRAL * ALL(0.5) : ALL(1);
    VECTOR rest = a;
#if FUSED
    rest = NAME(msub)(NAME(trunc)(ratio), b, a);
    rest = NAME(select)(MASK(rest < ALL(0)), rest + b, rest);
#endif
    rest = NAME(select)(MASK(a < b), a, rest);
    if (NAME(any_not_below)(ratio, limit)) {
        for (int i = 0; i < NAME(LANES); i++) {
            if (!(ratio[i] < limit[i])) {
                rest[i] = a[i] <= FINITE && b[i] > 0 ? NAME(long_remainder)(a[i], b[i]) : (REAL)NAN;
            }
        }
    }
    return NAME(with_sign)(rest, of_a);
}

/* Whether a remainder is not 0 and has another sign than the divisor. */
INLINE NAME(bitmask) NAME(is_opposite)(VECTOR rest, VECTOR b) {
    return MASK(rest != ALL(0)) & (MASK(rest < ALL(0)) ^ MASK(b < ALL(0)));
}

INLINE VECTOR NAME(remainder)(VECTOR a, VECTOR b) {
    const VECTOR rest = NAME(fmod)(a, b);
    return NAME(select)(NAME(is_opposite)(rest, b), rest + b, rest);
}

/* The steps of PyTorch and Python. */
INLINE VECTOR NAME(floor_divide)(VECTOR a, VECTOR b) {
    const VECTOR rest = NAME(fmod)(a, b), even = (a - rest) / b,
                 quotient = NAME(select)(NAME(is_opposite)(rest, b), even - ALL(1), even),
                 below = NAME(floor)(quotient),
                 whole = NAME(select)(MASK(quotient - below > ALL(0.5)), below + ALL(1), below);
    const VECTOR result = NAME(select)(MASK(quotient == ALL(0)), NAME(with_sign)(ALL(0), a / b), whole);
    return NAME(select)(MASK(b == ALL(0)), a / b, result);
}

/* ---- Powers ---- */

/* A sum of two numbers, the second one below the last digits of the first. */
typedef struct NAME(sum) {
    VECTOR high, low;
} NAME(sum);

/* The product and its rounding error (Dekker, 1971). */
INLINE NAME(sum) NAME(exact_product)(VECTOR a, VECTOR b) {
    const VECTOR product = a * b;
#if FUSED
    return (NAME(sum)){product, NAME(madd)(a, b, -product)};
#else
    const VECTOR a_high = (VECTOR)((NAME(bits))a >> HALF_BITS << HALF_BITS), a_low = a - a_high,
                 b_high = (VECTOR)((NAME(bits))b >> HALF_BITS << HALF_BITS), b_low = b - b_high;
    return (NAME(sum)){product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low};
#endif
}

INLINE NAME(sum) NAME(product_of_sums)(NAME(sum) a, NAME(sum) b) {
    NAME(sum) product = NAME(exact_product)(a.high, b.high);
    product.low += a.high * b.low + a.low * b.high;
    return product;
}

/* The sum of a and b, |a| >= |b|. */
INLINE NAME(sum) NAME(sum_of)(VECTOR a, VECTOR b, VECTOR low) {
    const VECTOR high = a + b;
    return (NAME(sum)){high, ((a - high) + b) + low};
}

/* The logarithm of a positive finite number with twice the digits: k ln 2 + 2 artanh(s), with s = f / (2 + f). The
 * first two terms of its series are sums of two numbers. */
INLINE NAME(sum) NAME(exact_log)(VECTOR x) {
    static const REAL term[] = {ARTANH_TERMS};
    const NAME(log_parts) p = NAME(log_split)(x);
    const NAME(sum) below = NAME(sum_of)(ALL(2), p.f, ALL(0));
    NAME(sum) s = {p.f / below.high, ALL(0)};
    const NAME(sum) back = NAME(exact_product)(s.high, below.high);
    s.low = (((p.f - back.high) - back.low) - s.high * below.low) / below.high;
    const NAME(sum) z = NAME(product_of_sums)(s, s);
    const NAME(sum) third = NAME(sum_of)(ALL(1. / 3), z.high * POLYNOMIAL(term, z.high), ALL(THIRD_LOW));
    const NAME(sum) further = NAME(product_of_sums)(s, NAME(product_of_sums)(z, third));
    const NAME(sum) half = NAME(sum_of)(s.high, further.high, further.low + s.low);
    const NAME(sum) log =
        NAME(sum_of)(p.k * ALL(LN2_HIGH), half.high + half.high, NAME(madd)(p.k, ALL(LN2_LOW), half.low + half.low));
    return NAME(sum_of)(log.high, log.low, ALL(0));
}

/* x^y of sizes x; NaN where a factor of y log x is 0 and the other one infinite. */
INLINE VECTOR NAME(power_of_size)(VECTOR x, VECTOR y) {
    const NAME(bitmask) regular = MASK(x > ALL(0)) & MASK(x < ALL(INFINITY));
    const NAME(sum) log = NAME(exact_log)(NAME(select)(regular, x, ALL(1)));
    const VECTOR special = NAME(select)(MASK(x == ALL(0)), ALL(-INFINITY), x);
    const NAME(sum) exponent = NAME(exact_product)(y, log.high);
    const VECTOR high = NAME(select)(regular, exponent.high, y * special);
    const NAME(bitmask) inside = MASK(high > ALL(LOWEST)) & MASK(high < ALL(HIGHEST)) & regular;
    const VECTOR low = NAME(select)(inside, NAME(madd)(y, log.low, exponent.low), ALL(0));
    const VECTOR limited = NAME(select_less)(ALL(HIGHEST), high, ALL(HIGHEST), NAME(maximum)(ALL(LOWEST), high));
    VECTOR scale;
    const VECTOR part = NAME(exp_scaled)(limited, low, &scale);
    return part * scale;
}

INLINE VECTOR NAME(pow)(VECTOR x, VECTOR y) {
    const VECTOR size = NAME(size_of)(x), half = y * ALL(0.5), power = NAME(power_of_size)(size, y);
    const NAME(bitmask) whole = MASK(NAME(trunc)(y) == y), odd = whole & MASK(NAME(trunc)(half) != half);
    const NAME(bitmask) undefined = MASK(x < ALL(0)) & MASK(x > ALL(-INFINITY)) & ~whole;
    const NAME(bitmask) one =
        MASK(y == ALL(0)) | MASK(x == ALL(1)) | (MASK(size == ALL(1)) & MASK(NAME(size_of)(y) == ALL(INFINITY)));
    const VECTOR turned = (VECTOR)((NAME(bits))power ^ ((NAME(bits))odd & (NAME(bits))x & SIGN));
    const VECTOR known = NAME(select)(MASK(x != x) | MASK(y != y), NAME(add)(x, y), turned);
    return NAME(select)(one, ALL(1), NAME(select)(undefined, ALL(NAN), known));
}

/* ---- Angles ---- */

/* The angle of a quotient from 0 to 1, of n / d or pi / 4 less: from tan(pi / 8) on, the quotient is (n - d) / (n + d).
 * Numbers whose sum may be infinite are divided by 4 before. */
INLINE VECTOR NAME(octant)(VECTOR least, VECTOR most) {
    static const REAL term[] = {ATAN_TERMS};
    const VECTOR scale = NAME(select)(MASK(most > ALL(FINITE / 4)), ALL(0.25), ALL(1)), n = least * scale,
                 d = most * scale;
    const NAME(bitmask) upper = MASK(n > d * ALL(0.41421356237309504880));
    const NAME(bitmask) same = MASK(least == most); /* infinities and zeros too */
    const VECTOR above = NAME(select)(upper, n - d, n), below = NAME(select)(upper, n + d, d);
    const VECTOR t = NAME(select)(same, ALL(0), above) / NAME(select)(same, ALL(1), below), z = t * t;
    const VECTOR angle = NAME(madd)(t * z, POLYNOMIAL(term, z), t);
    const NAME(bitmask) is_upper = upper | (same & MASK(most > ALL(0)));
    return NAME(select)(is_upper, ALL(PI_HIGH / 4) + (angle + ALL(PI_LOW / 4)), angle);
}

INLINE VECTOR NAME(atan2)(VECTOR y, VECTOR x) {
    const VECTOR a = NAME(size_of)(y), b = NAME(size_of)(x);
    const NAME(bitmask) steep = MASK(a > b);
    VECTOR angle = NAME(octant)(NAME(select)(steep, b, a), NAME(select)(steep, a, b));
    angle = NAME(select)(steep, ALL(PI_HIGH / 2) - (angle - ALL(PI_LOW / 2)), angle);
    const NAME(bitmask) left = MASK(((NAME(bits))x & SIGN) != 0);
    angle = NAME(select)(left, ALL(PI_HIGH) - (angle - ALL(PI_LOW)), angle);
    return NAME(select)(MASK(x != x) | MASK(y != y), NAME(add)(x, y), NAME(with_sign)(angle, y));
}

#undef ALL
#undef MASK
#undef SIGN
#undef INTEGRAL
#undef POLYNOMIAL

/* Parameters that no other template has. */
#undef HALF_BITS
#undef LN2_HIGH
#undef LN2_LOW
#undef HIGHEST
#undef ARTANH_TERMS
#undef THIRD_LOW
#undef ATAN_TERMS
#undef PI_HIGH
#undef PI_LOW
