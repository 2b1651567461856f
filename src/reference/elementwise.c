/* elementwise.c - computes functions of one and of two elements, and has the bounds of their errors. */
#include "reference/elementwise.h"

#include <math.h>

/* The argument of the hyperbolic tangent in gelu_tanh, twice: 2 * sqrt(2 / pi) * (x + 0.044715 * x^3). */
static long double tanh_argument(long double x) {
    return 1.59576912160573071175978423973752747L * (x + 0.044715L * x * x * x);
}

/* x - tanh(x). Near 0 it is (x cosh x - sinh x) / cosh x, whose numerator is the sum of 2k x^(2k + 1) / (2k + 1)!, so
 * that no digits are lost. */
static long double less_tanh(long double x) {
    if (fabsl(x) > 2) {
        return x - tanhl(x);
    }
    long double sum = 0, power = x; /* x^(2k + 1) / (2k + 1)! */
    for (int k = 1; k < 24; k++) {
        power *= x * x / (2 * k * (2 * k + 1));
        sum += 2 * k * power;
    }
    return copysignl(sum / coshl(x), x);
}

static long double curve(bp_unary_kind kind, long double x) {
    switch (kind) {
    case BP_UNARY_ASIN:
        return asinl(x);
    case BP_UNARY_ACOS:
        return acosl(x);
    case BP_UNARY_ATAN:
        return atanl(x);
    case BP_UNARY_SINH:
        return sinhl(x);
    case BP_UNARY_COSH:
        return coshl(x);
    case BP_UNARY_ASINH:
        return asinhl(x);
    case BP_UNARY_ACOSH:
        return acoshl(x);
    case BP_UNARY_ATANH:
        return atanhl(x);
    case BP_UNARY_LOG10:
        return log10l(x);
    case BP_UNARY_EXP2:
        return exp2l(x);
    case BP_UNARY_ERFC:
        return erfcl(x);
    case BP_UNARY_HARDSIGMOID:
        return (x + 3 < 0 ? 0 : x + 3 > 6 ? 6 : x + 3) / 6;
    case BP_UNARY_MISH:
        return x * tanhl(log1pl(expl(x)));
    case BP_UNARY_SOFTSIGN:
        return x / (1 + fabsl(x));
    case BP_UNARY_LOGSIGMOID:
        return (x < 0 ? x : 0) - log1pl(expl(-fabsl(x)));
    case BP_UNARY_SELU:
        return 1.0507009873554804934193349852946L * (x > 0 ? x : 1.6732632423543772848170429916717L * expm1l(x));
    case BP_UNARY_TANHSHRINK:
        return less_tanh(x);
    default:
        return x;
    }
}

static long double further_unary(bp_unary_kind kind, long double x) {
    switch (kind) {
    case BP_UNARY_FLOOR:
        return floorl(x);
    case BP_UNARY_CEIL:
        return ceill(x);
    case BP_UNARY_ROUND:
        return rintl(x);
    case BP_UNARY_TRUNC:
        return truncl(x);
    case BP_UNARY_SIGN:
        return isnan(x) ? x : (x > 0) - (x < 0);
    case BP_UNARY_RECIPROCAL:
        return 1 / x;
    case BP_UNARY_RSQRT:
        return 1 / sqrtl(x);
    case BP_UNARY_SIN:
        return sinl(x);
    case BP_UNARY_COS:
        return cosl(x);
    case BP_UNARY_TAN:
        return tanl(x);
    case BP_UNARY_ERF:
        return erfl(x);
    case BP_UNARY_EXPM1:
        return expm1l(x);
    case BP_UNARY_LOG1P:
        return log1pl(x);
    case BP_UNARY_LOG2:
        return log2l(x);
    case BP_UNARY_ISNAN:
        return isnan(x) != 0;
    case BP_UNARY_ISINF:
        return isinf(x) != 0;
    case BP_UNARY_ISFINITE:
        return isfinite(x) != 0;
    case BP_UNARY_LOGICAL_NOT:
        return x == 0;
    default:
        return curve(kind, x);
    }
}

