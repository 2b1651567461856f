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

/* Returns the sum of two numbers rounded to odd: with it, rounding to float afterwards equals one rounding. */
static inline double model_sum_to_odd(double a, double b) {
    const double sum = a + b, back = sum - a, error = (a - (sum - back)) + (b - back);
    uint64_t bits;
    memcpy(&bits, &sum, sizeof bits);
    if (error != 0 && (bits & 1) == 0) {
        bits += (error > 0) == (sum > 0) ? 1 : (uint64_t)-1;
    }
    double odd;
    memcpy(&odd, &bits, sizeof odd);
    return odd;
}

/* Returns a * b + c for bits of floats, of which a and b are bf16 numbers. */
static inline uint32_t model_multiply_add(uint32_t a, uint32_t b, uint32_t c) {
    const uint32_t quiet = 0x00400000u, invalid = 0xffc00000u;
    a = model_flushed(a), b = model_flushed(b), c = model_flushed(c);
    if (model_is_nan(a) || model_is_nan(b) || model_is_nan(c)) {
        return (model_is_nan(a) ? a : model_is_nan(b) ? b : c) | quiet;
    }
    const double product = (double)model_float(a) * (double)model_float(b), addend = (double)model_float(c);
    const double exact = product + addend;
    if (isnan(exact)) {
        return invalid; /* infinity times 0, or infinity minus infinity */
    }
    if (isinf(exact) || exact == 0) { /* a sum of two doubles is 0 only if it is exact; its sign follows the rounding */
        return model_bits((float)exact);
    }
    const double odd = model_sum_to_odd(product, addend);
    /* Below this number, rounding to 24 bits gives less than the smallest normal number. */
    if (fabs(odd) < 0x1p-126 - 0x1p-151) {
        return odd < 0 ? 0x80000000u : 0;
    }
    return fabs(odd) < 0x1p-126 ? (odd < 0 ? 0x80800000u : 0x00800000u) : model_bits((float)odd);
}

/* Returns the new value of a lane. `v` and `s` are pairs: the even element in the lower half. */
static inline uint32_t model_vdpbf16ps(uint32_t sum, uint32_t v, uint32_t s) {
    sum = model_multiply_add(v & 0xffff0000u, s & 0xffff0000u, sum);
    return model_multiply_add(v << 16, s << 16, sum);
}

#endif
