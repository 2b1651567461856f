/* verify.c - compares results of two calls.
 *
 * Numbers agree if they differ by no more than rounding errors explain. A family states how many errors of one
 * operation a result has, relative to its size: for a sum of L random products the square root of L. The bound is
 * sixteen times that, because libraries add in different orders. */
#include "tuning/trial.h"
#include "base/number.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* A floating value as two components. */
typedef struct number {
    double re, im;
} number;

static float from_half(uint16_t bits) {
    const int exponent = bits >> 10 & 31;
    const double fraction = bits & 0x3FF, sign = bits & 0x8000 ? -1 : 1;
    return exponent == 31
               ? (fraction != 0 ? NAN : (float)(sign * (double)INFINITY))
               : (float)(sign * ldexp(exponent ? 1024 + fraction : fraction, (exponent ? exponent : 1) - 25));
}

static float from_bfloat(uint16_t word) {
    const uint32_t bits = (uint32_t)word << 16;
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static number load(const char *at, bp_dtype dtype) {
    double d[2] = {0, 0};
    float f[2] = {0, 0};
    uint16_t word;
    switch (dtype) {
    case BP_F64:
    case BP_C128:
        memcpy(d, at, dtype == BP_F64 ? 8 : 16);
        return (number){d[0], d[1]};
    case BP_F32:
    case BP_C64:
        memcpy(f, at, dtype == BP_F32 ? 4 : 8);
        return (number){(double)f[0], (double)f[1]};
    case BP_F16:
    case BP_BF16:
        memcpy(&word, at, sizeof word);
        return (number){(double)(dtype == BP_F16 ? from_half(word) : from_bfloat(word)), 0};
    default:
        return (number){0, 0};
    }
}

static bool is_integer(bp_dtype dtype) {
    return dtype > BP_C128;
}

static bool equal_components(double x, double y, double bound) {
    return x == y || (isnan(x) && isnan(y)) || fabs(x - y) <= bound;
}

static bool equal(number x, number y, double bound, bp__meaning meaning) {
    switch (meaning) {
    case BP__MEANING_MAGNITUDES:
        return equal_components(hypot(x.re, x.im), hypot(y.re, y.im), bound);
    case BP__MEANING_VALUES:
        return equal_components(x.re, y.re, bound) && equal_components(x.im, y.im, bound);
    case BP__MEANING_WRITTEN:
        break;
    }
    return true;
}

/* ---- Rows: the last dimension, which has the smallest stride ---- */

#define NEAR(type)                                                                                                     \
    static bool near_##type(const void *right, const void *other, int64_t count, double bound) {                       \
        const type *x = right, *y = other, most = (type)bound;                                                         \
        int far = 0;                                                                                                   \
        for (int64_t i = 0; i < count; i++) {                                                                          \
            const type difference = x[i] - y[i];                                                                       \
            far |= !(difference <= most && -difference <= most); /* NaN is far */                                      \
        }                                                                                                              \
        return !far;                                                                                                   \
    }
NEAR(float)
NEAR(double)

/* Returns whether a compact row of numbers is certainly within the bound. */
static bool is_near(bp_dtype dtype, const char *right, const char *other, int64_t count, double bound) {
    switch (dtype) {
    case BP_F32:
    case BP_C64:
        return near_float(right, other, count * (dtype == BP_C64 ? 2 : 1), bound);
    case BP_F64:
    case BP_C128:
        return near_double(right, other, count * (dtype == BP_C128 ? 2 : 1), bound);
    default:
        return false;
    }
}

/* Integers are exact, so that their bits are equal. */
static bool integers_agree(const bp__trial_operand *o, const char *right, const char *other, int64_t count,
                           int64_t stride, char *why, size_t size) {
    const size_t element = bp_dtype_size(o->dtype);
    for (int64_t i = 0; i < count && o->meaning == BP__MEANING_VALUES; i++) {
        const int64_t at = i * stride * (int64_t)element;
        if (memcmp(right + at, other + at, element) != 0) {
            snprintf(why, size, "an integer of its result differs");
            return false;
        }
    }
    return true;
}

static bool row_agrees(const bp__trial_operand *o, const char *right, const char *other, double bound, char *why,
                       size_t size) {
    const int64_t count = o->ndim ? o->shape[o->ndim - 1] : 1, stride = o->ndim ? o->strides[o->ndim - 1] : 1;
    const int64_t element = (int64_t)bp_dtype_size(o->dtype);
    if ((stride == 1 || count == 1) && is_near(o->dtype, right, other, count, bound)) {
        return true;
    }
    if (is_integer(o->dtype)) {
        return integers_agree(o, right, other, count, stride, why, size);
    }
    for (int64_t i = 0; i < count; i++) {
        const number x = load(right + i * stride * element, o->dtype), y = load(other + i * stride * element, o->dtype);
        if ((isnan(y.re) && !isnan(x.re)) || (isnan(y.im) && !isnan(x.im))) {
            snprintf(why, size, "it does not write every element of its result");
            return false;
        }
        if (!equal(x, y, bound, o->meaning)) {
            bp__format(why, size, "it computes %g where %g is right", y.re, x.re);
            return false;
        }
    }
    return true;
}

