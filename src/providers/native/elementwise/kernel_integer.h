/* kernel_integer.h - template: functions of elements of one integer type, modulo 2 to the number of its bits.
 * Parameters, which it undefines: TYPE (its suffix), INTEGER and UNSIGNED; and NAME(x). */
#define UNARY(name, result)                                                                                            \
    VECTORIZED static void NAME(run_##name)(int64_t n, const void *of_x, void *of_y, const double *numbers) {          \
        (void)numbers;                                                                                                 \
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
UNARY(bitwise_invert, ~x[i])
#undef UNARY

enum { NAME(BITS) = 8 * sizeof(INTEGER) };

/* The integer of the type that is nearest to a limit, an integer or infinite. */
INLINE INTEGER NAME(limit)(double limit) {
    const UNSIGNED least = (UNSIGNED)1 << (NAME(BITS) - 1);
    const double bound = (double)least;
    return limit >= bound ? (INTEGER)(least - 1) : limit < -bound ? (INTEGER)least : (INTEGER)limit;
}

VECTORIZED static void NAME(run_clip)(int64_t n, const void *of_x, void *of_y, const double *numbers) {
    const INTEGER *x = of_x, low = NAME(limit)(numbers[0]), high = NAME(limit)(numbers[1]);
    INTEGER *y = of_y;
    for (int64_t i = 0; i < n; i++) {
        const INTEGER raised = x[i] < low ? low : x[i];
        y[i] = raised > high ? high : raised;
    }
}

/* ---- Functions of two elements ---- */

/* A division by 0 gives 0, and one by -1 must not reach the processor, which traps if the quotient does not fit. */
INLINE INTEGER NAME(fmod)(INTEGER a, INTEGER b) {
    return (INTEGER)(b == 0 || b == -1 ? 0 : a % b);
}

INLINE INTEGER NAME(remainder)(INTEGER a, INTEGER b) {
    const INTEGER rest = NAME(fmod)(a, b);
    return (INTEGER)(rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest);
}

INLINE INTEGER NAME(floor_divide)(INTEGER a, INTEGER b) {
    const INTEGER rest = NAME(fmod)(a, b);
    return (INTEGER)(b == 0 ? 0 : b == -1 ? -(UNSIGNED)a : (UNSIGNED)(a / b - (rest != 0 && (rest < 0) != (b < 0))));
}

INLINE INTEGER NAME(pow)(INTEGER a, INTEGER b) {
    UNSIGNED power = 1;
    if (b < 0) {
        return (INTEGER)(a == 1 ? 1 : a == -1 ? (b & 1 ? -1 : 1) : 0);
    }
    for (UNSIGNED square = (UNSIGNED)a; b > 0; b >>= 1, square *= square) {
        power *= b & 1 ? square : 1;
    }
    return (INTEGER)power;
}

INLINE INTEGER NAME(left_shift)(INTEGER a, INTEGER b) {
    return (INTEGER)(b < 0 || b >= NAME(BITS) ? 0 : (UNSIGNED)a << b);
}

INLINE INTEGER NAME(right_shift)(INTEGER a, INTEGER b) {
    return (INTEGER)(a >> (b < 0 || b >= NAME(BITS) ? NAME(BITS) - 1 : b));
}

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
BINARY(pow, NAME(pow)(a[i], b[i]))
BINARY(remainder, NAME(remainder)(a[i], b[i]))
BINARY(fmod, NAME(fmod)(a[i], b[i]))
BINARY(floor_divide, NAME(floor_divide)(a[i], b[i]))
BINARY(bitwise_and, a[i] & b[i])
BINARY(bitwise_or, a[i] | b[i])
BINARY(bitwise_xor, a[i] ^ b[i])
BINARY(bitwise_left_shift, NAME(left_shift)(a[i], b[i]))
BINARY(bitwise_right_shift, NAME(right_shift)(a[i], b[i]))
#undef BINARY

#undef TYPE
#undef INTEGER
#undef UNSIGNED
