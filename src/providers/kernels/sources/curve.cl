/* curve.cl - defines inverse trigonometric and hyperbolic functions, further exponentials and logarithms, and
 * activations of one element of REAL, with the errors that elementwise.h states. pairs.cl comes before. The formulas are
 * the native provider's. */
#ifdef COMPUTE_F64
#define SINH_TERMS                                                                                                     \
    0.166666666666666667, 0.00833333333333333333, 0.000198412698412698413, 2.7557319223985891e-6,                      \
        2.50521083854417188e-8, 1.60590438368216146e-10, 7.64716373181981648e-13, 2.81145725434552076e-15,             \
        8.2206352466243297e-18
#define SINH_COUNT 9
#define SHRINK_ABOVE                                                                                                   \
    0.333333333333333333, 0.0260869565217391304, 0.000552104899930986887, 4.03585453165926082e-6,                      \
        9.24947562641541943e-9, 3.16221388937279262e-12
#define SHRINK_BELOW                                                                                                   \
    1.0, 0.478260869565217391, 0.0310559006211180124, 0.000610221205186880244, 4.27325773940392286e-6,                 \
        9.49612830978649705e-9, 3.16221388937279262e-12
#define SHRINK_ABOVE_COUNT 6
#define SHRINK_BELOW_COUNT 7
#define EXP2_LOWEST -1080.0
#define EXP2_HIGHEST 1025.0
#define SINH_OVERFLOWS 711.0
#define ERFC_IS_0 27.4
#define LOG10_E_HIGH 0x1.bcb7b1526e50ep-2
#define LOG10_E_LOW 1.09831965021676508e-17
#else
#define SINH_TERMS 0.166666667f, 0.00833333333f, 0.000198412698f, 2.75573192e-06f, 2.50521084e-08f
#define SINH_COUNT 5
#define SHRINK_ABOVE 0.333333333f, 0.0205128205f, 0.0001998002f
#define SHRINK_BELOW 1.0f, 0.461538462f, 0.0233100233f, 0.00020720721f
#define SHRINK_ABOVE_COUNT 3
#define SHRINK_BELOW_COUNT 4
#define EXP2_LOWEST -160.0f
#define EXP2_HIGHEST 129.0f
#define SINH_OVERFLOWS 90.0f
#define ERFC_IS_0 10.3f
#define LOG10_E_HIGH 0x1.bcb7b2p-2f
#define LOG10_E_LOW -1.010305005223e-08f
#endif

POLYNOMIAL(sinh_terms, SINH_COUNT, SINH_TERMS)
POLYNOMIAL(shrink_above, SHRINK_ABOVE_COUNT, SHRINK_ABOVE)
POLYNOMIAL(shrink_below, SHRINK_BELOW_COUNT, SHRINK_BELOW)

/* ---- Inverse trigonometric functions ---- */

static inline REAL atan_of(REAL x) {
    return atan2_of(x, 1);
}

/* sqrt(1 - x^2), without loss of digits near 1. */
static inline REAL other_leg(REAL x) {
    return root(((REAL)1 - x) * ((REAL)1 + x));
}

static inline REAL asin_of(REAL x) {
    return atan2_of(x, other_leg(x));
}

static inline REAL acos_of(REAL x) {
    return atan2_of(other_leg(x), x);
}

/* ---- Hyperbolic functions ---- */

/* e^a / 2 of a size, which may overflow later than e^a. */
static inline REAL exp_halved(REAL a) {
    REAL scale;
    const REAL part = exp_scaled(at_most(SINH_OVERFLOWS, a), 0, &scale);
    return (REAL)0.5 * part * scale;
}

static inline REAL sinh_of(REAL x) {
    const REAL a = magnitude(x), z = x * x, half_power = exp_halved(a);
    const REAL below = (a * z) * sinh_terms(z) + a, above = half_power - divided((REAL)0.25, half_power);
    return with_sign(a < (REAL)1 ? below : above, x);
}

static inline REAL cosh_of(REAL x) {
    const REAL half_power = exp_halved(magnitude(x));
    return half_power + divided((REAL)0.25, half_power);
}

/* log(1 + small), or log(2 large) where the number is so large that its square may overflow. */
static inline REAL log_of_sum(REAL large, REAL small) {
    const bool is_large = large > INTEGRAL;
    const REAL result = log1p_of(is_large ? large : small);
    return is_large ? result + (REAL)0.69314718055994530942 : result;
}

