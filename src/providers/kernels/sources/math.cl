/* math.cl - defines the elementary functions of one floating type, REAL, with the errors that elementwise.h states.
 *
 * The functions of OpenCL may have larger errors, so only additions, multiplications, and correctly rounded divisions
 * and roots are used. The formulas are the native provider's. None has branches. COMPUTE_F64 selects the type. */
#ifdef COMPUTE_F64
#define REAL double
#define BITS ulong
#define SIGNED long
#define AS_REAL as_double
#define AS_BITS as_ulong
#define MANTISSA 52
#define BIAS 1023
#define SPLIT 27
#define LEAST_EXPONENT -1022.0
#define LEAST_NORMAL 0x1p-1022
#define LOWEST -760.0
#define HIGHEST 710.0
#define TANH_IS_1 20.0
#define FARTHEST 38.8
#define LN2_HIGH 0x1.62e42fefa2p-1
#define LN2_LOW 7.3710025651677989e-13
#define EXP_TERMS                                                                                                      \
    0.5, 0.16666666666666671, 0.0416666666666666698, 0.00833333333332611986, 0.00138888888888837374,                   \
        0.000198412698748739751, 0.0000248015873255858389, 2.75572553325544091e-6, 2.75572735947994132e-7,             \
        2.51052451539013699e-8, 2.09147070696123534e-9
#define EXP_COUNT 11
#define LOG_TERMS                                                                                                      \
    0.666666666666666973, 0.399999999998981919, 0.285714286265702036, 0.222222110378165877, 0.181828961834830866,      \
        0.153314872358657332, 0.146193434535126152
#define LOG_COUNT 7
#define RATIO_ABOVE                                                                                                    \
    0.5, 0.826674971546424504, 0.677644508324805228, 0.355819032446079811, 0.131293063000280924,                       \
        0.0354098595968836321, 0.0070595225458703631, 0.00102855148422665746, 0.000105205884723313713,                 \
        6.86952809275831266e-6, 2.20095561683599301e-7
#define RATIO_BELOW                                                                                                    \
    1.0, 2.45123450389571453, 2.81109118221526598, 1.99490858651065144, 0.975681351470679372, 0.346276588043048538,    \
        0.0913031131031098217, 0.017958207458974415, 0.00259541558584766633, 0.000264263743059617608,                  \
        0.0000172193533507127068, 5.51697758036759496e-7
#define RATIO_ABOVE_COUNT 11
#define RATIO_BELOW_COUNT 12
#else
#define REAL float
#define BITS uint
#define SIGNED int
#define AS_REAL as_float
#define AS_BITS as_uint
#define MANTISSA 23
#define BIAS 127
#define SPLIT 12
#define LEAST_EXPONENT -126.0f
#define LEAST_NORMAL 0x1p-126f
#define LOWEST -120.0f
#define HIGHEST 89.0f
#define TANH_IS_1 10.0f
#define FARTHEST 14.7f
#define LN2_HIGH 0x1.62ep-1f
#define LN2_LOW 3.19461849453e-5f
#define EXP_TERMS 0.5000000013f, 0.1666666668f, 0.04166646471f, 0.008333310902f, 0.001393367373f, 0.0001989101718f
#define EXP_COUNT 6
#define LOG_TERMS 0.6666666655f, 0.4000012263f, 0.2855073084f, 0.233329128f
#define LOG_COUNT 4
#define RATIO_ABOVE 0.5f, 0.5067855751f, 0.2498857267f, 0.07101152888f, 0.0115744764f, 0.0008820736199f
#define RATIO_BELOW 1.0f, 1.811455704f, 1.445104102f, 0.6552823038f, 0.1802162388f, 0.02901271895f, 0.002211033519f
#define RATIO_ABOVE_COUNT 6
#define RATIO_BELOW_COUNT 7
#endif

#define EPSILON ((REAL)1 / (REAL)((BITS)1 << MANTISSA))
#define MAGIC ((REAL)1.5 / EPSILON) /* adding it rounds to an integer, which is in the low bits of the sum */
#define SIGN ((BITS)1 << (sizeof(REAL) * 8 - 1))