void reference_unary_numbers(bp_unary_kind kind, bp_dtype dtype, const double *first, const double *second,
                             double numbers[2]) {
    static const double usual[BP_UNARY_KINDS][2] = {
        [BP_UNARY_LEAKY_RELU] = {0.01},          [BP_UNARY_ELU] = {1},          [BP_UNARY_CELU] = {1},
        [BP_UNARY_CLIP] = {-HUGE_VAL, HUGE_VAL}, [BP_UNARY_SOFTPLUS] = {1, 20}, [BP_UNARY_HARDSHRINK] = {0.5},
        [BP_UNARY_SOFTSHRINK] = {0.5},
    };
    const double *const given[] = {first, second};
    for (int i = 0; i < 2; i++) {
        numbers[i] = given[i] ? *given[i] : (unsigned)kind < BP_UNARY_KINDS ? usual[kind][i] : 0;
        numbers[i] = dtype == BP_F16 || dtype == BP_BF16 || dtype == BP_F32 ? (double)(float)numbers[i] : numbers[i];
    }
}

/* log(1 + e^t) / beta. */
static long double softplus(bp_dtype dtype, long double x, long double beta, long double threshold) {
    const long double t = beta * x, rounded = dtype == BP_F64 ? (long double)(double)t : (long double)(float)t;
    return rounded > threshold ? x : ((t > 0 ? t : 0) + log1pl(expl(-fabsl(t)))) / beta;
}

long double reference_unary_with(bp_unary_kind kind, bp_dtype dtype, const double *numbers, long double x) {
    const long double first = (long double)numbers[0], second = (long double)numbers[1];
    switch (kind) {
    case BP_UNARY_LEAKY_RELU:
        return x > 0 ? x : first * x;
    case BP_UNARY_ELU:
        return x > 0 ? x : first * expm1l(x);
    case BP_UNARY_CELU:
        return x > 0 || (isinf(first) && isfinite(x)) ? x : first * expm1l(x / first);
    case BP_UNARY_CLIP: {
        const long double raised = x < first ? first : x;
        return raised > second ? second : raised;
    }
    case BP_UNARY_SOFTPLUS:
        return softplus(dtype, x, first, second);
    case BP_UNARY_THRESHOLD:
        return x <= first ? second : x;
    case BP_UNARY_HARDSHRINK:
        return x >= -first && x <= first ? 0 : x;
    case BP_UNARY_SOFTSHRINK:
        return x > first ? x - first : x < -first ? x + first : isnan(x) ? x : 0;
    default:
        return reference_unary(kind, x);
    }
}

long double reference_unary(bp_unary_kind kind, long double x) {
    switch (kind) {
    case BP_UNARY_NEGATIVE:
        return -x;
    case BP_UNARY_ABS:
        return fabsl(x);
    case BP_UNARY_EXP:
        return expl(x);
    case BP_UNARY_LOG:
        return logl(x);
    case BP_UNARY_SQRT:
        return sqrtl(x);
    case BP_UNARY_TANH:
        return tanhl(x);
    case BP_UNARY_SIGMOID:
        return 1 / (1 + expl(-x));
    case BP_UNARY_RELU:
        return x < 0 ? 0 : x;
    case BP_UNARY_GELU:
        return x / 2 * erfcl(-x * 0.707106781186547524400844362104849039L);
    case BP_UNARY_GELU_TANH:
        return x / (1 + expl(-tanh_argument(x)));
    case BP_UNARY_SILU:
        return x / (1 + expl(-x));
    case BP_UNARY_HARDSWISH:
        return x * (x + 3 < 0 ? 0 : x + 3 > 6 ? 6 : x + 3) / 6;
    default:
        return further_unary(kind, x);
    }
}

/* The functions whose results are bool: 1 or 0. */
static long double truth_of_two(bp_binary_kind kind, long double a, long double b) {
    switch (kind) {
    case BP_BINARY_EQUAL:
        return a == b;
    case BP_BINARY_NOT_EQUAL:
        return a != b;
    case BP_BINARY_LESS:
        return a < b;
    case BP_BINARY_LESS_EQUAL:
        return a <= b;
    case BP_BINARY_GREATER:
        return a > b;
    case BP_BINARY_GREATER_EQUAL:
        return a >= b;
    case BP_BINARY_LOGICAL_AND:
        return a != 0 && b != 0;
    case BP_BINARY_LOGICAL_OR:
        return a != 0 || b != 0;
    default:
        return (a != 0) != (b != 0);
    }
}

static bool is_opposite(long double rest, long double b) {
    return rest != 0 && (rest < 0) != (b < 0);
}

/* The quotient less the remainder's part is an integer, but for rounding. */
static long double floor_of_quotient(long double a, long double b) {
    const long double rest = fmodl(a, b), even = (a - rest) / b;
    const long double quotient = (fabsl(even) < 0x1p62L ? roundl(even) : even) - is_opposite(rest, b);
    return b == 0 ? a / b : quotient == 0 ? copysignl(0, a / b) : quotient;
}

