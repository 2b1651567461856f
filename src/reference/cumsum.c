/* cumsum.c - computes cumulative sums one element at a time, in long double with the errors of the additions. */
#include "reference/results.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

/* The elements of a row are added in the order of the call. The sum of an element goes on from the sum of the element
 * before it, if they are of one row. */
typedef struct adder {
    const bp_cumsum_call *call;
    bp_dtype dtype;        /* of the output */
    int64_t length, inner; /* of a row, and between its elements */
    int64_t elements;
    reference_number *numbers; /* of all elements, or of all as integers; NULL: they are computed one by one */
    int64_t *integer_numbers;
    wide_tensor values;
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

/* The error is the error of the additions, as cumsum.h states it; of f64 also of the reference, which is rounded to
 * f64. */
static reference_number number_of(adder *a, int64_t index) {
    const long double n = (long double)a->length, additions = fminl(4 + n / 8, 1028 + n / 4096);
    add_up(a, index);
    const long double sum = isfinite(a->sum) ? a->sum + a->lost : a->sum;
    const long double rounded = isfinite(sum) && a->dtype == BP_F64 ? 0x1p-53L * fabsl(sum) : 0;
    const bool overflows = a->size >= (long double)DBL_MAX; /* in some order of the additions */
    return (reference_number){sum, overflows ? (long double)INFINITY : additions * 0x1p-53L * a->size + rounded};
}

static int64_t integer_of(adder *a, int64_t index) {
    add_up(a, index);
    return (int64_t)a->whole;
}

static reference_number number_at(void *user, int64_t index) {
    adder *a = user;
    return a->numbers ? a->numbers[index] : number_of(a, index);
}

static int64_t integer_at(void *user, int64_t index) {
    adder *a = user;
    return a->integer_numbers ? a->integer_numbers[index] : integer_of(a, index);
}

/* Returns the element that is computed as number `i`: row by row, in the order of the additions. */
static int64_t element_of(const adder *a, int64_t i) {
    const int64_t slice = a->length * a->inner, in_slice = i % slice, place = in_slice % a->length;
    const int64_t along = a->call->reverse ? a->length - 1 - place : place;
    return i - in_slice + along * a->inner + in_slice / a->length;
}

/* Computes all elements, each one addition behind the one before it, unless there are too many. */
static bp_status compute_all(adder *a) {
    const bool whole = a->integers.data != NULL;
    if (a->elements > REFERENCE_MOST_WORK || a->elements == 0) {
        return BP_OK;
    }
    if (whole) {
        a->integer_numbers = calloc((size_t)a->elements, sizeof *a->integer_numbers);
    } else {
        a->numbers = reference_numbers(a->elements);
    }
    for (int64_t i = 0; (a->integer_numbers || a->numbers) && i < a->elements; i++) {
        const int64_t index = element_of(a, i);
        if (whole) {
            a->integer_numbers[index] = integer_of(a, index);
        } else {
            a->numbers[index] = number_of(a, index);
        }
    }
    return a->integer_numbers || a->numbers ? BP_OK : BP_E_NO_MEMORY;
}

static bp_status add_result(reference_results *made, adder *a) {
    const DLTensor *out = a->call->output;
    const int64_t work = a->elements > REFERENCE_MOST_WORK ? a->length : 1;
    return wholes_can(out) ? reference_add_wholes(made, "output", out, work, integer_at, a)
                           : reference_add_result(made, "output", out, work, number_at, a);
}

bp_status reference_of_cumsum(reference_results *made, const bp_cumsum_call *call) {
    adder a;
    *made = (reference_results){.count = 0};
    bp_status status = open_adder(&a, call);
    a.elements = reference_count(call->output);
    status = status == BP_OK ? compute_all(&a) : status;
    status = status == BP_OK ? add_result(made, &a) : status;
    free(a.numbers);
    free(a.integer_numbers);
    wide_free(&a.values);
    wholes_free(&a.integers);
    return status;
}
