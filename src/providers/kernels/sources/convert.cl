/* convert.cl - has the kernel that converts elements of type X to type Y.
 *
 * Elements are read into a domain, DOMAIN: long for integers and bool, float for f16, bf16 and f32, double for f64. */
#include "common.cl"
#include "elementwise.cl"

/* ---- Reading ---- */

#define READ_INTEGER(name, value)                                                                                      \
    static inline long read_##name(storage_##name x) {                                                                 \
        return (long)(value);                                                                                          \
    }
READ_INTEGER(i8, x)
READ_INTEGER(u8, x)
READ_INTEGER(i32, x)
READ_INTEGER(i64, x)
READ_INTEGER(b8, x != 0)
#define read_f16 widen_f16
#define read_bf16 widen_bf16
#define read_f32 widen_f32
#define read_f64 widen_f64

/* ---- Writing integers ---- */

#if defined(FROM_INTEGER)
#define DOMAIN long

/* The bits that f32 has no room for set the last one, so that f16 and bf16 are rounded once. */
static inline float nearly(long x) {
    const ulong size = (ulong)(x < 0 ? -(ulong)x : (ulong)x);
    const int spare = max(40 - (int)clz(size), 0); /* more than 24 bits */
    const ulong kept = size >> spare << spare;
    const float result = (float)(kept | (kept != size ? (ulong)1 << spare : 0));
    return x < 0 ? -result : result;
}

static inline storage_i8 write_i8(long x) {
    return (storage_i8)x;
}
static inline storage_u8 write_u8(long x) {
    return (storage_u8)x;
}
static inline storage_i32 write_i32(long x) {
    return (storage_i32)x;
}
static inline storage_i64 write_i64(long x) {
    return x;
}
static inline storage_f16 write_f16(long x) {
    return narrow_f16(nearly(x));
}
static inline storage_bf16 write_bf16(long x) {
    return narrow_bf16(nearly(x));
}
static inline storage_f32 write_f32(long x) {
    return convert_float_rte(x);
}
#ifdef HAS_F64
static inline storage_f64 write_f64(long x) {
    return convert_double_rte(x);
}
#endif

/* ---- Writing floating numbers ---- */
#else
#ifdef FROM_F64
#define DOMAIN double
/* As above: 13 bits of mantissa are enough for f16 and bf16. */
static inline float nearly(double x) {
    const ulong rest = ((ulong)1 << 39) - 1, bits = as_ulong(x);
    return (float)as_double((bits & ~rest) | ((bits & rest) != 0 ? rest + 1 : 0));
}
#else
#define DOMAIN float
static inline float nearly(float x) {
    return x;
}
#endif

/* Truncates to an integer; what does not fit becomes the nearest one, NaN becomes 0. No number of the domain that fits
 * is outside of the limits. */
#define TRUNCATED(name, least, most, below, above)                                                                     \
    static inline storage_##name write_##name(DOMAIN x) {                                                              \
        const DOMAIN inside = x != x || x <= (DOMAIN)(below) || x >= (DOMAIN)(above) ? (DOMAIN)0 : x;                  \
        return x != x                 ? (storage_##name)0                                                              \
               : x <= (DOMAIN)(below) ? (storage_##name)(least)                                                        \
               : x >= (DOMAIN)(above) ? (storage_##name)(most)                                                         \
                                      : (storage_##name)inside;                                                        \
    }
TRUNCATED(i8, CHAR_MIN, CHAR_MAX, -129, 128)
TRUNCATED(u8, 0, UCHAR_MAX, -1, 256)
#ifdef FROM_F64
TRUNCATED(i32, INT_MIN, INT_MAX, -2147483649.0, 2147483648.0)
#else
TRUNCATED(i32, INT_MIN, INT_MAX, -2147483648.0f, 2147483648.0f)
#endif
TRUNCATED(i64, LONG_MIN, LONG_MAX, -0x1p63f, 0x1p63f)

static inline storage_f16 write_f16(DOMAIN x) {
    return narrow_f16(nearly(x));
}
static inline storage_bf16 write_bf16(DOMAIN x) {
    return narrow_bf16(nearly(x));
}
static inline storage_f32 write_f32(DOMAIN x) {
    return (float)x;
}
#ifdef HAS_F64
static inline storage_f64 write_f64(DOMAIN x) {
    return (double)x;
}
#endif
#endif

static inline storage_b8 write_b8(DOMAIN x) {
    return x != 0;
}

static inline Y_STORAGE converted(X_STORAGE x) {
    return JOIN(write, Y)(JOIN(read, X)(x));
}
UNARY(convert_all, converted)
