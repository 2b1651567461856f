/* kernel_number.h - template: functions of elements of one real type. Parameters: TYPE (its suffix), REAL, VECTOR and
 * NAME(x). Include it after kernel_function.h. */
typedef REAL NAME(number) __attribute__((may_alias));
typedef REAL NAME(loose) __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(REAL)), may_alias));

#define ALL(x) NAME(splat)((REAL)(x))
#define MASK(x) ((NAME(bitmask))(x))
#define SIGN ((NAME(bits))ALL(-0.))

INLINE VECTOR NAME(negative)(VECTOR x) {
    return (VECTOR)((NAME(bits))x ^ SIGN);
}

INLINE VECTOR NAME(relu)(VECTOR x) {
    return NAME(select)(MASK(x < ALL(0)), ALL(0), x);
}

INLINE VECTOR NAME(silu_of_itself)(VECTOR x) {
    return NAME(silu)(x, x);
}

/* (1 + tanh(y / 2)) / 2 is 1 / (1 + e^-y). */
INLINE VECTOR NAME(gelu_tanh)(VECTOR x) {
    return NAME(silu)(x, x * NAME(madd)(x * x, ALL(0.071354816272600248776), ALL(1.5957691216057307118)));
}

INLINE VECTOR NAME(hardswish)(VECTOR x) {
    const VECTOR raised = NAME(maximum)(ALL(0), x + ALL(3));
    return x * (NAME(select)(MASK(raised > ALL(6)), ALL(6), raised) / ALL(6));
}

INLINE VECTOR NAME(subtract)(VECTOR a, VECTOR b) {
    return a - b;
}

INLINE VECTOR NAME(divide)(VECTOR a, VECTOR b) {
    return a / b;
}

INLINE VECTOR NAME(greater)(VECTOR a, VECTOR b) {
    return NAME(select)(MASK(a != a), a, NAME(select)(MASK(a > b), a, b));
}

INLINE VECTOR NAME(less)(VECTOR a, VECTOR b) {
    return NAME(select)(MASK(a != a), a, NAME(select)(MASK(a < b), a, b));
}

/* Whether something holds, as 1 or 0. */
INLINE VECTOR NAME(truth)(NAME(bitmask) mask) {
    return (VECTOR)(mask & (NAME(bitmask))ALL(1));
}

INLINE VECTOR NAME(isnan)(VECTOR x) {
    return NAME(truth)(MASK(x != x));
}

INLINE VECTOR NAME(isinf)(VECTOR x) {
    return NAME(truth)(MASK(NAME(size_of)(x) == ALL(INFINITY)));
}

INLINE VECTOR NAME(isfinite)(VECTOR x) {
    return NAME(truth)(MASK(NAME(size_of)(x) < ALL(INFINITY)));
}

INLINE VECTOR NAME(logical_not)(VECTOR x) {
    return NAME(truth)(MASK(x == ALL(0)));
}

#define TRUTH(name, mask)                                                                                              \
    INLINE VECTOR NAME(name)(VECTOR a, VECTOR b) {                                                                     \
        return NAME(truth)(mask);                                                                                      \
    }
TRUTH(is_equal, MASK(a == b))
TRUTH(is_not_equal, MASK(a != b))
TRUTH(is_less, MASK(a < b))
TRUTH(is_less_equal, MASK(a <= b))
TRUTH(is_greater, MASK(a > b))
TRUTH(is_greater_equal, MASK(a >= b))
TRUTH(logical_and, MASK(a != ALL(0)) & MASK(b != ALL(0)))
TRUTH(logical_or, MASK(a != ALL(0)) | MASK(b != ALL(0)))
TRUTH(logical_xor, MASK(a != ALL(0)) ^ MASK(b != ALL(0)))
#undef TRUTH

/* Computes each vector v. The last elements are computed as a whole vector, so that an element's bits do not depend on
 * its place. */
#define EACH_VECTOR(result)                                                                                            \
    const NAME(number) *x = of_x;                                                                                      \
    NAME(number) *y = of_y;                                                                                            \
    int64_t i = 0;                                                                                                     \
    for (; i + NAME(LANES) <= n; i += NAME(LANES)) {                                                                   \
        const VECTOR v = *(const NAME(loose) *)(x + i);                                                                \
        *(NAME(loose) *)(y + i) = result;                                                                              \
    }                                                                                                                  \
    if (i < n) {                                                                                                       \
        const VECTOR v = NAME(load_part)(x + i, (int)(n - i));                                                         \
        NAME(store_part)(y + i, result, (int)(n - i));                                                                 \
    }

