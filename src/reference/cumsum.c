/* cumsum.c - computes cumulative sums one element at a time, in long double with the errors of the additions. */
#include "reference/cumsum.h"

#include <float.h>
#include <math.h>

/* The elements of a row are added in the order of the call. The sum of an element goes on from that of the element
 * before it, if they are of one row. */
typedef struct adder {
    const bp_cumsum_call *call;
    bp_dtype dtype;        /* of the output */
    int64_t length, inner; /* of a row, and between its elements */
    int64_t elements;
    wide values;
    wholes integers;
    int64_t start, added;        /* the row, and how many of its elements are added */
    long double sum, lost, size; /* what the sum has lost by rounding; of the magnitudes */
    uint64_t whole;
} adder;

static bp_status open_adder(adder *a, const bp_cumsum_call *call) {
    const DLTensor *in = call->input;
    const int axis = call->axis < 0 ? call->axis + in->ndim : call->axis;
    *a = (adder){.call = call,
                 .dtype = bp_dtype_from_dlpack(call->output->dtype),
                 .length = in->ndim > 0 ? in->shape[axis] : 1,
                 .inner = 1,
                 .start = -1};
    for (int d = axis + 1; d < in->ndim; d++) {
        a->inner *= in->shape[d];
    }
    return wholes_can(in) ? wholes_make(&a->integers, in) : wide_make(&a->values, in, false);
}

/* Neumaier's sum: the rounding error of each addition is added up too. */
static void add_real(adder *a, long double x) {
    const long double sum = a->sum + x;
    if (isfinite(sum)) {
        a->lost += fabsl(a->sum) >= fabsl(x) ? (a->sum - sum) + x : (x - sum) + a->sum;
    }
    a->sum = sum;
    a->size += isfinite(x) ? fabsl(x) : 0;
}

/* Adds the elements that are in the sum of an element. */
static void add_up(adder *a, int64_t index) {
    const int64_t start = index / a->inner / a->length * a->length * a->inner + index % a->inner;
    const int64_t place = index / a->inner % a->length;
    const int64_t count = (a->call->reverse ? a->length - 1 - place : place) + !a->call->exclusive;
    if (start != a->start || count < a->added) {
        a->start = start;
        a->added = 0;
        a->sum = a->lost = a->size = 0;
        a->whole = 0;
    }
    for (; a->added < count; a->added++) {
        const int64_t i = a->call->reverse ? a->length - 1 - a->added : a->added, at = start + i * a->inner;
        if (a->integers.data) {
            a->whole += (uint64_t)a->integers.data[at];
        } else {
            add_real(a, (long double)a->values.data[at]);
        }
    }
}

/* The scale has all errors in units of rounding: of the additions, as cumsum.h states it; of the result; of f64 also of
 * the reference, which is rounded to f64. It is infinite if the element has no value. */
static void set_value(adder *a, reference_value *value) {
    const long double n = (long double)a->length, additions = fminl(4 + n / 8, 1028 + n / 4096);
    add_up(a, value->index);
    if (a->integers.data) {
        value->whole = (int64_t)a->whole;
        return;
    }
    const long double sum = isfinite(a->sum) ? a->sum + a->lost : a->sum;
    const long double rounded = isfinite(sum) ? fabsl(sum) * (a->dtype == BP_F64 ? 2 : 1) : 0;
    value->re = (double)sum;
    value->im = 0;
    value->scale = (double)(rounded + additions * 0x1p-53L * a->size / (long double)reference_unit(a->dtype));
    if (a->size >= (long double)DBL_MAX) {
        value->scale = HUGE_VAL;
    }
}

/* Returns the position among `count` values of the one that is computed as number `i`: if they are all elements, row by
 * row, in the order of the additions. */
static int64_t position_of(const adder *a, int64_t count, int64_t i) {
    const int64_t slice = a->length * a->inner, in_slice = i % slice, place = in_slice % a->length;
    if (count != a->elements) {
        return i;
    }
    const int64_t along = a->call->reverse ? a->length - 1 - place : place;
    return i - in_slice + along * a->inner + in_slice / a->length;
}

/* An element is one addition behind the one that was computed before, unless they are not all checked. */
static bp_status begin(reference *made, adder *a) {
    const DLTensor *out = a->call->output;
    a->elements = 1;
    for (int d = 0; d < out->ndim; d++) {
        a->elements *= out->shape[d];
    }
    return reference_begin(made, out, a->elements > REFERENCE_MOST_WORK ? a->length : 1, 16);
}

bp_status reference_cumsum(reference *made, const bp_cumsum_call *call, double *bound) {
    adder a;
    bp_status status = open_adder(&a, call);
    status = status == BP_OK ? begin(made, &a) : status;
    made->measure = wholes_can(call->output) ? REFERENCE_WHOLE : REFERENCE_NUMBERS;
    made->terms = 0;
    const int64_t count = status == BP_OK ? made->count : 0;
    for (int64_t i = 0; i < count; i++) {
        set_value(&a, &made->values[position_of(&a, count, i)]);
    }
    int64_t known = 0;
    for (int64_t i = 0; i < count; i++) {
        made->values[known] = made->values[i];
        known += made->values[i].scale < HUGE_VAL;
    }
    made->count = known;
    *bound = wholes_can(call->output) ? 0 : 1.01 * reference_unit(a.dtype);
    wide_free(&a.values);
    wholes_free(&a.integers);
    return status;
}