/* Returns the largest difference that rounding explains. */
static double bound_of(const bp__trial *trial, const bp__trial_operand *o, double most, double rounding) {
    const double stored = o->dtype == BP_F16 ? 0x1p-10 : o->dtype == BP_BF16 ? 0x1p-7 : 0; /* of the result's type */
    return fmax(most, trial->scale) * (16 * rounding * (trial->roundings + 4) + stored);
}

bool bp__trial_agrees(const bp__trial *trial, const bp__trial_result *right, const bp__trial_result *other,
                      double rounding, char *why, size_t size) {
    for (int i = 0; i < trial->count; i++) {
        const bp__trial_operand *o = &trial->operand[i];
        const int64_t element = (int64_t)bp_dtype_size(o->dtype), first = trial->operand[o->same].first;
        const double bound = bound_of(trial, o, right->most[i], rounding);
        bp__walk walk;
        for (bool more = right->memory[i] && bp__walk_begin(&walk, o); more; more = bp__walk_next(&walk, o, 1)) {
            const int64_t at = first + walk.at * element;
            if (!row_agrees(o, right->memory[i] + at, other->memory[i] + at, bound, why, size)) {
                return false;
            }
        }
    }
    return true;
}

/* ---- What a result contains ---- */

typedef struct content {
    double most; /* magnitude of the largest finite component */
    bool nan;
} content;

static void note_component(content *c, double x) {
    const double size = fabs(x);
    c->nan |= isnan(x);
    c->most = size <= DBL_MAX && size > c->most ? size : c->most;
}

/* Finds the largest magnitude by the bits without the sign, which are in the order of the numbers. Returns false if it
 * is not finite. */
#define SCAN(type, bits, largest)                                                                                      \
    static bool scan_##type(const void *row, int64_t count, content *c) {                                              \
        const bits mask = (bits)-1 >> 1, limit = largest;                                                              \
        const char *at = row;                                                                                          \
        bits most = 0;                                                                                                 \
        for (int64_t i = 0; i < count; i++) {                                                                          \
            bits x;                                                                                                    \
            memcpy(&x, at + i * (int64_t)sizeof x, sizeof x);                                                          \
            most = (x & mask) > most ? x & mask : most;                                                                \
        }                                                                                                              \
        if (most <= limit) {                                                                                           \
            type size;                                                                                                 \
            memcpy(&size, &most, sizeof size);                                                                         \
            note_component(c, (double)size);                                                                           \
        }                                                                                                              \
        return most <= limit;                                                                                          \
    }
SCAN(float, uint32_t, UINT32_C(0x7F7FFFFF))
SCAN(double, uint64_t, UINT64_C(0x7FEFFFFFFFFFFFFF))

static bool scan_finite(bp_dtype dtype, const char *row, int64_t count, content *c) {
    switch (dtype) {
    case BP_F32:
    case BP_C64:
        return scan_float(row, count * (dtype == BP_C64 ? 2 : 1), c);
    case BP_F64:
    case BP_C128:
        return scan_double(row, count * (dtype == BP_C128 ? 2 : 1), c);
    default:
        return false;
    }
}

static content content_of(const bp__trial_operand *o, const char *memory) {
    const int64_t count = o->ndim ? o->shape[o->ndim - 1] : 1, stride = o->ndim ? o->strides[o->ndim - 1] : 1;
    const int64_t element = (int64_t)bp_dtype_size(o->dtype);
    content c = {0};
    bp__walk walk;
    for (bool more = bp__walk_begin(&walk, o); more; more = bp__walk_next(&walk, o, 1)) {
        const char *row = memory + walk.at * element;
        if ((stride == 1 || count == 1) && scan_finite(o->dtype, row, count, &c)) {
            continue;
        }
        for (int64_t i = 0; i < count; i++) {
            const number x = load(row + i * stride * element, o->dtype);
            note_component(&c, x.re);
            note_component(&c, x.im);
        }
    }
    return c;
}

/* An unwritten element is NaN in floating types. Integers have no such value, so they are only compared. */
bool bp__trial_measure(const bp__trial *trial, bp__trial_result *result, char *why, size_t size) {
    for (int i = 0; i < trial->count; i++) {
        const bp__trial_operand *o = &trial->operand[i];
        if (!result->memory[i] || is_integer(o->dtype)) {
            continue;
        }
        const content c = content_of(o, result->memory[i] + trial->operand[o->same].first);
        result->most[i] = c.most;
        if (c.nan) {
            snprintf(why, size, "it does not write every element of its result");
            return false;
        }
    }
    return true;
}
