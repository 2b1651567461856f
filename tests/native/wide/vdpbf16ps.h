/* vdpbf16ps.h - computes what VDPBF16PS computes for one lane, as Intel's manual describes it: two fused multiply-adds,
 * the one of the odd elements first, each rounded to nearest even. Denormal inputs count as 0 of their sign, denormal
 * results become 0 of their sign, MXCSR is neither read nor written, and no exception is raised.
 */
#ifndef TESTS_NATIVE_VDPBF16PS_H
#define TESTS_NATIVE_VDPBF16PS_H

#include <math.h>
#include <stdint.h>
#include <string.h>

static inline uint32_t model_bits(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline float model_float(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline int model_is_nan(uint32_t bits) {
    return (bits & 0x7fffffffu) > 0x7f800000u;
}

/* Returns the bits of a float, with a denormal number replaced by 0. */
static inline uint32_t model_flushed(uint32_t bits) {
    return (bits & 0x7f800000u) == 0 ? bits & 0x80000000u : bits;
}

/* Returns a * b + c for bits of floats, where a and b are bf16 numbers. */
static inline uint32_t model_multiply_add(uint32_t a, uint32_t b, uint32_t c) {
    const uint32_t quiet = 0x00400000u, invalid = 0xffc00000u;
    a = model_flushed(a), b = model_flushed(b), c = model_flushed(c);
    if (model_is_nan(a) || model_is_nan(b) || model_is_nan(c)) {
        return (model_is_nan(a) ? a : model_is_nan(b) ? b : c) | quiet;
    }
    /* The product has 16 bits and is exact. The sum is rounded to double first, which does no harm: where it is near
     * the middle of two floats, the smaller operand begins at most 25 bits below the larger one and has at most 24
     * bits. */
    const double term = (double)model_float(a) * (double)model_float(b), sum = term + (double)model_float(c);
    if (isnan(sum)) {
        return invalid; /* infinity times 0, or infinity minus infinity */
    }
    if (sum == 0 || fabs(sum) >= 0x1p-126) {
        return model_bits((float)sum);
    }
    /* From half of the last of 24 bits below on, the sum rounds to the smallest normal number. */
    const uint32_t sign = sum < 0 ? 0x80000000u : 0;
    return fabs(sum) < 0x1p-126 - 0x1p-151 ? sign : sign | 0x00800000u;
}

/* Returns the new value of a lane. `v` and `s` are pairs: the even element in the lower half. */
static inline uint32_t model_vdpbf16ps(uint32_t sum, uint32_t v, uint32_t s) {
    sum = model_multiply_add(v & 0xffff0000u, s & 0xffff0000u, sum);
    return model_multiply_add(v << 16, s << 16, sum);
}

#endif
