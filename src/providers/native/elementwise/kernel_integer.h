/* kernel_integer.h - template: functions of elements of one integer type, modulo 2 to the number of its bits.
 * Parameters, which it undefines: TYPE (its suffix), INTEGER and UNSIGNED; and NAME(x). */
#define UNARY(name, result)                                                                                            \
    VECTORIZED static void NAME(run_##name)(int64_t n, const void *of_x, void *of_y) {                                 \
        const INTEGER *x = of_x;                                                                                       \
        INTEGER *y = of_y;                                                                                             \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            y[i] = (INTEGER)(result);                                                                                  \
        }                                                                                                              \
    }
UNARY(negative, -(UNSIGNED)x[i])
UNARY(abs, x[i] < 0 ? -(UNSIGNED)x[i] : (UNSIGNED)x[i])
UNARY(relu, x[i] < 0 ? 0 : x[i])
UNARY(sign, (x[i] > 0) - (x[i] < 0))
UNARY(same, x[i])
UNARY(logical_not, x[i] == 0)
#undef UNARY

#define BINARY(name, result)                                                                                           \
    VECTORIZED static void NAME(run_##name)(int64_t n, const void *of_a, const void *of_b, void *of_y) {               \
        const INTEGER *a = of_a, *b = of_b;                                                                            \
        INTEGER *y = of_y;                                                                                             \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            y[i] = (INTEGER)(result);                                                                                  \
        }                                                                                                              \
    }
BINARY(add, (UNSIGNED)a[i] + (UNSIGNED)b[i])
BINARY(subtract, (UNSIGNED)a[i] - (UNSIGNED)b[i])
BINARY(multiply, (UNSIGNED)a[i] * (UNSIGNED)b[i])
BINARY(greater, a[i] > b[i] ? a[i] : b[i])
BINARY(less, a[i] < b[i] ? a[i] : b[i])
BINARY(is_equal, a[i] == b[i])
BINARY(is_not_equal, a[i] != b[i])
BINARY(is_less, a[i] < b[i])
BINARY(is_less_equal, a[i] <= b[i])
BINARY(is_greater, a[i] > b[i])
BINARY(is_greater_equal, a[i] >= b[i])
BINARY(logical_and, (a[i] != 0) & (b[i] != 0))
BINARY(logical_or, (a[i] != 0) | (b[i] != 0))
BINARY(logical_xor, (a[i] != 0) ^ (b[i] != 0))
#undef BINARY

#undef TYPE
#undef INTEGER
#undef UNSIGNED
