/* reference.c - computes reference values of a product in twice float64's precision, and errors against them.
 *
 * Inputs are converted to float64 without loss. Each product is split into its rounded value and its exact error, and
 * the errors of products and additions are summed separately (Dot2 of Ogita, Rump and Oishi). The error is therefore
 * below the error of any float64 library.
 */
#include "reference/reference.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool is_complex(const DLTensor *tensor) {
    return tensor->dtype.code == kDLComplex;
}

static bool is_integer(const DLTensor *tensor) {
    return wholes_can(tensor) && tensor->dtype.bits < 64;
}

/* Converts bool and integers below 64 bits, which bp_tensor_copy() does not convert to floating types. */
static bp_status widen_integers(const DLTensor *from, double *to, int64_t count) {
    wholes all;
    const bp_status status = wholes_make(&all, from);
    for (int64_t i = 0; status == BP_OK && i < count; i++) {
        to[i] = (double)all.data[i];
    }
    wholes_free(&all);
    return status;
}

bp_status wide_make(wide_tensor *made, const DLTensor *tensor, bool conjugate) {
    memset(made, 0, sizeof *made);
    made->parts = is_complex(tensor) ? 2 : 1;
    bp_status status = bp_tensor_new(&made->owner, is_complex(tensor) ? BP_C128 : BP_F64, tensor->ndim, tensor->shape);
    if (status != BP_OK) {
        return status;
    }
    double *data = made->owner->dl_tensor.data;
    made->data = data;
    made->count = reference_count(tensor);
    if (is_integer(tensor)) {
        return widen_integers(tensor, data, made->count);
    }
    status = bp_tensor_copy(&made->owner->dl_tensor, tensor);
    for (int64_t i = 0; status == BP_OK && conjugate && made->parts == 2 && i < made->count; i++) {
        data[2 * i + 1] *= -1;
    }
    return status;
}

void wide_free(wide_tensor *made) {
    if (made->owner) {
        made->owner->deleter(made->owner);
    }
    memset(made, 0, sizeof *made);
}

typedef struct sum {
    double high, low, scale;
} sum;

/* Inline code in both forms of run_dot(). */
#define IN_BOTH static inline __attribute__((always_inline))

IN_BOTH void add_product(sum *s, double x, double y) {
    double product = x * y, rest = fma(x, y, -product);
    double total = s->high + product, part = total - s->high;
    s->low += (s->high - (total - part)) + (product - part) + rest;
    s->high = total;
    s->scale += fabs(product);
}

/* With infinities the errors are NaN, and the plain sum is the IEEE result. */
static double value_of(const sum *s) {
    return isfinite(s->high) ? s->high + s->low : s->high;
}

/* Operands of one result element: offset of the first term and stride, in elements. */
typedef struct dot {
    int64_t a, a_step, b, b_step;
} dot;

IN_BOTH reference_value add_terms(const wide_tensor *a, const wide_tensor *b, dot at, int64_t terms) {
    const double *left = a->data, *right = b->data;
    sum re = {0, 0, 0}, im = {0, 0, 0};
    for (int64_t p = 0; p < terms; p++, at.a += at.a_step, at.b += at.b_step) {
        const double *x = left + at.a * a->parts, *y = right + at.b * b->parts;
        add_product(&re, x[0], y[0]);
        if (a->parts == 2) {
            add_product(&re, -x[1], y[1]);
            add_product(&im, x[0], y[1]);
            add_product(&im, x[1], y[0]);
        }
    }
    return (reference_value){.re = value_of(&re), .im = value_of(&im), .scale = re.scale + im.scale};
}

static reference_value run_dot_anywhere(const wide_tensor *a, const wide_tensor *b, dot at, int64_t terms) {
    return add_terms(a, b, at, terms);
}

