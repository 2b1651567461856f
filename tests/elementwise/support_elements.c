/* support_elements.c - tensors with random elements, and numbers of all types by their definitions. */
#include "cases.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const all_settings[] = {"cpu.capability=default", "cpu.capability=avx2", "cpu.capability=avx512",
                                    "num_threads=1",          "num_threads=2",       "num_threads=3",
                                    "num_threads=7"};

/* ---- Numbers ---- */

/* Bits of the significand, and exponents of the least number and of the bound of the greatest one. */
typedef struct format {
    int bits, least, most;
} format;

static format format_of(bp_dtype dtype) {
    return dtype == BP_F16    ? (format){11, -24, 16}
           : dtype == BP_BF16 ? (format){8, -133, 128}
           : dtype == BP_F32  ? (format){24, -149, 128}
                              : (format){53, -1074, 1024};
}

long double spacing(bp_dtype dtype, long double value) {
    const format f = format_of(dtype);
    const int unit = value == 0 || !isfinite(value) ? f.least : ilogbl(value) - f.bits + 1;
    return ldexpl(1, unit < f.least ? f.least : unit);
}

static long double rounded(bp_dtype dtype, long double value) {
    if (value == 0 || !isfinite(value)) {
        return value;
    }
    const long double unit = spacing(dtype, value), result = rintl(value / unit) * unit;
    return fabsl(result) < ldexpl(1, format_of(dtype).most) ? result : copysignl(INFINITY, value);
}

static uint16_t f16_bits(long double value) {
    const uint16_t sign = signbit(value) ? 0x8000 : 0;
    const long double size = fabsl(value);
    if (isnan(value)) {
        return 0x7e00;
    }
    if (isinf(value)) {
        return sign | 0x7c00;
    }
    if (size < 0x1p-14L) {
        return (uint16_t)(sign | (uint16_t)(size * 0x1p24L));
    }
    const int exponent = ilogbl(size);
    return (uint16_t)(sign | (uint16_t)((exponent + 15) << 10) | (uint16_t)(ldexpl(size, 10 - exponent) - 1024));
}

static long double f16_value(uint16_t bits) {
    const int exponent = bits >> 10 & 31, mantissa = bits & 1023;
    const long double size = exponent == 31 ? (mantissa ? (long double)NAN : (long double)INFINITY)
                             : exponent > 0 ? ldexpl(1024 + mantissa, exponent - 25)
                                            : ldexpl(mantissa, -24);
    return bits & 0x8000 ? -size : size;
}

#define INTEGERS(X) X(I8, int8_t) X(U8, uint8_t) X(I16, int16_t) X(I32, int32_t) X(I64, int64_t) X(BOOL, uint8_t)

long double get_number(bp_dtype dtype, const void *from) {
    switch (dtype) {
#define X(name, type)                                                                                                  \
    case BP_##name: {                                                                                                  \
        type value;                                                                                                    \
        memcpy(&value, from, sizeof value);                                                                            \
        return (long double)value;                                                                                     \
    }
        INTEGERS(X)
        X(F32, float)
        X(F64, double)
#undef X
    case BP_F16: {
        uint16_t bits;
        memcpy(&bits, from, sizeof bits);
        return f16_value(bits);
    }
    default: { /* BP_BF16 */
        uint16_t half;
        memcpy(&half, from, sizeof half);
        const uint32_t bits = (uint32_t)half << 16;
        float value;
        memcpy(&value, &bits, sizeof value);
        return (long double)value;
    }
    }
}

void set_number(bp_dtype dtype, void *to, long double value) {
    const long double number = dtype >= BP_F16 && dtype <= BP_F64 ? rounded(dtype, value) : value;
    switch (dtype) {
#define X(name, type)                                                                                                  \
    case BP_##name: {                                                                                                  \
        const type stored = (type)number;                                                                              \
        memcpy(to, &stored, sizeof stored);                                                                            \
        break;                                                                                                         \
    }
        INTEGERS(X)
        X(F32, float)
        X(F64, double)
#undef X
    case BP_F16: {
        const uint16_t bits = f16_bits(number);
        memcpy(to, &bits, sizeof bits);
        break;
    }
    default: { /* BP_BF16 */
        const float single = (float)number;
        uint32_t bits;
        memcpy(&bits, &single, sizeof bits);
        const uint16_t half = (uint16_t)(bits >> 16);
        memcpy(to, &half, sizeof half);
    }
    }
}