static inline REAL asinh_of(REAL x) {
    const REAL a = magnitude(x), z = a * a;
    return with_sign(log_of_sum(a, a + divided(z, (REAL)1 + root(z + (REAL)1))), x);
}

static inline REAL acosh_of(REAL x) {
    const REAL above = x - (REAL)1, result = log_of_sum(x, above + root(above * (x + (REAL)1)));
    return x < (REAL)1 ? (REAL)NAN : result;
}

static inline REAL atanh_of(REAL x) {
    const REAL a = magnitude(x), twice = a + a, less_a = (REAL)1 - a;
    return with_sign((REAL)0.5 * log1p_of(a < (REAL)0.5 ? twice * divided(a, less_a) + twice : divided(twice, less_a)), x);
}

/* ---- Powers of 2, logarithms to base 10, the complement of the error function ---- */

static inline REAL exp2_of(REAL x) {
    const REAL limited = at_most(EXP2_HIGHEST, at_least(EXP2_LOWEST, x));
    const REAL n = (limited + MAGIC) - MAGIC, half_n = n * (REAL)0.5 + MAGIC;
    const REAL r = (limited - n) * (REAL)0.69314718055994530942, rest = (r * r) * exp_terms(r) + r;
    return ((REAL)1 + rest) * exponent(half_n) * exponent(n - (half_n - MAGIC) + MAGIC);
}

/* A product of twice the digits, so that powers of 10 have whole logarithms. */
static inline REAL log10_of(REAL x) {
    const sum_of_two factor = {LOG10_E_HIGH, LOG10_E_LOW};
    const sum_of_two product = product_of_sums(exact_log(x), factor);
    return log_or_special(x, product.high + product.low);
}

/* Twice the tail of the normal distribution of a sqrt(2). */
static inline REAL erfc_of(REAL x) {
    const REAL a = at_most(ERFC_IS_0, magnitude(x)), g = a * (REAL)1.41421356237309504880;
    const sum_of_two square = exact_product(a, a);
    REAL scale;
    const REAL part = exp_scaled(-square.high, -square.low, &scale);
    const REAL tail = divided(ratio_above(g), ratio_below(g)) * part * (scale + scale);
    return x < 0 ? (REAL)2 - tail : tail;
}

/* ---- Activations ---- */

static inline REAL hardsigmoid_of(REAL x) {
    return divided(at_most((REAL)6, at_least((REAL)0, x + (REAL)3)), (REAL)6);
}

static inline REAL softsign_of(REAL x) {
    return divided(x, (REAL)1 + magnitude(x));
}

static inline REAL logsigmoid_of(REAL x) {
    return (x < 0 ? x : (REAL)0) - log1p_of(exp_of(AS_REAL(AS_BITS(x) | SIGN)));
}

static inline REAL selu_of(REAL x) {
    return x > 0 ? (REAL)1.05070098735548049342 * x : (REAL)1.75809934084737685994 * expm1_of(x);
}

/* x tanh(log(1 + e^x)) is x (1 + 2 v) / (1 + 2 v + 2 v^2) with v = e^-x, and x w (2 + w) / (2 + 2 w + w^2) with w = e^x
 * of negative x. */
static inline REAL mish_of(REAL x) {
    REAL scale;
    const REAL part = exp_scaled(at_least(LOWEST, AS_REAL(AS_BITS(x) | SIGN)), 0, &scale);
    const REAL v = part * scale, sum = v + v * v;
    const REAL positive = x * divided((REAL)1 + (v + v), (REAL)1 + (sum + sum));
    const REAL negative = at_least(LOWEST, x) * part * divided((REAL)2 + v, (REAL)2 + (v + sum)) * scale;
    return x == -(REAL)INFINITY ? (REAL)NAN : x < 0 ? negative : positive;
}

/* x - tanh(x). Up to 2 it is the continued fraction of tanh, cut off, whose terms are positive. */
static inline REAL tanhshrink_of(REAL x) {
    const REAL z = x * x;
    return magnitude(x) < (REAL)2 ? x * divided(z * shrink_above(z), shrink_below(z)) : x - tanh_of(x);
}