#ifdef __x86_64__
/* fma() is one instruction here, and elsewhere a call, which takes several times as long as all else. */
__attribute__((target("fma"))) static reference_value run_dot_fma(const wide_tensor *a, const wide_tensor *b, dot at,
                                                                  int64_t terms) {
    return add_terms(a, b, at, terms);
}
#endif

static reference_value run_dot(const wide_tensor *a, const wide_tensor *b, dot at, int64_t terms) {
#ifdef __x86_64__
    if (__builtin_cpu_supports("fma")) {
        return run_dot_fma(a, b, at, terms);
    }
#endif
    return run_dot_anywhere(a, b, at, terms);
}

/* Locates the operands of one result element by NumPy's broadcasting rules. */
static dot locate(const DLTensor *a, const DLTensor *b, const DLTensor *out, int64_t index) {
    bool rows = a->ndim >= 2, columns = b->ndim >= 2;
    int64_t terms = a->shape[a->ndim - 1], n = columns ? b->shape[b->ndim - 1] : 1;
    int64_t m = rows ? a->shape[a->ndim - 2] : 1;
    dot at = {.a_step = 1, .b_step = n};
    int next = out->ndim - 1;
    if (columns) {
        at.b = index % n;
        index /= n;
        next--;
    }
    if (rows) {
        at.a = index % m * terms;
        index /= m;
        next--;
    }
    int64_t a_size = m * terms, b_size = terms * n;
    for (int da = a->ndim - 3, db = b->ndim - 3; next >= 0; next--, da--, db--) {
        int64_t here = index % out->shape[next];
        index /= out->shape[next];
        if (da >= 0) {
            at.a += a->shape[da] == 1 ? 0 : here * a_size;
            a_size *= a->shape[da];
        }
        if (db >= 0) {
            at.b += b->shape[db] == 1 ? 0 : here * b_size;
            b_size *= b->shape[db];
        }
    }
    return at;
}

int64_t reference_count(const DLTensor *tensor) {
    int64_t count = tensor != NULL;
    for (int d = 0; tensor && d < tensor->ndim; d++) {
        count *= tensor->shape[d];
    }
    return count;
}

/* A golden-ratio sequence covers a large range evenly and has no period that sizes could share. */
int64_t reference_pick(int64_t i, int64_t count, int64_t total) {
    if (count == total) {
        return i;
    }
    double place = (double)i * 0.6180339887498949;
    int64_t index = (int64_t)((place - floor(place)) * (double)total);
    return index < total ? index : total - 1;
}

static void choose_count(reference *made, int64_t least) {
    int64_t most = made->terms > 0 ? REFERENCE_MOST_WORK / made->terms : REFERENCE_MOST_WORK;
    most = most > least ? most : least;
    made->count = made->total < most ? made->total : most;
}

bp_status reference_begin(reference *made, const DLTensor *out, int64_t terms, int64_t least) {
    memset(made, 0, sizeof *made);
    made->total = reference_count(out);
    made->terms = terms;
    choose_count(made, least);
    made->values = calloc((size_t)made->count + 1, sizeof *made->values);
    for (int64_t i = 0; made->values && i < made->count; i++) {
        made->values[i].index = reference_pick(i, made->count, made->total);
    }
    return made->values ? BP_OK : BP_E_NO_MEMORY;
}

bp_status reference_product(reference *made, const DLTensor *a, bool conjugate_a, const DLTensor *b, bool conjugate_b,
                            const DLTensor *out) {
    wide_tensor left = {.parts = 0}, right = {.parts = 0};
    bp_status status = reference_begin(made, out, a->shape[a->ndim - 1], 256);
    status = status == BP_OK ? wide_make(&left, a, conjugate_a) : status;
    status = status == BP_OK ? wide_make(&right, b, conjugate_b) : status;
    for (int64_t i = 0; status == BP_OK && i < made->count; i++) {
        int64_t index = made->values[i].index;
        made->values[i] = run_dot(&left, &right, locate(a, b, out, index), made->terms);
        made->values[i].index = index;
    }
    wide_free(&left);
    wide_free(&right);
    return status;
}

