/* integers.cl - has the kernels of functions of one and of two integers, modulo 2^n.
 * UNSIGNED is the type in which they are computed, because signed integers must not overflow. */
#include "common.cl"
#include "elementwise.cl"

#define INTEGER X_STORAGE

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

UNARY(negative_all, negated)
UNARY(abs_all, magnitude)
UNARY(relu_all, relu_of)
UNARY(floor_all, same)
UNARY(ceil_all, same)
UNARY(round_all, same)
UNARY(trunc_all, same)
UNARY(sign_all, sign_of)
BINARY(add_all, added)
BINARY(subtract_all, subtracted)
BINARY(multiply_all, multiplied)
BINARY(maximum_all, greater)
BINARY(minimum_all, less)
