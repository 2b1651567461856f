/* common.cl - defines the element types of all kernels, and the conversions between them.
 *
 * A type has a storage (what is in memory) and a number (what is computed with). f16 and bf16 are stored as ushort and
 * computed as float, with integer arithmetic, so that devices without cl_khr_fp16 have them too. With HAS_F64 the device
 * computes in double. */
#include "portable.cl"

#define JOIN_(a, b) a##_##b
#define JOIN(a, b) JOIN_(a, b)

/* ---- Conversions of f16 and bf16 ---- */

static inline float widen_bf16(ushort x) {
    return as_float((uint)x << 16);
}

static inline ushort narrow_bf16(float x) {
    const uint bits = as_uint(x);
    const uint rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16, quiet = bits >> 16 | 0x40u;
    return (ushort)((bits & 0x7fffffffu) > 0x7f800000u ? quiet : rounded);
}

/* Scaling by 2^112 moves the exponent, also the exponent of denormal numbers. */
static inline float widen_f16(ushort x) {
    const uint magnitude = (uint)(x & 0x7fffu) << 13, sign = (uint)(x & 0x8000u) << 16;
    const uint finite = as_uint(as_float(magnitude) * 0x1p112f);
    const uint quiet = magnitude > 0x0f800000u ? 0x400000u : 0u;
    return as_float(sign | (magnitude >= 0x0f800000u ? magnitude | 0x7f800000u | quiet : finite));
}

/* Below 2^-14, the sum with 0.5 has the spacing of denormal numbers of f16. From 65520 on, rounding carries into the
 * exponent of infinity. */
static inline ushort narrow_f16(float x) {
    const uint sign = as_uint(x) >> 16 & 0x8000u, bits = as_uint(x) & 0x7fffffffu;
    const uint tiny = as_uint(as_float(bits) + 0.5f) - 0x3f000000u;
    const uint normal = (bits + 0xfffu + (bits >> 13 & 1u) - (112u << 23)) >> 13;
    const uint nan = 0x7e00u | (bits >> 13 & 0x3ffu);
    const uint finite = bits < 0x38800000u ? tiny : normal;
    return (ushort)(sign | (bits > 0x7f800000u ? nan : bits >= 0x47800000u ? 0x7c00u : finite));
}

/* ---- Types: storage, number, and the conversions ---- */

#define PLAIN_TYPE(name, type)                                                                                         \
    typedef type storage_##name;                                                                                       \
    typedef type number_##name;                                                                                        \
    static inline type widen_##name(type x) {                                                                          \
        return x;                                                                                                      \
    }                                                                                                                  \
    static inline type narrow_##name(type x) {                                                                         \
        return x;                                                                                                      \
    }
typedef ushort storage_f16;
typedef float number_f16;
typedef ushort storage_bf16;
typedef float number_bf16;
typedef signed char storage_i8; /* NVRTC's char has no sign on Arm */
typedef uchar storage_u8;
typedef uchar storage_b8;
typedef int number_b8;
static inline int widen_i8(storage_i8 x) {
    return x;
}
static inline int widen_u8(storage_u8 x) {
    return x;
}
PLAIN_TYPE(f32, float)
PLAIN_TYPE(i32, int)
PLAIN_TYPE(i64, long)
PLAIN_TYPE(c64, float2)
#ifdef HAS_F64
PLAIN_TYPE(f64, double)
PLAIN_TYPE(c128, double2)
#endif

/* ---- Sums of many numbers ----
 *
 * They are f64. On devices without it a sum is a pair of f32: a number and what rounding has left of it; each
 * addition keeps its exact error (Knuth). `precise` is the type of what is computed from sums. */
#ifdef HAS_F64
typedef double precise;
typedef double wide;
#define WIDE_0 0.0
static inline wide plus_number(wide sum, precise x) {
    return sum + x;
}
static inline wide plus_wide(wide a, wide b) {
    return a + b;
}
static inline precise value_of(wide x) {
    return x;
}
#else
typedef float precise;
typedef float2 wide;
#define WIDE_0 MAKE2(float2, 0.0f, 0.0f)
static inline wide plus_wide(wide a, wide b) {
    const float sum = a.x + b.x, part = sum - a.x;
    const float rest = ((a.x - (sum - part)) + (b.x - part)) + (a.y + b.y), high = sum + rest;
    return isfinite(sum) ? MAKE2(float2, high, rest - (high - sum)) : MAKE2(float2, sum, 0.0f);
}
static inline wide plus_number(wide sum, precise x) {
    return plus_wide(sum, MAKE2(float2, x, 0.0f));
}
static inline precise value_of(wide x) {
    return x.x + x.y;
}
#endif

/* ---- Arithmetic: real and complex numbers ---- */

#ifdef COMPLEX
#define ZERO MAKE2(NUMBER, 0, 0)
#define MULTIPLY_ADD(a, b, sum)                                                                                        \
    (MAKE2(NUMBER, fma(-(a).y, (b).y, fma((a).x, (b).x, (sum).x)), fma((a).y, (b).x, fma((a).x, (b).y, (sum).y))))
#define MULTIPLY(a, b) (MAKE2(NUMBER, (a).x * (b).x - (a).y * (b).y, (a).x * (b).y + (a).y * (b).x))
#define CONJUGATED(a, flag) (MAKE2(NUMBER, (a).x, (flag) ? -(a).y : (a).y))
#elif defined(INTEGER)
#define ZERO ((NUMBER)0)
#define MULTIPLY_ADD(a, b, sum) ((a) * (b) + (sum))
#define MULTIPLY(a, b) ((a) * (b))
#define CONJUGATED(a, flag) (a)
#else
#define ZERO ((NUMBER)0)
#define MULTIPLY_ADD(a, b, sum) fma(a, b, sum)
#define MULTIPLY(a, b) ((a) * (b))
#define CONJUGATED(a, flag) (a)
#endif