/* ---- Functions of one element ---- */

bool undefined_at_minus_infinity(bp_unary_kind kind) {
    return kind == BP_UNARY_GELU || kind == BP_UNARY_GELU_TANH || kind == BP_UNARY_SILU || kind == BP_UNARY_HARDSWISH;
}

long double greatest(bp_dtype dtype) {
    return dtype == BP_F16    ? 65504
           : dtype == BP_BF16 ? 0x1.fep127L
           : dtype == BP_F32  ? 0x1.fffffep127L
                              : 0x1.fffffffffffffp1023L;
}

void set_awkward(bp_dtype dtype, void *to, int64_t index) {
    static const double specials[] = {0.,
                                      -0.,
                                      1.,
                                      -1.,
                                      INFINITY,
                                      -INFINITY,
                                      NAN,
                                      3.,
                                      -3.,
                                      0x1p-149,
                                      -0x1p-1074,
                                      710,
                                      745,
                                      88.,
                                      -87.,
                                      104.,
                                      -104.,
                                      -746,
                                      0x1p-126,
                                      -14.7,
                                      38.8,
                                      0x1p-1022,
                                      0.5,
                                      -2,
                                      89.4,
                                      711,
                                      1e22,
                                      -10.1,
                                      27.2,
                                      -1e-30,
                                      0x1.fffffep-1,
                                      0x1.000002p0,
                                      0x1p23,
                                      -0x1p52,
                                      0x1.fffffep127,
                                      150,
                                      -149,
                                      -1074};
    static const double scales[] = {1, 15, 105, 750};
    if (index < (int64_t)(sizeof specials / sizeof *specials)) {
        set_number(dtype, to, (long double)specials[index]);
    } else if (index % 8 == 1) { /* near 1 and -1 */
        const double near = 1 + test_array_uniform() * ldexp(1, -(int)test_array_between(0, 24));
        set_number(dtype, to, (long double)(index % 16 == 1 ? near : -near));
    } else if (index % 4 == 0) {
        const uint64_t bits =
            (uint64_t)test_array_between(0, (INT64_C(1) << 53) - 1) << 11 ^ (uint64_t)test_array_between(0, 4095);
        const size_t size = bp_dtype_size(dtype);
        memcpy(to, (const char *)&bits + (8 - size), size);
    } else {
        set_number(dtype, to,
                   (long double)(test_array_uniform() * scales[test_array_between(0, dtype == BP_F64 ? 3 : 2)]));
    }
}

/* ---- Tensors ---- */

long double value_at(const test_array *t, int64_t index) {
    return get_number(t->dtype, test_array_at(t, index));
}

static long double random_of(bp_dtype dtype) {
    switch (dtype) {
    case BP_BOOL:
        return (long double)test_array_between(0, 1);
    case BP_U8:
        return (long double)test_array_between(0, 255);
    case BP_I8:
        return (long double)test_array_between(-128, 127);
    case BP_I32:
        return (long double)test_array_between(INT32_MIN, INT32_MAX);
    case BP_I64:
        return (long double)(test_array_between(INT64_MIN / 4, INT64_MAX / 4) /
                             (INT64_C(1) << test_array_between(0, 60)));
    default:
        return test_array_uniform() * ldexpl(1, (int)test_array_between(-6, 6));
    }
}

void begin_tensor(test_array *t, bp_dtype dtype, int ndim, const int64_t *shape, test_layout layout) {
    test_array_make(t, dtype, ndim, shape, layout);
    const bool has_numbers = dtype <= BP_F64 || dtype == BP_BOOL || (dtype >= BP_I8 && dtype <= BP_U8);
    for (int64_t i = 0; i < test_array_count(t) && has_numbers; i++) {
        set_number(dtype, test_array_at(t, i), random_of(dtype));
    }
}

void end_tensor(test_array *t) {
    test_array_check_gaps(t, bp_dtype_name(t->dtype));
    test_array_free(t);
}