bp_status reference_add(reference *made, bp_scalar alpha, bp_scalar beta, const DLTensor *c) {
    wide_tensor old = {.parts = 0};
    bool reads = beta.re != 0 || beta.im != 0;
    bp_status status = reads ? wide_make(&old, c, false) : BP_OK;
    for (int64_t i = 0; status == BP_OK && i < made->count; i++) {
        reference_value *value = &made->values[i], was = *value;
        const double *element = reads ? old.data + value->index * old.parts : (const double[]){0, 0};
        double imaginary = reads && old.parts == 2 ? element[1] : 0;
        value->re = alpha.re * was.re - alpha.im * was.im + (beta.re * element[0] - beta.im * imaginary);
        value->im = alpha.re * was.im + alpha.im * was.re + (beta.re * imaginary + beta.im * element[0]);
        value->scale =
            hypot(alpha.re, alpha.im) * was.scale + hypot(beta.re, beta.im) * (fabs(element[0]) + fabs(imaginary));
    }
    wide_free(&old);
    return status;
}

void reference_free(reference *made) {
    free(made->values);
    memset(made, 0, sizeof *made);
}

/* Range and precision of each type. */
typedef struct format {
    double largest, smallest, unit, sum_unit;
} format;

static format format_of(bp_dtype dtype) {
    const double single = FLT_EPSILON / 2, twice = DBL_EPSILON / 2;
    switch (dtype) {
    case BP_F16:
        return (format){65504.0, 0x1p-24, 0x1p-11, single};
    case BP_BF16:
        return (format){0x1.fep127, 0x1p-133, 0x1p-8, single};
    case BP_F32:
    case BP_C64:
        return (format){FLT_MAX, 0x1p-149, single, single};
    case BP_I32:
        return (format){DBL_MAX, 0, 0, 0}; /* exact, modulo 2^32 */
    default:
        return (format){DBL_MAX, 0x1p-1074, twice, twice};
    }
}

/* Returns the error of one component; 0 if both values are beyond the range of the type. */
static double difference(double got, double wanted, double largest) {
    bool got_out = !isfinite(got), wanted_out = !isfinite(wanted) || fabs(wanted) > largest;
    if (got_out || wanted_out) {
        return got_out && wanted_out ? 0 : HUGE_VAL;
    }
    return fabs(got - wanted);
}

/* The same, where NaN equals NaN only, and infinity the same infinity or a number next to the largest one, which may be
 * rounded either way. */
static double strict_difference(double got, double wanted, const format *limits) {
    if (isnan(got) || isnan(wanted)) {
        return isnan(got) && isnan(wanted) ? 0 : HUGE_VAL;
    }
    if (isinf(got)) {
        return signbit(got) == signbit(wanted) && fabs(wanted) >= limits->largest * (1 - 32 * limits->unit) ? 0
                                                                                                            : HUGE_VAL;
    }
    return fabs(got - wanted);
}

static bp_status count_different(const reference *made, const DLTensor *result, double *error) {
    wholes got;
    const bp_dtype dtype = bp_dtype_from_dlpack(result->dtype);
    const bp_status status = wholes_make(&got, result);
    *error = 0;
    for (int64_t i = 0; status == BP_OK && i < made->count; i++) {
        const reference_value *value = &made->values[i];
        const uint64_t above = (uint64_t)got.data[value->index] - (uint64_t)wholes_convert(value->whole, dtype);
        *error += above > (uint64_t)value->scale;
    }
    wholes_free(&got);
    return status;
}

/* An infinite scale is a bound that is out of range. */
static double relative_error(double apart, double scale) {
    const double known = isfinite(scale) ? apart / scale : 0;
    return scale > 0 && isfinite(apart) ? known : HUGE_VAL;
}