static long double quotient_or_power(bp_binary_kind kind, long double a, long double b) {
    switch (kind) {
    case BP_BINARY_POW:
        return powl(a, b);
    case BP_BINARY_FMOD:
        return fmodl(a, b);
    case BP_BINARY_REMAINDER: {
        const long double rest = fmodl(a, b);
        return is_opposite(rest, b) ? rest + b : rest;
    }
    case BP_BINARY_FLOOR_DIVIDE:
        return floor_of_quotient(a, b);
    case BP_BINARY_ATAN2:
        return atan2l(a, b);
    default:
        return truth_of_two(kind, a, b);
    }
}

static int64_t power_of_whole(int64_t a, int64_t b) {
    uint64_t power = 1;
    if (b < 0) {
        return a == 1 ? 1 : a == -1 ? (b % 2 ? -1 : 1) : 0;
    }
    for (int bit = 62; bit >= 0; bit--) {
        power *= power;
        power *= b >> bit & 1 ? (uint64_t)a : 1;
    }
    return (int64_t)power;
}

static int64_t shifted(bp_binary_kind kind, bp_dtype dtype, int64_t a, int64_t b) {
    const bool out = b < 0 || b >= (int64_t)(8 * bp_dtype_size(dtype));
    return kind == BP_BINARY_BITWISE_LEFT_SHIFT ? (out ? 0 : (int64_t)((uint64_t)a << b))
           : out                                ? -(int64_t)(a < 0)
                                                : a >> b;
}

/* Of a divisor that is neither 0 nor -1. */
static int64_t quotient_of_wholes(bp_binary_kind kind, int64_t a, int64_t b) {
    const int64_t rest = a % b;
    const bool below = rest != 0 && (rest < 0) != (b < 0);
    return kind == BP_BINARY_FMOD ? rest : kind == BP_BINARY_REMAINDER ? rest + (below ? b : 0) : a / b - below;
}

int64_t reference_binary_whole(bp_binary_kind kind, bp_dtype dtype, int64_t a, int64_t b) {
    switch (kind) {
    case BP_BINARY_ADD:
        return (int64_t)((uint64_t)a + (uint64_t)b);
    case BP_BINARY_SUBTRACT:
        return (int64_t)((uint64_t)a - (uint64_t)b);
    case BP_BINARY_MULTIPLY:
        return (int64_t)((uint64_t)a * (uint64_t)b);
    case BP_BINARY_MAXIMUM:
        return a > b ? a : b;
    case BP_BINARY_MINIMUM:
        return a < b ? a : b;
    case BP_BINARY_POW:
        return power_of_whole(a, b);
    case BP_BINARY_REMAINDER:
    case BP_BINARY_FMOD:
    case BP_BINARY_FLOOR_DIVIDE:
        return b == 0    ? 0
               : b == -1 ? (kind == BP_BINARY_FLOOR_DIVIDE ? (int64_t)(0 - (uint64_t)a) : 0)
                         : quotient_of_wholes(kind, a, b);
    case BP_BINARY_BITWISE_AND:
        return a & b;
    case BP_BINARY_BITWISE_OR:
        return a | b;
    case BP_BINARY_BITWISE_XOR:
        return a ^ b;
    default:
        return shifted(kind, dtype, a, b);
    }
}

long double reference_binary(bp_binary_kind kind, long double a, long double b) {
    switch (kind) {
    case BP_BINARY_ADD:
        return a + b;
    case BP_BINARY_SUBTRACT:
        return a - b;
    case BP_BINARY_MULTIPLY:
        return a * b;
    case BP_BINARY_DIVIDE:
        return a / b;
    case BP_BINARY_MAXIMUM:
    case BP_BINARY_MINIMUM:
        return isnan(a) || isnan(b) ? (long double)NAN : (a > b) == (kind == BP_BINARY_MAXIMUM) ? a : b;
    default:
        return quotient_or_power(kind, a, b);
    }
}

