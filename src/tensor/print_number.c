/* print_number.c - writes single floating numbers as NumPy does: the shortest digits that identify a number in its
 * type, in columns. Digits come from bp__format(), whose decimal point depends on the locale and is replaced. */
#include "tensor/print.h"
#include "base/number.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A number as text, taken apart: "-12" "5" "+03". */
typedef struct digits {
    char text[BP__NUMBER_LENGTH];
    const char *whole, *fraction, *exponent; /* the sign stands before `whole`; `exponent` begins with its sign */
    int whole_length, fraction_length, exponent_length;
} digits;

/* ---- Values ---- */

static double load(bp_dtype dtype, const char *at) {
    uint16_t half;
    float single;
    double value;
    switch (dtype) {
    case BP_F16:
        memcpy(&half, at, sizeof half);
        return (double)bp__f16_to_f32(half);
    case BP_BF16:
        memcpy(&half, at, sizeof half);
        return (double)bp__bf16_to_f32(half);
    case BP_F32:
        memcpy(&single, at, sizeof single);
        return (double)single;
    default:
        memcpy(&value, at, sizeof value);
        return value;
    }
}

static double rounded(bp_dtype dtype, double x) {
    return dtype == BP_F16    ? (double)bp__f16_to_f32(bp__f64_to_f16(x))
           : dtype == BP_BF16 ? (double)bp__bf16_to_f32(bp__f64_to_bf16(x))
           : dtype == BP_F32  ? (double)(float)x
                              : x;
}

/* The number with the fewest decimal digits that is the element after rounding to its type. For f64 the element itself,
 * unless it is subnormal: `precision` cuts its digits before that matters. */
static double shortest_decimal(bp_dtype dtype, double x) {
    char text[64];
    const bool cut = dtype == BP_F64 && fabs(x) >= DBL_MIN;
    for (int more = 0; !cut && isfinite(x) && more < 9; more++) {
        bp__format(text, sizeof text, "%.*e", more, x);
        const double candidate = bp__read_real(text, NULL);
        if (rounded(dtype, candidate) == x) {
            return candidate;
        }
    }
    return x;
}

/* ---- Digits ---- */

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/* Without zeros at the end of the fraction. */
static void take_apart(digits *d, double x, int precision, bool exponent) {
    bp__format(d->text, sizeof d->text, exponent ? "%.*e" : "%.*f", precision, x);
    const char *c = d->text;
    d->whole = c;
    c += *c == '-';
    while (is_digit(*c)) {
        c++;
    }
    d->whole_length = (int)(c - d->whole);
    while (*c && !is_digit(*c) && *c != 'e') { /* the point */
        c++;
    }
    d->fraction = c;
    while (is_digit(*c)) {
        c++;
    }
    d->fraction_length = (int)(c - d->fraction);
    while (d->fraction_length > 0 && d->fraction[d->fraction_length - 1] == '0') {
        d->fraction_length--;
    }
    d->exponent = *c == 'e' ? c + 1 : c;
    d->exponent_length = (int)strlen(d->exponent);
}

/* Without an exponent: of the shortest form, or rounded once if that has more digits than are shown. */
static void take_apart_fixed(digits *d, bp_dtype dtype, double x, double element, int precision) {
    take_apart(d, x, precision, false);
    if (dtype != BP_F64 && bp__read_real(d->text, NULL) != x) {
        take_apart(d, element, precision, false);
    }
}

/* ---- Columns ---- */

void bp__number_begin(bp__number_format *f, int precision, bool sign) {
    *f = (bp__number_format){.precision = precision, .sign = sign};
}

static void raise_to(int *value, int least) {
    *value = least > *value ? least : *value;
}

#define SHORT_FIXED 1e-4 /* numbers below have an exponent ... */
#define WIDE_FIXED 1000  /* ... and all, if they differ by more than this factor */

