/* kernel_exp_type.h - template: exponentials of the vectors of one type. Parameters, which it undefines: EXP_TYPE
 * (suffix of the names), EXP_REAL, EXP_VECTOR, EXP_BITS (integers as wide as EXP_REAL), EXP_TERMS, EXP_MAGIC (1.5 times
 * 2 to the number of mantissa bits), EXP_MANTISSA, EXP_BIAS, EXP_LEAST (the least exponent of a normal number) and
 * EXP_LN_2 (the natural logarithm of 2, as the sum of a number with few bits and the rest). */
#define EXP_JOIN__(a, b) a##_##b
#define EXP_JOIN_(a, b) EXP_JOIN__(a, b)
#define EXP_NAME(x) EXP_JOIN_(x, EXP_TYPE)

typedef EXP_BITS EXP_NAME(exp_bits) __attribute__((vector_size(VECTOR_BYTES)));

/* 2 to the power of `rest`, from -0.5 to 0.5, times 2 to the power of the integer that was rounded by adding EXP_MAGIC:
 * the integer becomes the exponent, the power of the rest is a polynomial with a relative error below a quarter of the
 * type's rounding error. */
INLINE EXP_VECTOR EXP_NAME(exp_scaled)(EXP_VECTOR rest, EXP_VECTOR shifted) {
    static const EXP_REAL term[] = {EXP_TERMS};
    EXP_VECTOR sum = EXP_NAME(splat)(term[(sizeof term / sizeof *term) - 1]);
    UNROLL
    for (int i = (int)(sizeof term / sizeof *term) - 2; i >= 0; i--) {
        sum = EXP_NAME(madd)(sum, rest, EXP_NAME(splat)(term[i]));
    }
    sum = EXP_NAME(madd)(sum, rest, EXP_NAME(splat)(1));
    return sum * (EXP_VECTOR)(((EXP_NAME(exp_bits))shifted + EXP_BIAS) << EXP_MANTISSA);
}

/* 0 where x is below the limit, otherwise y. */
INLINE EXP_VECTOR EXP_NAME(exp_flush)(EXP_VECTOR x, EXP_VECTOR limit, EXP_VECTOR y) {
    return (EXP_VECTOR)(~(EXP_NAME(exp_bits))(x < limit) & (EXP_NAME(exp_bits))y);
}

/* 2 to the power of x. Results below the least normal number are 0; x must not exceed the type's greatest exponent. NaN
 * stays NaN. */
INLINE EXP_VECTOR EXP_NAME(power)(EXP_VECTOR x) {
    const EXP_VECTOR magic = EXP_NAME(splat)(EXP_MAGIC), shifted = x + magic, rest = x - (shifted - magic);
    return EXP_NAME(exp_flush)(x, EXP_NAME(splat)(EXP_LEAST), EXP_NAME(exp_scaled)(rest, shifted));
}

/* e to the power of x, in the same way, with a relative error below 2 units of rounding: what is left of x is computed
 * without the rounding error of its product with log2(e). */
INLINE EXP_VECTOR EXP_NAME(exp)(EXP_VECTOR x) {
    static const EXP_REAL ln_2[] = {EXP_LN_2};
    const EXP_REAL log2_e = (EXP_REAL)1.44269504088896340736;
    const EXP_VECTOR magic = EXP_NAME(splat)(EXP_MAGIC), scale = EXP_NAME(splat)(log2_e), power = x * scale,
                     shifted = power + magic, whole = shifted - magic;
    EXP_VECTOR rest = EXP_NAME(msub)(whole, EXP_NAME(splat)(ln_2[0]), x);
    rest = EXP_NAME(msub)(whole, EXP_NAME(splat)(ln_2[1]), rest);
    return EXP_NAME(exp_flush)(power, EXP_NAME(splat)(EXP_LEAST), EXP_NAME(exp_scaled)(rest * scale, shifted));
}

#undef EXP_TYPE
#undef EXP_REAL
#undef EXP_VECTOR
#undef EXP_BITS
#undef EXP_TERMS
#undef EXP_MAGIC
#undef EXP_MANTISSA
#undef EXP_BIAS
#undef EXP_LEAST
#undef EXP_LN_2
#undef EXP_JOIN__
#undef EXP_JOIN_
#undef EXP_NAME
