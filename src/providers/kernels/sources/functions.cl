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

static inline REAL add_of(REAL a, REAL b) {
    return a + b;
}

static inline REAL subtract_of(REAL a, REAL b) {
    return a - b;
}

static inline REAL multiply_of(REAL a, REAL b) {
    return a * b;
}

static inline REAL maximum_of(REAL a, REAL b) {
    return a != a ? a : a > b ? a : b;
}

static inline REAL minimum_of(REAL a, REAL b) {
    return a != a ? a : a < b ? a : b;
}

#define STORED_UNARY(kernel, function)                                                                                 \
    static inline Y_STORAGE kernel##_stored(X_STORAGE x) {                                                             \
        return NARROW(function(WIDEN(x)));                                                                             \
    }                                                                                                                  \
    UNARY(kernel, kernel##_stored)
#define STORED_UNARY_WITH(kernel, function)                                                                            \
    static inline Y_STORAGE kernel##_stored(X_STORAGE x, REAL first, REAL second) {                                    \
        return NARROW(function(WIDEN(x), first, second));                                                              \
    }                                                                                                                  \
    UNARY_WITH(kernel, kernel##_stored)
#define STORED_BINARY(kernel, function)                                                                                \
    static inline Y_STORAGE kernel##_stored(X_STORAGE a, X_STORAGE b) {                                                \
        return NARROW(function(WIDEN(a), WIDEN(b)));                                                                   \
    }                                                                                                                  \
    BINARY(kernel, kernel##_stored)

#define negative_of negated
#define abs_of magnitude
#define sqrt_of root
#define divide_of divided
#define floor_divide_of floor_divided

#ifdef KERNEL /* one kernel alone, of FUNCTION; TAKES says what it takes: UNARY, UNARY_WITH, BINARY */
#define DEFINE(kind, kernel, function) JOIN(STORED, kind)(kernel, function)
DEFINE(TAKES, KERNEL, FUNCTION)
#else
#define EACH_UNARY(name) STORED_UNARY(name##_all, name##_of)
#define EACH_UNARY_WITH(name) STORED_UNARY_WITH(name##_all, name##_of)
#define EACH_BINARY(name) STORED_BINARY(name##_all, name##_of)
EACH_UNARY(negative)
EACH_UNARY(abs)
EACH_UNARY(exp)
EACH_UNARY(log)
EACH_UNARY(sqrt)
EACH_UNARY(tanh)
EACH_UNARY(sigmoid)
EACH_UNARY(relu)
EACH_UNARY(gelu)
EACH_UNARY(gelu_tanh)
EACH_UNARY(silu)
EACH_UNARY(hardswish)
EACH_UNARY(floor)
EACH_UNARY(ceil)
EACH_UNARY(round)
EACH_UNARY(trunc)
EACH_UNARY(sign)
EACH_UNARY(reciprocal)
EACH_UNARY(rsqrt)
EACH_UNARY(sin)
EACH_UNARY(cos)
EACH_UNARY(tan)
EACH_UNARY(erf)
EACH_UNARY(expm1)
EACH_UNARY(log1p)
EACH_UNARY(log2)
EACH_UNARY(asin)
EACH_UNARY(acos)
EACH_UNARY(atan)
EACH_UNARY(sinh)
EACH_UNARY(cosh)
EACH_UNARY(asinh)
EACH_UNARY(acosh)
EACH_UNARY(atanh)
EACH_UNARY(log10)
EACH_UNARY(exp2)
EACH_UNARY(erfc)
EACH_UNARY(hardsigmoid)
EACH_UNARY(mish)
EACH_UNARY(softsign)
EACH_UNARY(logsigmoid)
EACH_UNARY(selu)
EACH_UNARY(tanhshrink)
EACH_UNARY_WITH(leaky_relu)
EACH_UNARY_WITH(elu)
EACH_UNARY_WITH(celu)
EACH_UNARY_WITH(clip)
EACH_UNARY_WITH(softplus)
EACH_UNARY_WITH(threshold)
EACH_UNARY_WITH(hardshrink)
EACH_UNARY_WITH(softshrink)
EACH_BINARY(add)
EACH_BINARY(subtract)
EACH_BINARY(multiply)
EACH_BINARY(divide)
EACH_BINARY(maximum)
EACH_BINARY(minimum)
EACH_BINARY(pow)
EACH_BINARY(remainder)
EACH_BINARY(fmod)
EACH_BINARY(floor_divide)
EACH_BINARY(atan2)
#endif
