/* elements.h - reads and writes elements of every type as numbers, for fuzz targets. */
#ifndef BP_FUZZ_ELEMENTS_H
#define BP_FUZZ_ELEMENTS_H

#include "backplane.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

static inline double half_to_double(uint16_t bits) {
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    const double size = exponent == 31 ? (fraction ? NAN : INFINITY)
                        : exponent     ? ldexp(1024 + fraction, exponent - 25)
                                       : ldexp(fraction, -24);
    return bits >> 15 ? -size : size;
}

/* Rounds toward zero. For numbers of the size of normal ones. */
static inline uint16_t half_of(double x) {
    int exponent;
    const double fraction = frexp(fabs(x), &exponent);
    const uint16_t sign = x < 0 ? 0x8000 : 0;
    if (!isfinite(x)) {
        return (uint16_t)(sign | (isnan(x) ? 0x7e00 : 0x7c00));
    }
    return (uint16_t)(exponent < -13 ? sign : sign | (exponent + 14) << 10 | ((int)(fraction * 2048) & 1023));
}

/* The components of a complex type are numbers of this type. */
static inline bp_dtype component_type(bp_dtype dtype) {
    return dtype == BP_C64 ? BP_F32 : dtype == BP_C128 ? BP_F64 : dtype;
}

static inline bool is_complex(bp_dtype dtype) {
    return component_type(dtype) != dtype;
}

static inline bool is_float(bp_dtype dtype) {
    return dtype >= BP_F16 && dtype <= BP_F64;
}

static inline double unit_of(bp_dtype dtype) {
    return dtype == BP_F16 ? 0x1p-11 : dtype == BP_BF16 ? 0x1p-8 : dtype == BP_F32 ? 0x1p-24 : 0x1p-53;
}

/* Returns a real element. */
static inline double value_of(bp_dtype dtype, const char *at) {
    union {
        uint16_t half;
        uint32_t bits;
        float f32;
        double f64;
        int8_t i8;
        uint8_t u8;
        int16_t i16;
        int32_t i32;
        int64_t i64;
        uint64_t u64;
    } x;
    memcpy(&x, at, bp_dtype_size(dtype));
    switch (dtype) {
    case BP_F16:
        return half_to_double(x.half);
    case BP_BF16:
        x.bits = (uint32_t)x.half << 16;
        return (double)x.f32;
    case BP_F32:
        return (double)x.f32;
    case BP_F64:
        return x.f64;
    case BP_I8:
        return x.i8;
    case BP_U8:
    case BP_BOOL:
        return x.u8;
    case BP_I16:
        return x.i16;
    case BP_U16:
        return x.half;
    case BP_I32:
        return x.i32;
    case BP_U32:
        return x.bits;
    case BP_U64:
        return (double)x.u64;
    default:
        return (double)x.i64;
    }
}

/* Writes a real element. */
static inline void set_value(bp_dtype dtype, char *at, double x) {
    const float single = (float)x;
    const int64_t whole = is_float(dtype) ? 0 : (int64_t)x;
    uint32_t bits;
    uint16_t half;
    switch (dtype) {
    case BP_F16:
        half = half_of(x);
        memcpy(at, &half, 2);
        break;
    case BP_BF16:
        memcpy(&bits, &single, 4);
        half = (uint16_t)(bits >> 16);
        memcpy(at, &half, 2);
        break;
    case BP_F32:
        memcpy(at, &single, 4);
        break;
    case BP_F64:
        memcpy(at, &x, 8);
        break;
    default:
        memcpy(at, &whole, bp_dtype_size(dtype)); /* the first bytes, on processors that have the lowest one first */
    }
}

#endif