/* ---- Division and square root ----
 *
 * f32 is exact if the device says that it is (EXACT_DIVIDE), or if it has f64: a quotient and a root of f32 numbers can
 * be rounded twice. Otherwise a step of Newton's method leaves an error slightly above 0.5 ulp, except of denormal
 * numbers. f64 is exact on every device. */
#if defined(COMPUTE_F64) || defined(EXACT_DIVIDE)
static inline REAL divided(REAL a, REAL b) {
    return a / b;
}
static inline REAL root(REAL x) {
    return sqrt(x);
}
#elif defined(HAS_F64)
static inline REAL divided(REAL a, REAL b) {
    return (float)((double)a / (double)b);
}
static inline REAL root(REAL x) {
    return (float)sqrt((double)x);
}
#else
static inline REAL divided(REAL a, REAL b) {
    const REAL quotient = a / b, better = fma(fma(-quotient, b, a), 1.0f / b, quotient);
    return isfinite(better) && better != 0.0f ? better : quotient;
}
static inline REAL root(REAL x) {
    const REAL one = sqrt(x), better = fma(fma(-one, one, x), 0.5f / one, one);
    return isfinite(better) && one != 0.0f ? better : one;
}
#endif

/* ---- Steps ---- */

/* term[0] + term[1] x + ... */
#define POLYNOMIAL(name, count, terms)                                                                                 \
    static inline REAL name(REAL x) {                                                                                  \
        const REAL term[count] = {terms};                                                                              \
        REAL sum = term[count - 1];                                                                                    \
        for (int i = count - 2; i >= 0; i--) {                                                                         \
            sum = sum * x + term[i];                                                                                   \
        }                                                                                                              \
        return sum;                                                                                                    \
    }
POLYNOMIAL(exp_terms, EXP_COUNT, EXP_TERMS)
POLYNOMIAL(log_terms, LOG_COUNT, LOG_TERMS)
POLYNOMIAL(ratio_above, RATIO_ABOVE_COUNT, RATIO_ABOVE)
POLYNOMIAL(ratio_below, RATIO_BELOW_COUNT, RATIO_BELOW)

static inline REAL negated(REAL x) {
    return AS_REAL(AS_BITS(x) ^ SIGN);
}

static inline REAL magnitude(REAL x) {
    return AS_REAL(AS_BITS(x) & ~SIGN);
}

/* The greater one; x if it is NaN. */
static inline REAL at_least(REAL least, REAL x) {
    return x < least ? least : x;
}

static inline REAL at_most(REAL most, REAL x) {
    return x > most ? most : x;
}

/* 2 to a power x, given as x + MAGIC. */
static inline REAL exponent(REAL shifted) {
    return AS_REAL((AS_BITS(shifted) + BIAS) << MANTISSA);
}

/* Splits x + low, with a low that rounding x would remove, into n ln 2 + r. Returns e^r - 1 and sets *n. */
static inline REAL reduced(REAL x, REAL low, REAL *n) {
    *n = (x * (REAL)1.44269504088896340736 + MAGIC) - MAGIC;
    const REAL r = ((x - *n * LN2_HIGH) - *n * LN2_LOW) + low;
    return (r * r) * exp_terms(r) + r;
}

/* e to the power of x + low, with x from LOWEST to HIGHEST: the product of the result and *scale, which need not be a
 * normal number. Multiply by the scale last, so that only this step rounds to a denormal number. */
static inline REAL exp_scaled(REAL x, REAL low, REAL *scale) {
    REAL n;
    const REAL rest = reduced(x, low, &n), half_n = n * (REAL)0.5 + MAGIC;
    *scale = exponent(n - (half_n - MAGIC) + MAGIC);
    return ((REAL)1 + rest) * exponent(half_n);
}

/* ---- Functions ---- */

static inline REAL exp_of(REAL x) {
    REAL scale;
    const REAL result = exp_scaled(at_most(HIGHEST, at_least(LOWEST, x)), 0, &scale);
    return result * scale;
}

/* A positive finite x as 2^k (1 + f), 1 + f from sqrt(0.5) to sqrt(2). With s = f / (2 + f), log(1 + f) is
 * 2 artanh(s) = f - (half_square - rest), half_square = f^2 / 2. */
typedef struct log_parts {
    REAL k, f, half_square, rest;
} log_parts;

