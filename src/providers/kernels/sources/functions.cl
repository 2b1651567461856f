/* functions.cl - has the kernels of functions of one and of two floating elements. */
#include "common.cl"
#include "math.cl"
#include "elementary.cl"
#include "pairs.cl"
#include "curve.cl"
#include "numbers.cl"
#define NUMBER REAL
#include "elementwise.cl"

#define WIDEN(x) JOIN(widen, X)(x)
#define NARROW(x) JOIN(narrow, X)(x)

static inline REAL relu_of(REAL x) {
    return x < 0 ? (REAL)0 : x;
}

static inline REAL added(REAL a, REAL b) {
    return a + b;
}

static inline REAL subtracted(REAL a, REAL b) {
    return a - b;
}

static inline REAL multiplied(REAL a, REAL b) {
    return a * b;
}

static inline REAL greater(REAL a, REAL b) {
    return a != a ? a : a > b ? a : b;
}

static inline REAL less(REAL a, REAL b) {
    return a != a ? a : a < b ? a : b;
}

#define STORED_UNARY(name, function)                                                                                   \
    static inline Y_STORAGE name##_stored(X_STORAGE x) {                                                               \
        return NARROW(function(WIDEN(x)));                                                                             \
    }                                                                                                                  \
    UNARY(name##_all, name##_stored)
#define STORED_WITH(name)                                                                                              \
    static inline Y_STORAGE name##_stored(X_STORAGE x, REAL first, REAL second) {                                      \
        return NARROW(name##_of(WIDEN(x), first, second));                                                             \
    }                                                                                                                  \
    UNARY_WITH(name##_all, name##_stored)
#define STORED_BINARY(name, function)                                                                                  \
    static inline Y_STORAGE name##_stored(X_STORAGE a, X_STORAGE b) {                                                  \
        return NARROW(function(WIDEN(a), WIDEN(b)));                                                                   \
    }                                                                                                                  \
    BINARY(name##_all, name##_stored)

STORED_UNARY(negative, negated)
STORED_UNARY(abs, magnitude)
STORED_UNARY(exp, exp_of)
STORED_UNARY(log, log_of)
STORED_UNARY(sqrt, root)
STORED_UNARY(tanh, tanh_of)
STORED_UNARY(sigmoid, sigmoid_of)
STORED_UNARY(relu, relu_of)
STORED_UNARY(gelu, gelu_of)
STORED_UNARY(gelu_tanh, gelu_tanh_of)
STORED_UNARY(silu, silu_of)
STORED_UNARY(hardswish, hardswish_of)
STORED_UNARY(floor, floor_of)
STORED_UNARY(ceil, ceil_of)
STORED_UNARY(round, round_of)
STORED_UNARY(trunc, trunc_of)
STORED_UNARY(sign, sign_of)
STORED_UNARY(reciprocal, reciprocal_of)
STORED_UNARY(rsqrt, rsqrt_of)
STORED_UNARY(sin, sin_of)
STORED_UNARY(cos, cos_of)
STORED_UNARY(tan, tan_of)
STORED_UNARY(erf, erf_of)
STORED_UNARY(expm1, expm1_of)
STORED_UNARY(log1p, log1p_of)
STORED_UNARY(log2, log2_of)
STORED_UNARY(asin, asin_of)
STORED_UNARY(acos, acos_of)
STORED_UNARY(atan, atan_of)
STORED_UNARY(sinh, sinh_of)
STORED_UNARY(cosh, cosh_of)
STORED_UNARY(asinh, asinh_of)
STORED_UNARY(acosh, acosh_of)
STORED_UNARY(atanh, atanh_of)
STORED_UNARY(log10, log10_of)
STORED_UNARY(exp2, exp2_of)
STORED_UNARY(erfc, erfc_of)
STORED_UNARY(hardsigmoid, hardsigmoid_of)
STORED_UNARY(mish, mish_of)
STORED_UNARY(softsign, softsign_of)
STORED_UNARY(logsigmoid, logsigmoid_of)
STORED_UNARY(selu, selu_of)
STORED_UNARY(tanhshrink, tanhshrink_of)
STORED_WITH(leaky_relu)
STORED_WITH(elu)
STORED_WITH(celu)
STORED_WITH(clip)
STORED_WITH(softplus)
STORED_WITH(threshold)
STORED_WITH(hardshrink)
STORED_WITH(softshrink)
STORED_BINARY(add, added)
STORED_BINARY(subtract, subtracted)
STORED_BINARY(multiply, multiplied)
STORED_BINARY(divide, divided)
STORED_BINARY(maximum, greater)
STORED_BINARY(minimum, less)
STORED_BINARY(pow, pow_of)
STORED_BINARY(remainder, remainder_of)
STORED_BINARY(fmod, fmod_of)
STORED_BINARY(floor_divide, floor_divided)
STORED_BINARY(atan2, atan2_of)
