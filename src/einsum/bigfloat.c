/* bigfloat.c - numbers with an extended exponent, because operation counts of large networks overflow a double. */
#include "einsum/internal.h"

bp__bigfloat bp__bigfloat_of(double value) {
    int exponent;
    double mantissa = frexp(value, &exponent);
    return (bp__bigfloat){mantissa, mantissa == 0 ? 0 : exponent};
}

bp__bigfloat bp__bigfloat_times(bp__bigfloat a, double b) {
    bp__bigfloat product = bp__bigfloat_of(a.mantissa * b);
    product.exponent += product.mantissa == 0 ? 0 : a.exponent;
    return product;
}

bp__bigfloat bp__bigfloat_plus(bp__bigfloat a, bp__bigfloat b) {
    if (a.mantissa == 0 || b.mantissa == 0) {
        return a.mantissa == 0 ? b : a;
    }
    bp__bigfloat large = a.exponent >= b.exponent ? a : b, small = a.exponent >= b.exponent ? b : a;
    int64_t shift = large.exponent - small.exponent;
    bp__bigfloat sum = bp__bigfloat_of(large.mantissa + (shift > 1000 ? 0 : ldexp(small.mantissa, -(int)shift)));
    sum.exponent += large.exponent;
    return sum;
}

bool bp__bigfloat_less(bp__bigfloat a, bp__bigfloat b) {
    if (a.mantissa == 0 || b.mantissa == 0) {
        return a.mantissa < b.mantissa;
    }
    return a.exponent != b.exponent ? a.exponent < b.exponent : a.mantissa < b.mantissa;
}

double bp__bigfloat_double(bp__bigfloat a) {
    return a.exponent > 1024 ? HUGE_VAL : ldexp(a.mantissa, (int)a.exponent);
}

double bp__bigfloat_log10(bp__bigfloat a) {
    return log10(a.mantissa) + (double)a.exponent * log10(2.0);
}
