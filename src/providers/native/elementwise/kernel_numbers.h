/* kernel_numbers.h - template: functions of vectors of one real type that take one or two numbers, which all lanes
 * have. They have the errors that elementwise.h states. Parameters: as of kernel_curve.h, which comes before. */
#define ALL(x) NAME(splat)((REAL)(x))
#define MASK(x) ((NAME(bitmask))(x))
#define SIGN ((NAME(bits))ALL(-0.))
#define INTEGRAL ALL(UINT64_C(1) << MANTISSA)

INLINE VECTOR NAME(leaky_relu)(VECTOR x, VECTOR slope, VECTOR none) {
    (void)none;
    return NAME(select_less)(ALL(0), x, x, slope * x);
}

INLINE VECTOR NAME(elu)(VECTOR x, VECTOR alpha, VECTOR none) {
    (void)none;
    return NAME(select_less)(ALL(0), x, x, alpha * NAME(expm1)(x));
}

/* The quotient x / alpha may be denormal or 0 although x is not. If it is that small, the function is x. */
INLINE VECTOR NAME(celu)(VECTOR x, VECTOR alpha, VECTOR none) {
    const VECTOR ratio = x / alpha, below = alpha * NAME(expm1)(ratio);
    const VECTOR negative = NAME(select_less)(NAME(size_of)(ratio), ALL(0.125) / INTEGRAL, x, below);
    (void)none;
    return NAME(select_less)(ALL(0), x, x, negative);
}

INLINE VECTOR NAME(clip)(VECTOR x, VECTOR low, VECTOR high) {
    const VECTOR raised = NAME(select_less)(x, low, low, x);
    return NAME(select_less)(high, raised, high, raised);
}

/* max(t, 0) + log(1 + e^-|t|), divided by beta, of t = beta x with twice the digits. Far below 0 it is e^t, which may
 * be smaller than a number before the division. */
INLINE VECTOR NAME(softplus)(VECTOR x, VECTOR beta, VECTOR threshold) {
    const NAME(sum) product = NAME(exact_product)(beta, x);
    const VECTOR t = product.high, lowest = ALL(1.4 * LOWEST);
    const VECTOR low = NAME(select_less)(NAME(size_of)(t), -lowest, product.low, ALL(0));
    VECTOR scale;
    const VECTOR part = NAME(exp_scaled)(NAME(maximum)(lowest, (VECTOR)((NAME(bits))t | SIGN)),
                                         NAME(select_less)(t, ALL(0), low, -low), &scale);
    const VECTOR log = NAME(log1p)(part * scale);
    const VECTOR above = NAME(select_less)(ALL(0), t, t + (low + log), log) / beta, below = part / beta * scale;
    const VECTOR result = NAME(select_less)(t, ALL(EXPM1_IS_LESS_1), below, above);
    return NAME(select_less)(threshold, t, x, result);
}

INLINE VECTOR NAME(threshold)(VECTOR x, VECTOR threshold, VECTOR value) {
    return NAME(select)(MASK(x <= threshold), value, x);
}

INLINE VECTOR NAME(hardshrink)(VECTOR x, VECTOR lambda, VECTOR none) {
    (void)none;
    return NAME(select)(MASK(NAME(size_of)(x) <= lambda), ALL(0), x);
}

INLINE VECTOR NAME(softshrink)(VECTOR x, VECTOR lambda, VECTOR none) {
    (void)none;
    const VECTOR inside = NAME(select)(MASK(x == x), ALL(0), x);
    return NAME(select_less)(lambda, x, x - lambda, NAME(select_less)(x, -lambda, x + lambda, inside));
}

#undef ALL
#undef MASK
#undef SIGN
#undef INTEGRAL