/* Numbers from here on have an exponent: those with more digits than the type holds. */
static double long_fixed(bp_dtype dtype) {
    return dtype == BP_F64 ? 1e8 : dtype == BP_F32 ? 1e6 : dtype == BP_F16 ? 1e3 : 1e2;
}

void bp__number_measure(bp__number_format *f, bp_dtype dtype, const char *at) {
    const double x = shortest_decimal(dtype, load(dtype, at)), size = fabs(x);
    digits d;
    if (!isfinite(x)) {
        f->nonfinite = true;
        f->negative_infinity |= x < 0;
        return;
    }
    const int plus = f->sign && !signbit(x);
    f->finite = true;
    if (size != 0) {
        f->least = f->largest == 0 || size < f->least ? size : f->least;
        f->largest = size > f->largest ? size : f->largest;
    }
    f->most = long_fixed(dtype);
    if (size < f->most) {
        take_apart_fixed(&d, dtype, x, load(dtype, at), f->precision);
        raise_to(&f->fixed_left, d.whole_length + plus);
        raise_to(&f->fixed_right, d.fraction_length);
    }
    take_apart(&d, x, f->precision, true);
    raise_to(&f->exponent_left, d.whole_length + plus);
    raise_to(&f->exponent_right, d.fraction_length);
    raise_to(&f->exponent_digits, d.exponent_length - 1);
}

void bp__number_end(bp__number_format *f) {
    f->exponent =
        f->largest != 0 && (f->largest >= f->most || f->least < SHORT_FIXED || f->largest / f->least > WIDE_FIXED);
    f->left = f->exponent ? f->exponent_left : f->fixed_left;
    f->right = f->exponent ? f->exponent_right + f->exponent_digits + 2 : f->fixed_right;
    if (f->nonfinite) { /* "nan", "inf" or "-inf" stands right in a column */
        raise_to(&f->left, 3 + (f->sign || f->negative_infinity) - (f->right + 1));
    }
}

static void append(char *word, size_t *used, const char *from, int count) {
    for (int i = 0; i < count && *used + 1 < BP__NUMBER_LENGTH; i++) {
        word[(*used)++] = from[i];
    }
}

static void fill(char *word, size_t *used, char c, int count) {
    for (int i = 0; i < count && *used + 1 < BP__NUMBER_LENGTH; i++) {
        word[(*used)++] = c;
    }
}

void bp__number_write(const bp__number_format *f, bp_dtype dtype, const char *at, char word[BP__NUMBER_LENGTH]) {
    const double x = shortest_decimal(dtype, load(dtype, at));
    if (!isfinite(x)) {
        const char *text = isnan(x) ? (f->sign ? "+nan" : "nan") : x < 0 ? "-inf" : f->sign ? "+inf" : "inf";
        bp__format(word, BP__NUMBER_LENGTH, "%*s", f->left + f->right + 1, text);
        return;
    }
    digits d;
    size_t used = 0;
    if (f->exponent) { /* digits beyond the shortest ones are digits of the number itself, as in NumPy */
        take_apart(&d, load(dtype, at), f->exponent_right, true);
    } else {
        take_apart_fixed(&d, dtype, x, load(dtype, at), f->precision);
    }
    const bool plus = f->sign && !signbit(x);
    fill(word, &used, ' ', f->left - d.whole_length - plus);
    fill(word, &used, '+', plus);
    append(word, &used, d.whole, d.whole_length);
    fill(word, &used, '.', 1);
    append(word, &used, d.fraction, d.fraction_length);
    if (f->exponent) { /* all have as many digits, and exponents of one length */
        fill(word, &used, '0', f->exponent_right - d.fraction_length);
        fill(word, &used, 'e', 1);
        append(word, &used, d.exponent, 1);
        fill(word, &used, '0', f->exponent_digits - (d.exponent_length - 1));
        append(word, &used, d.exponent + 1, d.exponent_length - 1);
    } else {
        fill(word, &used, ' ', f->right - d.fraction_length);
    }
    word[used] = '\0';
}