long double reference_unary_error(bp_unary_kind kind, bool f64, long double x) {
    switch (kind) {
    case BP_UNARY_EXP:
    case BP_UNARY_LOG:
    case BP_UNARY_SIN:
    case BP_UNARY_COS:
    case BP_UNARY_LOG10:
        return 1;
    case BP_UNARY_SQRT:
    case BP_UNARY_RECIPROCAL:
    case BP_UNARY_LEAKY_RELU:
    case BP_UNARY_SOFTSHRINK:
        return 0.5L;
    case BP_UNARY_TANH:
    case BP_UNARY_SIGMOID:
    case BP_UNARY_TAN:
    case BP_UNARY_ATAN:
    case BP_UNARY_ASINH:
    case BP_UNARY_ATANH:
    case BP_UNARY_SELU:
    case BP_UNARY_LOGSIGMOID:
    case BP_UNARY_ELU:
        return 3;
    case BP_UNARY_MISH:
    case BP_UNARY_TANHSHRINK:
    case BP_UNARY_SOFTPLUS:
        return 6;
    case BP_UNARY_GELU:
        return f64 ? 12 : 8;
    case BP_UNARY_ERFC:
        return f64 ? 16 : 8;
    case BP_UNARY_GELU_TANH:
        return 4 + 4 * fabsl(tanh_argument(x));
    case BP_UNARY_SILU:
    case BP_UNARY_ASIN:
    case BP_UNARY_ACOS:
    case BP_UNARY_ACOSH:
    case BP_UNARY_CELU: /* of alpha > 0 */
        return 4;
    case BP_UNARY_HARDSWISH:
    case BP_UNARY_RSQRT:
    case BP_UNARY_ERF:
    case BP_UNARY_EXPM1:
    case BP_UNARY_LOG1P:
    case BP_UNARY_LOG2:
    case BP_UNARY_EXP2:
    case BP_UNARY_SINH:
    case BP_UNARY_COSH:
    case BP_UNARY_HARDSIGMOID:
    case BP_UNARY_SOFTSIGN:
        return 2;
    default:
        return 0;
    }
}

/* A distance is at most two units of rounding. One unit of it is the rounding to f32 or f64, the types of computation.
 */
static long double bound_of(long double distances, bp_dtype dtype, long double y) {
    const bool f64 = dtype == BP_F64, rounds = f64 || dtype == BP_F32;
    const long double unit = (long double)reference_unit(f64 ? BP_F64 : BP_F32), least = f64 ? 0x1p-1074L : 0x1p-149L;
    return distances == 0 ? -1 : !isfinite(y) ? 0 : (2 * distances - rounds) * unit * fabsl(y) + distances * least;
}

long double reference_unary_bound(bp_unary_kind kind, bp_dtype dtype, long double x, long double y) {
    return bound_of(reference_unary_error(kind, dtype == BP_F64, x), dtype, y);
}

/* f32 and f64 round sums, products and quotients once; 16-bit types are computed in f32. */
long double reference_binary_bound(bp_binary_kind kind, bp_dtype dtype, long double y) {
    switch (kind) {
    case BP_BINARY_MAXIMUM:
    case BP_BINARY_MINIMUM:
    case BP_BINARY_FMOD:
        return -1;
    case BP_BINARY_POW:
    case BP_BINARY_FLOOR_DIVIDE:
        return bound_of(2, dtype, y);
    case BP_BINARY_ATAN2:
        return bound_of(3, dtype, y);
    default: {
        const bool once = dtype == BP_F32 || dtype == BP_F64 || !isfinite(y);
        return once ? 0 : fabsl(y) * (long double)reference_unit(BP_F32);
    }
    }
}

/* Whether the function has a pole within this distance of x. */
static bool has_pole(bp_unary_kind kind, long double x, long double distance) {
    const long double pi = 3.14159265358979323846264338327950288L;
    return kind == BP_UNARY_RECIPROCAL
               ? distance >= fabsl(x)
               : kind == BP_UNARY_TAN && rintl((x - distance) / pi) != rintl((x + distance) / pi);
}

reference_number reference_activation(bp_unary_kind kind, bp_dtype dtype, reference_number x) {
    if (kind == BP_UNARY_COPY || !isfinite(x.value)) {
        return (reference_number){kind == BP_UNARY_COPY ? x.value : reference_unary(kind, x.value), x.error};
    }
    const long double error = x.error + fabsl(x.value) * (long double)reference_unit(dtype);
    const long double y = reference_unary(kind, x.value), below = reference_unary(kind, x.value - error),
                      above = reference_unary(kind, x.value + error);
    const long double own = fmaxl(0, reference_unary_bound(kind, dtype, x.value, y));
    /* Not finite: the function has no value, or an infinite one, so close that any result may be right. */
    const bool turns = kind == BP_UNARY_SIN || kind == BP_UNARY_COS; /* not monotonic; the slope is at most 1 */
    if (turns) {
        return (reference_number){y, fminl(error, 2) + own};
    }
    const bool pole = has_pole(kind, x.value, error);
    const bool bounded = !pole && isfinite(error) && isfinite(below) && isfinite(above);
    return (reference_number){y, bounded ? fmaxl(fabsl(below - y), fabsl(above - y)) + own : HUGE_VALL};
}
