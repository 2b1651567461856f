/* integers.cl - has the kernels of functions of one and of two integers, modulo 2^n.
 * UNSIGNED is the type in which they are computed, because signed integers must not overflow. */
#include "common.cl"
#include "elementwise.cl"

#define INTEGER X_STORAGE
#define NUMBER X_STORAGE

static inline INTEGER negated(INTEGER x) {
    return (INTEGER)((UNSIGNED)0 - (UNSIGNED)x);
}

static inline INTEGER magnitude(INTEGER x) {
    return x < 0 ? negated(x) : x;
}

static inline INTEGER relu_of(INTEGER x) {
    return x < 0 ? 0 : x;
}

static inline INTEGER sign_of(INTEGER x) {
    return (x > 0) - (x < 0);
}

static inline INTEGER same(INTEGER x) {
    return x;
}

static inline INTEGER clipped(INTEGER x, INTEGER low, INTEGER high) {
    const INTEGER raised = x < low ? low : x;
    return raised > high ? high : raised;
}

static inline INTEGER added(INTEGER a, INTEGER b) {
    return (INTEGER)((UNSIGNED)a + (UNSIGNED)b);
}

static inline INTEGER subtracted(INTEGER a, INTEGER b) {
    return (INTEGER)((UNSIGNED)a - (UNSIGNED)b);
}

static inline INTEGER multiplied(INTEGER a, INTEGER b) {
    return (INTEGER)((UNSIGNED)a * (UNSIGNED)b);
}

static inline INTEGER greater(INTEGER a, INTEGER b) {
    return a > b ? a : b;
}

static inline INTEGER less(INTEGER a, INTEGER b) {
    return a < b ? a : b;
}

/* ---- Quotients and powers ---- */

/* A division by 0 gives 0. The quotient of the least integer and -1 does not fit. */
static inline INTEGER fmod_of(INTEGER a, INTEGER b) {
    return b == 0 || b == -1 ? 0 : a % b;
}

static inline bool is_opposite(INTEGER rest, INTEGER b) {
    return rest != 0 && (rest < 0) != (b < 0);
}

static inline INTEGER remainder_of(INTEGER a, INTEGER b) {
    const INTEGER rest = fmod_of(a, b);
    return is_opposite(rest, b) ? rest + b : rest;
}

static inline INTEGER floor_divided(INTEGER a, INTEGER b) {
    return b == 0 ? 0 : b == -1 ? negated(a) : a / b - (is_opposite(fmod_of(a, b), b) ? 1 : 0);
}

static inline INTEGER pow_of(INTEGER a, INTEGER b) {
    UNSIGNED power = 1;
    if (b < 0) {
        return a == 1 ? 1 : a == -1 ? (b & 1 ? -1 : 1) : 0;
    }
    for (UNSIGNED square = (UNSIGNED)a; b > 0; b >>= 1, square *= square) {
        power *= b & 1 ? square : 1;
    }
    return (INTEGER)power;
}

/* ---- Bits ---- */

static inline INTEGER inverted(INTEGER x) {
    return ~x;
}

static inline INTEGER bits_and(INTEGER a, INTEGER b) {
    return a & b;
}

static inline INTEGER bits_or(INTEGER a, INTEGER b) {
    return a | b;
}

static inline INTEGER bits_xor(INTEGER a, INTEGER b) {
    return a ^ b;
}

/* Whether some bits stay. */
static inline bool is_within(INTEGER b) {
    return b >= 0 && b < (INTEGER)(8 * sizeof(INTEGER));
}

static inline INTEGER shifted_left(INTEGER a, INTEGER b) {
    return is_within(b) ? (INTEGER)((UNSIGNED)a << b) : 0;
}

static inline INTEGER shifted_right(INTEGER a, INTEGER b) {
    return a >> (is_within(b) ? b : (INTEGER)(8 * sizeof(INTEGER) - 1));
}

UNARY(negative_all, negated)
UNARY(abs_all, magnitude)
UNARY(relu_all, relu_of)
UNARY(floor_all, same)
UNARY(ceil_all, same)
UNARY(round_all, same)
UNARY(trunc_all, same)
UNARY(sign_all, sign_of)
UNARY_WITH(clip_all, clipped)
BINARY(add_all, added)
BINARY(subtract_all, subtracted)
BINARY(multiply_all, multiplied)
BINARY(maximum_all, greater)
BINARY(minimum_all, less)
UNARY(bitwise_invert_all, inverted)
BINARY(pow_all, pow_of)
BINARY(remainder_all, remainder_of)
BINARY(fmod_all, fmod_of)
BINARY(floor_divide_all, floor_divided)
BINARY(bitwise_and_all, bits_and)
BINARY(bitwise_or_all, bits_or)
BINARY(bitwise_xor_all, bits_xor)
BINARY(bitwise_left_shift_all, shifted_left)
BINARY(bitwise_right_shift_all, shifted_right)