#define UNARY(name, function)                                                                                          \
    static void NAME(run_##name)(int64_t n, const void *of_x, void *of_y, const double *numbers) {                     \
        (void)numbers;                                                                                                 \
        EACH_VECTOR(NAME(function)(v))                                                                                 \
    }
UNARY(negative, negative)
UNARY(abs, size_of)
UNARY(exp, exp)
UNARY(log, log)
UNARY(sqrt, root)
UNARY(tanh, tanh)
UNARY(sigmoid, sigmoid)
UNARY(relu, relu)
UNARY(gelu, gelu)
UNARY(gelu_tanh, gelu_tanh)
UNARY(silu, silu_of_itself)
UNARY(hardswish, hardswish)
UNARY(floor, floor)
UNARY(ceil, ceil)
UNARY(round, round)
UNARY(trunc, trunc)
UNARY(sign, sign)
UNARY(reciprocal, reciprocal)
UNARY(rsqrt, rsqrt)
UNARY(sin, sin)
UNARY(cos, cos)
UNARY(tan, tan)
UNARY(erf, erf)
UNARY(expm1, expm1)
UNARY(log1p, log1p)
UNARY(log2, log2)
UNARY(asin, asin)
UNARY(acos, acos)
UNARY(atan, atan)
UNARY(sinh, sinh)
UNARY(cosh, cosh)
UNARY(asinh, asinh)
UNARY(acosh, acosh)
UNARY(atanh, atanh)
UNARY(log10, log10)
UNARY(exp2, exp2)
UNARY(erfc, erfc)
UNARY(hardsigmoid, hardsigmoid)
UNARY(mish, mish)
UNARY(softsign, softsign)
UNARY(logsigmoid, logsigmoid)
UNARY(selu, selu)
UNARY(tanhshrink, tanhshrink)
UNARY(isnan, isnan)
UNARY(isinf, isinf)
UNARY(isfinite, isfinite)
UNARY(logical_not, logical_not)
#undef UNARY

#define NUMBERED(name)                                                                                                 \
    static void NAME(run_##name)(int64_t n, const void *of_x, void *of_y, const double *numbers) {                     \
        const VECTOR first = ALL(numbers[0]), second = ALL(numbers[1]);                                                \
        EACH_VECTOR(NAME(name)(v, first, second))                                                                      \
    }
NUMBERED(leaky_relu)
NUMBERED(elu)
NUMBERED(celu)
NUMBERED(clip)
NUMBERED(softplus)
NUMBERED(threshold)
NUMBERED(hardshrink)
NUMBERED(softshrink)
#undef NUMBERED
#undef EACH_VECTOR

#define BINARY(function)                                                                                               \
    static void NAME(run_##function)(int64_t n, const void *of_a, const void *of_b, void *of_y) {                      \
        const NAME(number) *a = of_a, *b = of_b;                                                                       \
        NAME(number) *y = of_y;                                                                                        \
        int64_t i = 0;                                                                                                 \
        for (; i + NAME(LANES) <= n; i += NAME(LANES)) {                                                               \
            *(NAME(loose) *)(y + i) = NAME(function)(*(const NAME(loose) *)(a + i), *(const NAME(loose) *)(b + i));    \
        }                                                                                                              \
        if (i < n) {                                                                                                   \
            const int rest = (int)(n - i);                                                                             \
            NAME(store_part)                                                                                           \
            (y + i, NAME(function)(NAME(load_part)(a + i, rest), NAME(load_part)(b + i, rest)), rest);                 \
        }                                                                                                              \
    }
BINARY(add)
BINARY(subtract)
BINARY(multiply)
BINARY(divide)
BINARY(greater)
BINARY(less)
BINARY(is_equal)
BINARY(is_not_equal)
BINARY(is_less)
BINARY(is_less_equal)
BINARY(is_greater)
BINARY(is_greater_equal)
BINARY(logical_and)
BINARY(logical_or)
BINARY(logical_xor)
BINARY(pow)
BINARY(remainder)
BINARY(fmod)
BINARY(floor_divide)
BINARY(atan2)
#undef BINARY

#undef ALL
#undef MASK
#undef SIGN
