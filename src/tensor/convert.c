/* convert.c - converts the two 16-bit floating types to and from f32 and f64, correctly rounded.
 *
 * It uses integer operations only, so results do not depend on compiler flags, on the rounding mode of the process, or
 * on a library that has switched on flush-to-zero.
 */
#include "tensor/internal.h"

#include <string.h>

enum { F64_FRACTION = 52, F64_BIAS = 1023, F64_EXPONENT_MAX = 0x7ff };

static float f32_from_bits(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Rounds once, to nearest with ties to even, to a format of `fraction` and `exponent` bits below a sign bit. A carry
 * out of the fraction increments the exponent, so that the largest values round up to infinity. */
static inline uint16_t narrow(double value, int fraction, int exponent) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    int wide_exponent = (int)(bits >> F64_FRACTION) & F64_EXPONENT_MAX;
    uint64_t significand = bits & ((UINT64_C(1) << F64_FRACTION) - 1);
    uint64_t sign = bits >> 63 << (fraction + exponent);
    uint64_t infinity = ((UINT64_C(1) << exponent) - 1) << fraction;

    int drop = F64_FRACTION - fraction;
    if (wide_exponent == F64_EXPONENT_MAX) {
        uint64_t quiet = significand ? (significand >> drop) | UINT64_C(1) << (fraction - 1) : 0;
        return (uint16_t)(sign | infinity | quiet);
    }
    int biased = wide_exponent - F64_BIAS + (1 << (exponent - 1)) - 1;
    if (biased >= (1 << exponent) - 1) {
        return (uint16_t)(sign | infinity);
    }
    if (biased < 1) { /* a denormal of the short format has fewer bits */
        drop += 1 - biased;
        biased = 1;
    }
    if (drop > F64_FRACTION + 1) { /* less than half of the smallest denormal; includes f64's own denormals */
        return (uint16_t)sign;
    }
    significand |= UINT64_C(1) << F64_FRACTION;
    uint64_t kept = significand >> drop;
    uint64_t lost = significand & ((UINT64_C(1) << drop) - 1);
    uint64_t half = UINT64_C(1) << (drop - 1);
    kept += lost > half || (lost == half && (kept & 1));
    return (uint16_t)(sign | (((uint64_t)(biased - 1) << fraction) + kept));
}

uint16_t bp__f64_to_f16(double value) {
    return narrow(value, 10, 5);
}

uint16_t bp__f64_to_bf16(double value) {
    return narrow(value, 7, 8);
}

/* Every f32 is an f64, so conversion through f64 rounds once. */
uint16_t bp__f32_to_f16(float value) {
    return narrow((double)value, 10, 5);
}

uint16_t bp__f32_to_bf16(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    if ((bits & 0x7fffffffu) > 0x7f800000u) {
        return (uint16_t)(bits >> 16 | 0x40u);
    }
    return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

float bp__f16_to_f32(uint16_t half) {
    uint32_t sign = (uint32_t)(half & 0x8000u) << 16;
    uint32_t exponent = half >> 10 & 0x1fu;
    uint32_t fraction = half & 0x3ffu;
    if (exponent == 0x1f) {
        uint32_t quiet = fraction ? 0x400000u : 0;
        return f32_from_bits(sign | 0x7f800000u | quiet | fraction << 13);
    }
    if (exponent == 0) {
        if (fraction == 0) {
            return f32_from_bits(sign);
        }
        uint32_t shift = (uint32_t)__builtin_clz(fraction) - 21; /* shifts the leading one to bit 10 */
        return f32_from_bits(sign | (113 - shift) << 23 | ((fraction << shift & 0x3ffu) << 13));
    }
    return f32_from_bits(sign | (exponent + 112) << 23 | fraction << 13);
}

float bp__bf16_to_f32(uint16_t bits) {
    uint32_t quiet = (bits & 0x7fffu) > 0x7f80u ? 0x400000u : 0;
    return f32_from_bits((uint32_t)bits << 16 | quiet);
}
