/* kernel_power.h - template: powers of 2 for one real type. Parameters: those of kernel_each_real.h. */
typedef REAL NAME(loose) __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(REAL)), may_alias));
typedef REAL NAME(number) __attribute__((may_alias));
typedef MASK NAME(bitmask) __attribute__((vector_size(VECTOR_BYTES)));

INLINE VECTOR NAME(load)(const NAME(number) * from) {
    return *(const NAME(loose) *)from;
}

INLINE void NAME(store)(NAME(number) * to, VECTOR x) {
    *(NAME(loose) *)to = x;
}

/* Returns `yes` where the mask is set, otherwise `no`. */
INLINE VECTOR NAME(select)(NAME(bitmask) mask, VECTOR yes, VECTOR no) {
    return (VECTOR)((mask & (NAME(bitmask))yes) | (~mask & (NAME(bitmask))no));
}

/* 2 to the power of x is 2 to an integer, *factor, times 2 to a rest from -0.5 to 0.5, which is 1 + rest * sum. Returns
 * the sum, a polynomial such that the power has a relative error below a quarter of the type's rounding error. */
INLINE VECTOR NAME(split_power)(VECTOR x, VECTOR *rest, VECTOR *factor) {
    static const REAL term[] = {TERMS};
    const VECTOR magic = SPLAT(MAGIC), shifted = x + magic;
    VECTOR sum = SPLAT(term[(sizeof term / sizeof *term) - 1]);
    *rest = x - (shifted - magic);
    UNROLL
    for (int i = (int)(sizeof term / sizeof *term) - 2; i >= 0; i--) {
        sum = MADD(sum, *rest, SPLAT(term[i]));
    }
    *factor = (VECTOR)(((NAME(bitmask))shifted + BIAS) << MANTISSA);
    return sum;
}

/* 2 to the power of x. Results below the least normal number are 0; x must not exceed the type's greatest exponent. NaN
 * stays NaN. */
INLINE VECTOR NAME(power)(VECTOR x) {
    VECTOR rest, factor;
    const VECTOR sum = NAME(split_power)(x, &rest, &factor), result = MADD(sum, rest, SPLAT(1)) * factor;
    return NAME(select)((NAME(bitmask))(x < SPLAT(LEAST)), SPLAT(0), result);
}
