/* numbers.h - reads and writes numbers of the four element types of BLAS and LAPACK as double complex. */
#ifndef BP_PROBE_NUMBERS_H
#define BP_PROBE_NUMBERS_H

#include <complex.h>
#include <stdbool.h>
#include <stdint.h>

typedef double complex number;

typedef struct number_type {
    char letter;
    bool is_double;
    bool is_complex;
} number_type;

/* In the order of bp_dtype. */
extern const number_type number_types[4];

static inline number make_number(double re, double im) {
    union {
        double parts[2];
        number whole;
    } pair = {{re, im}};
    return pair.whole;
}

/* Multiplies without the handling of NaN that C prescribes. */
static inline number times(number a, number b) {
    return make_number(creal(a) * creal(b) - cimag(a) * cimag(b), creal(a) * cimag(b) + cimag(a) * creal(b));
}

static inline void put_number(const number_type *type, void *array, int64_t index, number value) {
    int64_t at = type->is_complex ? 2 * index : index;
    if (type->is_double) {
        ((double *)array)[at] = creal(value);
    } else {
        ((float *)array)[at] = (float)creal(value);
    }
    if (type->is_complex && type->is_double) {
        ((double *)array)[at + 1] = cimag(value);
    } else if (type->is_complex) {
        ((float *)array)[at + 1] = (float)cimag(value);
    }
}

static inline number get_number(const number_type *type, const void *array, int64_t index) {
    int64_t at = type->is_complex ? 2 * index : index;
    double re = type->is_double ? ((const double *)array)[at] : (double)((const float *)array)[at];
    double im = !type->is_complex ? 0
                : type->is_double ? ((const double *)array)[at + 1]
                                  : (double)((const float *)array)[at + 1];
    return make_number(re, im);
}

#endif