bp_status reference_error(const reference *made, const DLTensor *result, double *error) {
    if (made->measure == REFERENCE_WHOLE) {
        return count_different(made, result, error);
    }
    wide_tensor got;
    bp_status status = wide_make(&got, result, false);
    format limits = format_of(bp_dtype_from_dlpack(result->dtype));
    const bool strict = made->measure == REFERENCE_NUMBERS;
    *error = 0;
    for (int64_t i = 0; status == BP_OK && i < made->count; i++) {
        const reference_value *value = &made->values[i];
        const double *element = got.data + value->index * got.parts;
        double apart = strict ? strict_difference(element[0], value->re, &limits)
                              : difference(element[0], value->re, limits.largest);
        apart = is_integer(result) ? fabs(remainder(apart, 0x1p32)) : apart;
        if (got.parts == 2) {
            apart = hypot(apart, strict ? strict_difference(element[1], value->im, &limits)
                                        : difference(element[1], value->im, limits.largest));
        }
        /* Allows the absolute error of subnormal results. */
        const bool exact = made->bounded && made->tiny == 0 && value->scale == 0;
        if (apart > (exact ? 0 : made->tiny + (double)(made->terms + 1) * limits.smallest)) {
            *error = fmax(*error, relative_error(apart, value->scale));
        }
    }
    wide_free(&got);
    return status;
}

double reference_bound(const reference *made, bp_dtype dtype) {
    format limits = format_of(dtype);
    if (made->measure == REFERENCE_WHOLE) {
        return 0;
    }
    if (made->bounded) {
        return 1.01 * limits.unit;
    }
    return 4 * ((double)made->terms + 4) * limits.sum_unit + 2 * limits.unit;
}

double reference_unit(bp_dtype dtype) {
    return format_of(dtype).unit;
}

double reference_sum_unit(bp_dtype dtype) {
    return format_of(dtype).sum_unit;
}

reference_number reference_sum_number(reference_sum of, int64_t terms, bp_dtype dtype) {
    const format limits = format_of(dtype == BP_F16 || dtype == BP_BF16 ? BP_F32 : dtype);
    const bool overflows = isfinite(of.value) && !(of.size < (long double)limits.largest);
    const long double rounding = ((long double)terms + 2) * (long double)limits.sum_unit * of.size;
    const long double underflow = (long double)terms * (long double)limits.smallest;
    return (reference_number){of.value, !isfinite(of.value) ? 0 : overflows ? HUGE_VALL : rounding + underflow};
}

reference_number *reference_numbers(int64_t count) {
    return calloc((size_t)count + 1, sizeof(reference_number));
}

bool reference_set(reference_value *value, const reference_number *number, bp_dtype dtype) {
    const format limits = format_of(dtype);
    const long double size = fabsl(number->value), unit = (long double)limits.unit;
    const bool exact = number->error < 0;
    const bool known = isfinite(number->error) || !(isfinite(number->value) || number->error > 0);
    /* Rounding decides whether a number next to the largest one becomes infinite. */
    const bool on_edge = !exact && fabsl(size - (long double)limits.largest) <= number->error + size * unit;
    value->re = (double)number->value;
    value->im = 0;
    /* Below the smallest normal number, the error of rounding is the error of this number. The reference is rounded to
     * f64 itself. */
    const long double normal = (long double)limits.smallest / (2 * unit);
    const long double rounded = fmaxl(size, normal) * (dtype == BP_F64 ? 2 : 1);
    value->scale = (double)(isfinite(size) && !exact ? rounded + number->error / unit : 0);
    return known && !(isfinite(size) && (on_edge || isinf(value->scale)));
}

void reference_take(reference *made, const reference_number *numbers, bp_dtype dtype) {
    int64_t known = 0;
    made->bounded = true;
    for (int64_t i = 0; i < made->count; i++) {
        reference_value value = made->values[i];
        const bool bounded = reference_set(&value, &numbers[value.index], dtype);
        made->values[known] = value;
        known += bounded;
    }
    made->count = known;
}
