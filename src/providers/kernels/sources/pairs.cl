/* pairs.cl - defines powers, remainders, floored quotients and angles of two elements of REAL, with the errors that
 * elementwise.h states. elementary.cl comes before. The formulas are the native provider's; products are fused. */
#ifdef COMPUTE_F64
#define ARTANH_TERMS                                                                                                   \
    1.0 / 5, 1.0 / 7, 1.0 / 9, 1.0 / 11, 1.0 / 13, 1.0 / 15, 1.0 / 17, 1.0 / 19, 1.0 / 21, 1.0 / 23, 1.0 / 25, 1.0 / 27
#define ARTANH_COUNT 12
#define THIRD_LOW 1.85037170770859413e-17
#define ATAN_TERMS                                                                                                     \
    -0.333333333333333315, 0.19999999999995513, -0.142857142846651797, 0.111111110151467143, -0.0909090457366906052,   \
        0.0769218308734202633, -0.066645099898180446, 0.0585813625190614584, -0.0508538348884283106,                   \
        0.0392297445366122238, -0.0191745435720213284
#define ATAN_COUNT 11
#define PI_HIGH 0x1.921fb54442d18p1
#define PI_LOW 1.22464679914735321e-16
#define FINITE 0x1.fffffffffffffp1023
#else
#define ARTANH_TERMS 1.0f / 5, 1.0f / 7, 1.0f / 9, 1.0f / 11, 1.0f / 13
#define ARTANH_COUNT 5
#define THIRD_LOW -9.93410776862e-09f
#define ATAN_TERMS -0.3333333176f, 0.1999954022f, -0.1426394636f, 0.1074363163f, -0.06451597259f
#define ATAN_COUNT 5
#define PI_HIGH 0x1.921fb6p1f
#define PI_LOW -8.74227800037e-08f
#define FINITE 0x1.fffffep127f
#endif

POLYNOMIAL(artanh_terms, ARTANH_COUNT, ARTANH_TERMS)
POLYNOMIAL(atan_terms, ATAN_COUNT, ATAN_TERMS)

/* ---- Remainders ---- */

/* Whether a remainder is not 0 and has another sign than the divisor. */
static inline bool is_opposite(REAL rest, REAL b) {
    return rest != 0 && (rest < 0) != (b < 0);
}

static inline REAL fmod_of(REAL a, REAL b) {
    return with_sign(fmod(magnitude(a), magnitude(b)), a);
}

static inline REAL remainder_of(REAL a, REAL b) {
    const REAL rest = fmod_of(a, b);
    return is_opposite(rest, b) ? rest + b : rest;
}

static inline REAL floor_divided(REAL a, REAL b) {
    const REAL rest = fmod_of(a, b), even = divided(a - rest, b), quotient = is_opposite(rest, b) ? even - 1 : even;
    const REAL below = floor_of(quotient), whole = quotient - below > (REAL)0.5 ? below + 1 : below;
    return b == 0 ? divided(a, b) : quotient == 0 ? with_sign(0, divided(a, b)) : whole;
}

/* ---- Powers ---- */

/* A sum of two numbers, the second one below the last digits of the first. */
typedef struct sum_of_two {
    REAL high, low;
} sum_of_two;

static inline sum_of_two exact_product(REAL a, REAL b) {
    const REAL product = a * b;
    return MAKE_STRUCT(sum_of_two, product, fma(a, b, -product));
}

static inline sum_of_two product_of_sums(sum_of_two a, sum_of_two b) {
    sum_of_two product = exact_product(a.high, b.high);
    product.low += a.high * b.low + a.low * b.high;
    return product;
}

/* The sum of a and b, |a| >= |b|. */
static inline sum_of_two sum_with(REAL a, REAL b, REAL low) {
    const REAL high = a + b;
    return MAKE_STRUCT(sum_of_two, high, ((a - high) + b) + low);
}

/* The logarithm of a positive finite number with twice the digits. */
static inline sum_of_two exact_log(REAL x) {
    const log_parts p = log_split(x);
    const sum_of_two below = sum_with((REAL)2, p.f, 0);
    sum_of_two s = {divided(p.f, below.high), 0};
    const sum_of_two back = exact_product(s.high, below.high);
    s.low = divided(((p.f - back.high) - back.low) - s.high * below.low, below.high);
    const sum_of_two z = product_of_sums(s, s);
    const sum_of_two third = sum_with((REAL)(1.0f) / 3, z.high * artanh_terms(z.high), THIRD_LOW);
    const sum_of_two further = product_of_sums(s, product_of_sums(z, third));
    const sum_of_two half_log = sum_with(s.high, further.high, further.low + s.low);
    const sum_of_two result = sum_with(p.k * LN2_HIGH, half_log.high + half_log.high,
                                       p.k * LN2_LOW + (half_log.low + half_log.low));
    return sum_with(result.high, result.low, 0);
}

/* x^y of a size x; NaN where a factor of y log x is 0 and the other one infinite. */
static inline REAL power_of_size(REAL x, REAL y) {
    const bool regular = x > 0 && x < (REAL)INFINITY;
    const sum_of_two log_x = exact_log(regular ? x : (REAL)1), exponent_of = exact_product(y, log_x.high);
    const REAL high = regular ? exponent_of.high : y * (x == 0 ? -(REAL)INFINITY : x);
    const bool inside = regular && high > LOWEST && high < HIGHEST;
    REAL scale;
    const REAL part = exp_scaled(at_most(HIGHEST, at_least(LOWEST, high)),
                                 inside ? y * log_x.low + exponent_of.low : 0, &scale);
    return part * scale;
}

static inline REAL pow_of(REAL x, REAL y) {
    const REAL size = magnitude(x), half_y = y * (REAL)0.5, power = power_of_size(size, y);
    const bool whole = trunc_of(y) == y, odd = whole && trunc_of(half_y) != half_y;
    if (y == 0 || x == 1 || (size == 1 && magnitude(y) == (REAL)INFINITY)) {
        return 1;
    }
    if (x != x || y != y) {
        return x + y;
    }
    return x < 0 && x > -(REAL)INFINITY && !whole ? (REAL)NAN : odd ? with_sign(power, x) : power;
}

/* ---- Angles ---- */

/* The angle of a quotient from 0 to 1. Numbers whose sum may be infinite are divided by 4 before. */
static inline REAL octant(REAL least, REAL most) {
    const REAL scale = most > FINITE / 4 ? (REAL)0.25 : (REAL)1, n = least * scale, d = most * scale;
    const bool same = least == most, upper = same ? most > 0 : n > d * (REAL)0.41421356237309504880;
    const REAL t = same ? (REAL)0 : divided(upper ? n - d : n, upper ? n + d : d), z = t * t;
    const REAL angle_of_t = (t * z) * atan_terms(z) + t;
    return upper ? PI_HIGH / 4 + (angle_of_t + PI_LOW / 4) : angle_of_t;
}

static inline REAL atan2_of(REAL y, REAL x) {
    const REAL a = magnitude(y), b = magnitude(x);
    REAL result = octant(a > b ? b : a, a > b ? a : b);
    result = a > b ? PI_HIGH / 2 - (result - PI_LOW / 2) : result;
    result = (AS_BITS(x) & SIGN) != 0 ? PI_HIGH - (result - PI_LOW) : result;
    return x != x || y != y ? x + y : with_sign(result, y);
}
