/* wide.c - numbers without an upper end: the operations of a large network are more than a double can count. */
#include "einsum/internal.h"

bp__wide bp__wide_of(double value) {
    int exponent;
    double mantissa = frexp(value, &exponent);
    return (bp__wide){mantissa, mantissa == 0 ? 0 : exponent};
}

bp__wide bp__wide_times(bp__wide a, double b) {
    bp__wide product = bp__wide_of(a.mantissa * b);
    product.exponent += product.mantissa == 0 ? 0 : a.exponent;
    return product;
}

bp__wide bp__wide_plus(bp__wide a, bp__wide b) {
    if (a.mantissa == 0 || b.mantissa == 0) {
        return a.mantissa == 0 ? b : a;
    }
    bp__wide large = a.exponent >= b.exponent ? a : b, small = a.exponent >= b.exponent ? b : a;
    int64_t shift = large.exponent - small.exponent;
    bp__wide sum = bp__wide_of(large.mantissa + (shift > 1000 ? 0 : ldexp(small.mantissa, -(int)shift)));
    sum.exponent += large.exponent;
    return sum;
}

bool bp__wide_less(bp__wide a, bp__wide b) {
    if (a.mantissa == 0 || b.mantissa == 0) {
        return a.mantissa < b.mantissa;
    }
    return a.exponent != b.exponent ? a.exponent < b.exponent : a.mantissa < b.mantissa;
}

double bp__wide_double(bp__wide a) {
    return a.exponent > 1024 ? HUGE_VAL : ldexp(a.mantissa, (int)a.exponent);
}

double bp__wide_log10(bp__wide a) {
    return log10(a.mantissa) + (double)a.exponent * log10(2.0);
}
