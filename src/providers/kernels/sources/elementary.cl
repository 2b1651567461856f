/* elementary.cl - defines further elementary functions of REAL that only functions of single elements need, with the
 * errors that elementwise.h states. math.cl comes before. The formulas are the native provider's. */
#ifdef COMPUTE_F64
#define SIN_TERMS                                                                                                      \
    -0.166666666666666646, 0.00833333333333094729, -0.000198412698367567725, 0.00000275573161016178744,                \
        -2.50511316502351815e-8, 1.59181152632659752e-10
#define SIN_COUNT 6
#define COS_TERMS                                                                                                      \
    0.0416666666666666654, -0.00138888888888873965, 0.0000248015872987645608, -2.75573172711451460e-7,                 \
        2.08761461465586116e-9, -1.13826236474746046e-11
#define COS_COUNT 6
#define ERF_TERMS                                                                                                      \
    0.128379167095512574, -0.376126389031837481, 0.112837916709548787, -0.0268661706450767932, 0.00522397762481801447, \
        -0.000854832698083378991, 0.000120553311116427109, -0.0000149255952668311816, 0.00000164610004841213680,       \
        -1.63503127010546950e-7, 1.46597752740474358e-8, -1.13728488567916736e-9, 5.95717614774891122e-11
#define ERF_COUNT 13
#define QUARTER 0x1.921fb544p0, 0x1.0b4611a6p-34, 0x1.3198a2ep-69, 0x1.b839a252049c1p-104
#define QUARTER_COUNT 4
#define NEAR 1.6e6
#define EXPM1_IS_LESS_1 -40.0
#define ERF_IS_1 6.0
#else
#define SIN_TERMS -0.1666666466f, 0.008332748154f, -0.000195878657f
#define SIN_COUNT 3
#define COS_TERMS 0.04166666466f, -0.001388830292f, 2.454791685e-05f
#define COS_COUNT 3
#define ERF_TERMS                                                                                                      \
    0.1283791658f, -0.3761262667f, 0.1128359472f, -0.02685421201f, 0.005189087423f, -0.0008016864287f, 7.875875063e-05f
#define ERF_COUNT 7
#define QUARTER 0x1.921p0f, 0x1.f6ap-13f, 0x1.11p-26f, 0x1.68cp-39f, 0x1.1a6264p-54f
#define QUARTER_COUNT 5
#define NEAR 3000.0f
#define EXPM1_IS_LESS_1 -20.0f
#define ERF_IS_1 4.0f
#endif

POLYNOMIAL(sin_terms, SIN_COUNT, SIN_TERMS)
POLYNOMIAL(cos_terms, COS_COUNT, COS_TERMS)
POLYNOMIAL(erf_terms, ERF_COUNT, ERF_TERMS)

#define INTEGRAL ((REAL)1 / EPSILON) /* numbers from here on are integers */

static inline REAL with_sign(REAL size, REAL sign) {
    return AS_REAL((AS_BITS(size) & ~SIGN) | (AS_BITS(sign) & SIGN));
}

/* ---- Integers next to a number, and algebraic functions ---- */

static inline REAL round_of(REAL x) {
    const REAL size = magnitude(x), whole = (size + INTEGRAL) - INTEGRAL;
    return size < INTEGRAL ? with_sign(whole, x) : x;
}

static inline REAL floor_of(REAL x) {
    const REAL near = round_of(x);
    return near > x ? near - (REAL)1 : near;
}

static inline REAL ceil_of(REAL x) {
    return negated(floor_of(negated(x)));
}

static inline REAL trunc_of(REAL x) {
    return with_sign(floor_of(magnitude(x)), x);
}

static inline REAL sign_of(REAL x) {
    return x == 0 ? (REAL)0 : x == x ? with_sign((REAL)1, x) : x;
}

static inline REAL reciprocal_of(REAL x) {
    return divided((REAL)1, x);
}

static inline REAL rsqrt_of(REAL x) {
    return divided((REAL)1, root(x));
}

/* ---- Sine and cosine ---- */

/* An angle of n quarter turns, with the low bits of n, and a rest of high + low. */
typedef struct angle {
    BITS quarters;
    REAL high, low;
} angle;

/* Reduces angles from 0 to NEAR. Each difference keeps its exact error (Knuth). */
static inline angle near_angle(REAL a) {
    const REAL part[QUARTER_COUNT] = {QUARTER};
    const REAL shifted = a * (REAL)0.63661977236758134308 + MAGIC, n = shifted - MAGIC;
    REAL high = a, low = 0;
    for (int i = 0; i < QUARTER_COUNT - 1; i++) {
        const REAL less = n * part[i], difference = high - less, taken = difference - high;
        low += (high - (difference - taken)) - (less + taken);
        high = difference;
    }
    low -= n * part[QUARTER_COUNT - 1];
    const REAL sum = high + low;
    return MAKE_STRUCT(angle, AS_BITS(shifted), sum, (high - sum) + low);
}

/* The bits of 2 / pi behind the point, with a word of zeros before them. */
__constant ulong two_over_pi[] = {
    0,
    0xa2f9836e4e441529UL, 0xfc2757d1f534ddc0UL, 0xdb6295993c439041UL, 0xfe5163abdebbc561UL, 0xb7246e3a424dd2e0UL,
    0x06492eea09d1921cUL, 0xfe1deb1cb129a73eUL, 0xe88235f52ebb4484UL, 0xe99c7026b45f7e41UL, 0x3991d639835339f4UL,
    0x9c845f8bbdf9283bUL, 0x1ff897ffde05980fUL, 0xef2f118b5a0a6d1fUL, 0x6d367ecf27cb09b7UL, 0x4f463f669e5fea2dUL,
    0x7527bac7ebe5f17bUL, 0x3d0739f78a5292eaUL, 0x6bfb5fb11f8d5d08UL, 0x56033046fc7b6babUL, 0xf0cfbc209af4361dUL};

