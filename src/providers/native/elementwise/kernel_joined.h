/* kernel_joined.h - template: kernels of two functions of elements of one real type, generated from their lists in
 * elementwise.h. Parameters: as of kernel_number.h, which comes before. It undefines them.
 *
 * The steps are the steps of the single functions, and the last elements are computed as a whole vector. */
#define ALL(x) NAME(splat)((REAL)(x))

/* Vectors p and q of two arguments, and what `third` makes of the address of a third one. */
#define JOINED(name, numbered, third, result)                                                                          \
    static void NAME(name)(int64_t n, const void *of_a, const void *of_b, const void *of_c, void *of_y,                \
                           const double *numbers) {                                                                    \
        const NAME(number) *a = of_a, *b = of_b, *c = of_c;                                                            \
        NAME(number) *y = of_y;                                                                                        \
        const VECTOR low = ALL(numbered ? numbers[0] : 0), high = ALL(numbered ? numbers[1] : 0);                      \
        int64_t i = 0;                                                                                                 \
        (void)c, (void)low, (void)high;                                                                                \
        for (; i + NAME(LANES) <= n; i += NAME(LANES)) {                                                               \
            const VECTOR p = *(const NAME(loose) *)(a + i), q = *(const NAME(loose) *)(b + i);                         \
            third(*(const NAME(loose) *)(c + i));                                                                      \
            *(NAME(loose) *)(y + i) = result;                                                                          \
        }                                                                                                              \
        if (i < n) {                                                                                                   \
            const int rest = (int)(n - i);                                                                             \
            const VECTOR p = NAME(load_part)(a + i, rest), q = NAME(load_part)(b + i, rest);                           \
            third(NAME(load_part)(c + i, rest));                                                                       \
            NAME(store_part)(y + i, result, rest);                                                                     \
        }                                                                                                              \
    }
#define IS_R(value) const VECTOR r = value
#define ABSENT(value)

/* g(f(a, b), c) and g(c, f(a, b)) */
#define BEFORE_BINARY(f, g)                                                                                            \
    JOINED(f##_then_##g, false, IS_R, NAME(g)(NAME(f)(p, q), r))                                                       \
    JOINED(f##_into_##g, false, IS_R, NAME(g)(r, NAME(f)(p, q)))
#define BEFORE_UNARY(f, g) JOINED(f##_before_##g, false, ABSENT, NAME(g)(NAME(f)(p, q)))
#define EACH(f)                                                                                                        \
    BEFORE_BINARY(f, add)                                                                                              \
    BEFORE_BINARY(f, subtract)                                                                                         \
    BEFORE_BINARY(f, multiply)                                                                                         \
    BEFORE_BINARY(f, greater)                                                                                          \
    BEFORE_BINARY(f, less)                                                                                             \
    BEFORE_UNARY(f, relu)                                                                                              \
    BEFORE_UNARY(f, size_of)                                                                                           \
    BEFORE_UNARY(f, negative)                                                                                          \
    JOINED(f##_before_clip, true, ABSENT, NAME(clip)(NAME(f)(p, q), low, high))
EACH(add)
EACH(subtract)
EACH(multiply)
EACH(greater)
EACH(less)
#undef EACH
#undef BEFORE_BINARY
#undef BEFORE_UNARY
#undef IS_R
#undef ABSENT
#undef JOINED
#undef ALL

/* Parameters of several templates. */
#undef TYPE
#undef REAL
#undef VECTOR
#undef WORD
#undef MANTISSA
#undef BIAS
#undef FINITE
#undef NEAR
#undef EXP_OVERFLOWS
#undef EXPM1_IS_LESS_1
#undef ERF_IS_1
#undef SIN_TERMS
#undef COS_TERMS
#undef ERF_TERMS
#undef QUARTER
#undef LOWEST