static inline log_parts log_split(REAL x) {
    const bool denormal = x < LEAST_NORMAL;
    const BITS bits = AS_BITS(denormal ? x * ((REAL)1 / EPSILON) : x);
    const BITS biased = (bits - AS_BITS((REAL)0.70710678118654752440) + ((BITS)BIAS << MANTISSA)) >> MANTISSA;
    const REAL k = AS_REAL(biased | AS_BITS((REAL)1 / EPSILON)) - (REAL)1 / EPSILON -
                   (denormal ? (REAL)(BIAS + MANTISSA) : (REAL)BIAS);
    const REAL f = AS_REAL(bits - ((biased - BIAS) << MANTISSA)) - (REAL)1;
    const REAL s = divided(f, (REAL)2 + f), z = s * s, square = (REAL)0.5 * f * f;
    return MAKE_STRUCT(log_parts, k, f, square, s * (z * log_terms(z) + square));
}

/* The result of a logarithm whose argument x may be 0, negative, infinite or NaN. */
static inline REAL log_or_special(REAL x, REAL result) {
    const REAL special = x == 0 ? -(REAL)INFINITY : (REAL)NAN;
    return x > 0 ? (x == (REAL)INFINITY ? x : result) : special;
}

static inline REAL log_of(REAL x) {
    const log_parts p = log_split(x);
    return log_or_special(x, p.k * LN2_HIGH + (p.f - (p.half_square - (p.rest + p.k * LN2_LOW))));
}

/* (e^2a - 1) / (e^2a + 1) of a = |x|, with the sign of x. */
static inline REAL tanh_of(REAL x) {
    REAL n;
    const REAL a = at_most(TANH_IS_1, magnitude(x));
    const REAL rest = reduced(a + a, 0, &n), scale = exponent(n + MAGIC);
    const REAL less_1 = scale * rest + (scale - (REAL)1);
    return AS_REAL(AS_BITS(divided(less_1, less_1 + (REAL)2)) | (AS_BITS(x) & SIGN));
}

static inline REAL sigmoid_of(REAL x) {
    const REAL z = exp_of(AS_REAL(AS_BITS(x) | SIGN));
    return divided(x < 0 ? z : (REAL)1, (REAL)1 + z);
}

/* x / (1 + e^-y), of numbers with the same sign; the argument y is taken as exact. */
static inline REAL silu_with(REAL x, REAL y) {
    REAL scale;
    const REAL part = exp_scaled(at_least(LOWEST, AS_REAL(AS_BITS(y) | SIGN)), 0, &scale);
    const REAL below = (REAL)1 + part * scale;
    const bool negative = y < 0;
    const REAL quotient = divided(negative ? at_least(LOWEST, x) * part : x, below);
    return x == -(REAL)INFINITY ? (REAL)NAN : negative ? quotient * scale : quotient;
}

static inline REAL silu_of(REAL x) {
    return silu_with(x, x);
}

/* (1 + tanh(y / 2)) / 2 is 1 / (1 + e^-y). */
static inline REAL gelu_tanh_of(REAL x) {
    return silu_with(x, x * ((x * x) * (REAL)0.071354816272600248776 + (REAL)1.5957691216057307118));
}

/* The distribution function of -a is a quotient of polynomials times exp(-a^2 / 2); the square is computed without
 * rounding (Dekker, 1971). */
static inline REAL gelu_of(REAL x) {
    REAL scale;
    const REAL a = at_most(FARTHEST, magnitude(x));
    const REAL high = AS_REAL(AS_BITS(a) >> SPLIT << SPLIT), low = a - high, square = a * a;
    const REAL rest = ((high * high - square) + (high + high) * low) + low * low;
    const REAL part = exp_scaled(square * (REAL)-0.5, rest * (REAL)-0.5, &scale);
    const REAL tail = divided(ratio_above(a), ratio_below(a)) * part;
    const REAL result = x < 0 ? -a * tail * scale : x * ((REAL)1 - tail * scale);
    return x == -(REAL)INFINITY ? (REAL)NAN : result;
}

static inline REAL hardswish_of(REAL x) {
    return x * divided(at_most((REAL)6, at_least((REAL)0, x + (REAL)3)), (REAL)6);
}