/* 64 bits of 2 / pi from this one on. */
static inline ulong bits_from(int first) {
    const int word = first / 64, bit = first % 64;
    return bit ? two_over_pi[word] << bit | two_over_pi[word + 1] >> (64 - bit) : two_over_pi[word];
}

/* Reduces a finite number of at least 1. Its product with 2 / pi is computed with the bits that count: bits before them
 * are whole turns. It keeps 126 bits behind the point, and at least 64 of them are left, because no number is closer to
 * a multiple of pi / 2 than 2^-62 of it. */
static inline angle far_angle(REAL x) {
    const BITS bits = AS_BITS(x), one = (BITS)1 << MANTISSA;
    const ulong m = one | (bits & (one - 1));
    const int first = (int)(bits >> MANTISSA) - BIAS - MANTISSA + 62; /* the bit that is 2 quarter turns */
    const ulong before = bits_from(first), middle = bits_from(first + 64), carried = mul_hi(m, bits_from(first + 128));
    ulong low = m * middle + carried, high = m * before + mul_hi(m, middle) + (low < carried);
    angle result = {(BITS)((high + ((ulong)1 << 61)) >> 62 & 3), 0, 0};
    high = high << 2 | low >> 62; /* the fraction of a quarter turn, in two's complement */
    low <<= 2;
    const bool negative = high >> 63;
    low = negative ? 0 - low : low;
    high = negative ? ~high + (low == 0) : high;
    const int zeros = (int)clz(high);
    high = zeros ? high << zeros | low >> (64 - zeros) : high;
    const ulong size = mul_hi(high, 0xc90fdaa22168c235UL); /* pi / 2 times 2^63 */
    const ulong kept = size >> (63 - MANTISSA) << (63 - MANTISSA);
    const REAL above = (REAL)kept;
    const REAL unit = (negative ? (REAL)-1 : (REAL)1) / (REAL)((ulong)1 << 63) / (REAL)((ulong)1 << zeros);
    result.high = above * unit;
    result.low = (REAL)(size - kept) * unit;
    return result;
}

/* Reduces the size of an angle. Infinity and NaN become NaN. */
static inline angle angle_of(REAL a) {
    if (a < NEAR) {
        return near_angle(a);
    }
    return a < (REAL)INFINITY ? far_angle(a) : MAKE_STRUCT(angle, 0, a - a, 0);
}

/* The sine of an angle with further quarter turns. */
static inline REAL sine(angle of, int further) {
    const REAL r = of.high, z = r * r, half_z = (REAL)0.5 * z, rest = (REAL)1 - half_z;
    const REAL sin_r = r + ((r * z) * sin_terms(z) + of.low);
    const REAL cos_r = rest + ((((REAL)1 - rest) - half_z) + ((z * z) * cos_terms(z) - r * of.low));
    const BITS quarters = of.quarters + (BITS)further;
    return AS_REAL(AS_BITS(quarters & 1 ? cos_r : sin_r) ^ (quarters >> 1 << (sizeof(REAL) * 8 - 1)));
}

static inline REAL sin_of(REAL x) {
    return AS_REAL(AS_BITS(sine(angle_of(magnitude(x)), 0)) ^ (AS_BITS(x) & SIGN));
}

static inline REAL cos_of(REAL x) {
    return sine(angle_of(magnitude(x)), 1);
}

static inline REAL tan_of(REAL x) {
    const angle of = angle_of(magnitude(x));
    return AS_REAL(AS_BITS(divided(sine(of, 0), sine(of, 1))) ^ (AS_BITS(x) & SIGN));
}

/* ---- Error function, exponential and logarithms ---- */

/* Above 1 it is 1 less the tail of the normal distribution. */
static inline REAL erf_of(REAL x) {
    const REAL a = at_most(ERF_IS_1, magnitude(x)), z = a * a, g = a * (REAL)1.41421356237309504880;
    const REAL tail = divided(ratio_above(g), ratio_below(g)) * exp_of(-z);
    return with_sign(a < (REAL)1 ? a * erf_terms(z) + a : (REAL)1 - (tail + tail), x);
}

/* 2^n (e^r - 1) + (2^n - 1), in halves because 2^n may overflow where the result does not; without 2^n if it is 1, so
 * that small numbers keep their bits. */
static inline REAL expm1_of(REAL x) {
    REAL n;
    const REAL rest = reduced(at_most(HIGHEST, at_least(EXPM1_IS_LESS_1, x)), 0, &n);
    const REAL scale = exponent(n - (REAL)1 + MAGIC), scaled = scale * rest + (scale - (REAL)0.5);
    return with_sign(n == 0 ? rest : scaled + scaled, x);
}

/* The logarithm of the rounded sum, and the error of the sum divided by it. */
static inline REAL log1p_of(REAL x) {
    const REAL sum = (REAL)1 + x, part = sum - (REAL)1, error = ((REAL)1 - (sum - part)) + (x - part);
    const REAL result = log_of(sum) + (sum > 0 && sum < (REAL)INFINITY ? divided(error, sum) : (REAL)0);
    return result == 0 ? x : result;
}

/* Exact for powers of 2. */
static inline REAL log2_of(REAL x) {
    const log_parts p = log_split(x);
    return log_or_special(x, (p.f - (p.half_square - p.rest)) * (REAL)1.44269504088896340736 + p.k);
}
