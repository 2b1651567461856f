/* check_elementwise.c - checks the results of functions of single elements, conversions and taking by indices, for
 * compare. Functions are computed in long double; the error is relative to the largest one that elementwise.h states.
 * Integers and elements that are taken must be equal. */
#include "operations.h"
#include "reference/elementwise.h"
#include "reference/walk.h"

#include <float.h>
#include <math.h>

/* An input: integers, or floating numbers. */
typedef struct numbers {
    wholes integers;
    wide_tensor reals;
    bool whole;
} numbers;

static bp_status open_numbers(numbers *of, const DLTensor *tensor) {
    *of = (numbers){.whole = wholes_can(tensor)};
    return of->whole ? wholes_make(&of->integers, tensor) : wide_make(&of->reals, tensor, false);
}

static void close_numbers(numbers *of) {
    wholes_free(&of->integers);
    wide_free(&of->reals);
}

static bp_dtype dtype_of(const DLTensor *tensor) {
    return bp_dtype_from_dlpack(tensor->dtype);
}

/* Sets a floating element. `allowed` is its largest error, in units of 1 / unit of the result's type. */
static void set_real(reference_value *value, long double result, long double allowed) {
    const long double scale = fabsl(result) * allowed;
    value->re = (double)result;
    value->im = 0;
    value->scale = result == 0 ? 0 : scale < (long double)DBL_MAX ? (double)scale : DBL_MAX;
}

/* Chooses the elements that are checked, all if it takes about a second. */
static bp_status begin(cli_check *check, const cli_job *job, bool whole) {
    enum { COST = 8 }; /* of a function, in multiplications */
    const bp_status status = reference_begin(&check->values, &job->results[0].tensor, COST, 64);
    check->values.measure = whole ? REFERENCE_WHOLE : REFERENCE_NUMBERS;
    check->values.terms = 0;
    return status;
}

static bp_status end(cli_check *check, const cli_job *job, bp_status status) {
    if (status != BP_OK) {
        return status;
    }
    const bool whole = check->values.measure == REFERENCE_WHOLE;
    status = check_with_reference(check, job,
                                  whole ? "the number of elements that differ from the reference"
                                        : "the largest |output - reference| / |reference| times the unit of rounding, "
                                          "by the error that elementwise.h states; the reference is long double");
    /* The reference is rounded to float64, which is half a percent of an error in f32. */
    check->bound = whole ? 0 : 1.01 * reference_unit(dtype_of(&job->results[0].tensor));
    return status;
}

/* ---- Functions of one element ---- */

/* Returns the largest error in units of rounding of the type: the distance of neighbours is two at most, another type
 * of the computation adds one, and the reference in float64 one. */
static long double allowed_error(long double distances, bp_dtype dtype) {
    const double unit = reference_unit(dtype), computed = reference_unit(dtype == BP_F64 ? BP_F64 : BP_F32);
    const bool exact = distances == 0 && dtype != BP_F64;
    return exact ? 0 : 2 * distances * (long double)(computed / unit) + (dtype == BP_F32 ? 0 : 1);
}

static int64_t truncated(long double x, bp_dtype dtype) {
    const int bits = (int)(8 * bp_dtype_size(dtype));
    const long double high = dtype == BP_U8 ? 255 : ldexpl(1, bits - 1) - 1, low = dtype == BP_U8 ? 0 : -high - 1;
    return isnan(x) ? 0 : (int64_t)(x > high ? high : x < low ? low : truncl(x));
}

/* A conversion to a type. Complex numbers are only copied. */
static void set_converted(const numbers *in, const DLTensor *out, bool narrower, reference_value *value) {
    const bp_dtype dtype = dtype_of(out);
    const int64_t i = value->index;
    const wide_tensor *from = &in->reals;
    if (in->whole) {
        value->whole = in->integers.data[i];
        set_real(value, (long double)value->whole, 1);
        return;
    }
    if (from->parts == 2) {
        set_real(value, (long double)from->data[2 * i], 0);
        value->im = from->data[2 * i + 1];
        return;
    }
    const long double x = (long double)from->data[i];
    value->whole = dtype == BP_BOOL ? x != 0 : wholes_can(out) ? truncated(x, dtype) : 0;
    set_real(value, x, narrower ? 1 : 0);
}

static void set_one(const numbers *in, int kind, bp_dtype dtype, reference_value *value) {
    if (in->whole) {
        const int64_t x = in->integers.data[value->index];
        const bool changes = kind == BP_UNARY_NEGATIVE || (kind == BP_UNARY_ABS && x < 0);
        value->whole = kind == BP_UNARY_RELU && x < 0 ? 0 : changes ? (int64_t)(0 - (uint64_t)x) : x;
        return;
    }
    const long double x = (long double)in->reals.data[value->index];
    set_real(value, reference_unary((bp_unary_kind)kind, x),
             allowed_error(reference_unary_error((bp_unary_kind)kind, dtype == BP_F64, x), dtype));
}

bp_status check_unary(cli_check *check, const cli_job *job) {
    const DLTensor *input = &job->inputs[0].tensor, *out = &job->results[0].tensor;
    const int kind = job->words.elementwise.kind;
    const bp_dtype dtype = dtype_of(out);
    const bool narrower = reference_unit(dtype) > reference_unit(dtype_of(input));
    numbers in;
    *check = (cli_check){.bound = 0};
    bp_status status = open_numbers(&in, input);
    status = status == BP_OK ? begin(check, job, wholes_can(out)) : status;
    for (int64_t i = 0; status == BP_OK && i < check->values.count; i++) {
        reference_value *value = &check->values.values[i];
        if (kind == BP_UNARY_COPY) {
            set_converted(&in, out, narrower, value);
        } else {
            set_one(&in, kind, dtype, value);
        }
    }
    /* Denormal results: the error in distances, of which gelu_tanh has the most, as |y| is 175 or 1420 there. */
    check->values.terms = kind == BP_UNARY_COPY ? 0 : kind != BP_UNARY_GELU_TANH ? 12 : dtype == BP_F64 ? 5700 : 720;
    close_numbers(&in);
    return end(check, job, status);
}

/* ---- Functions of two elements ---- */

static int64_t whole_of_two(int kind, int64_t a, int64_t b) {
    switch (kind) {
    case BP_BINARY_ADD:
        return (int64_t)((uint64_t)a + (uint64_t)b);
    case BP_BINARY_SUBTRACT:
        return (int64_t)((uint64_t)a - (uint64_t)b);
    case BP_BINARY_MULTIPLY:
        return (int64_t)((uint64_t)a * (uint64_t)b);
    case BP_BINARY_MAXIMUM:
        return a > b ? a : b;
    default:
        return a < b ? a : b;
    }
}

/* Returns a walk over a compact operand that is broadcast to the shape of the output. */
static walk broadcast(const DLTensor *operand, const DLTensor *out) {
    int64_t strides[BP_MAX_NDIM];
    walk w = {.ndim = 0};
    const int missing = out->ndim - operand->ndim;
    walk_compact_strides(operand, strides);
    for (int i = 0; i < out->ndim; i++) {
        const bool own = i >= missing && operand->shape[i - missing] != 1;
        walk_add(&w, out->shape[i], own ? strides[i - missing] : 0);
    }
    return w;
}

bp_status check_binary(cli_check *check, const cli_job *job) {
    const DLTensor *out = &job->results[0].tensor;
    const int kind = job->words.elementwise.kind;
    const bp_dtype dtype = dtype_of(out);
    const bool chooses = kind == BP_BINARY_MAXIMUM || kind == BP_BINARY_MINIMUM;
    const long double allowed = allowed_error(chooses ? 0 : 0.5L, dtype);
    const walk at[] = {broadcast(&job->inputs[0].tensor, out), broadcast(&job->inputs[1].tensor, out)};
    numbers a, b = {.whole = false};
    *check = (cli_check){.bound = 0};
    bp_status status = open_numbers(&a, &job->inputs[0].tensor);
    status = status == BP_OK ? open_numbers(&b, &job->inputs[1].tensor) : status;
    status = status == BP_OK ? begin(check, job, wholes_can(out)) : status;
    for (int64_t i = 0; status == BP_OK && i < check->values.count; i++) {
        reference_value *value = &check->values.values[i];
        const int64_t left = walk_offset(&at[0], value->index), right = walk_offset(&at[1], value->index);
        if (a.whole && b.whole) {
            value->whole = whole_of_two(kind, a.integers.data[left], b.integers.data[right]);
        } else if (!a.whole && !b.whole) {
            const long double x = (long double)a.reals.data[left], y = (long double)b.reals.data[right];
            set_real(value, reference_binary((bp_binary_kind)kind, x, y), allowed);
        }
    }
    close_numbers(&a);
    close_numbers(&b);
    return end(check, job, status);
}

/* ---- Taking by indices ---- */

/* Sizes of the dimensions before, along and behind the axis. */
typedef struct axis_sizes {
    int axis;
    int64_t size, inner;
} axis_sizes;

static axis_sizes sizes_of(const DLTensor *input, int axis) {
    axis_sizes sizes = {.axis = axis < 0 ? axis + input->ndim : axis, .inner = 1};
    sizes.size = input->shape[sizes.axis];
    for (int i = sizes.axis + 1; i < input->ndim; i++) {
        sizes.inner *= input->shape[i];
    }
    return sizes;
}

/* Returns the offset of the element that take() gives to an element of the output; -1 if its index is out of range. */
static int64_t taken_from(const axis_sizes *sizes, const wholes *indices, int64_t count, int64_t index) {
    const int64_t position = indices->data[index / sizes->inner % count];
    const int64_t outer = index / sizes->inner / count;
    return position < 0 || position >= sizes->size
               ? -1
               : (outer * sizes->size + position) * sizes->inner + index % sizes->inner;
}

/* The same of gather(), where `at` walks over the input with the shape of the indices, without the axis. */
static int64_t gathered_from(const axis_sizes *sizes, const wholes *indices, const walk *at, int64_t index) {
    const int64_t position = indices->data[index];
    return position < 0 || position >= sizes->size ? -1 : walk_offset(at, index) + position * sizes->inner;
}

static walk gather_walk(const DLTensor *input, const DLTensor *out, int axis) {
    int64_t strides[BP_MAX_NDIM];
    walk w = {.ndim = 0};
    walk_compact_strides(input, strides);
    for (int i = 0; i < out->ndim; i++) {
        walk_add(&w, out->shape[i], i == axis ? 0 : strides[i]);
    }
    return w;
}

static void set_taken(const numbers *in, int64_t from, reference_value *value) {
    if (in->whole) {
        value->whole = in->integers.data[from];
        return;
    }
    const int parts = in->reals.parts;
    set_real(value, (long double)in->reals.data[parts * from], 0);
    value->im = parts == 2 ? in->reals.data[parts * from + 1] : 0;
}

/* An index out of range is reported by the operation, so its elements have no reference. */
static bp_status check_indexed(cli_check *check, const cli_job *job, bool gathers) {
    const DLTensor *input = &job->inputs[0].tensor, *positions = &job->inputs[1].tensor, *out = &job->results[0].tensor;
    const axis_sizes sizes = sizes_of(input, job->words.elementwise.axis);
    numbers in;
    wholes indices = {.data = NULL};
    *check = (cli_check){.bound = 0};
    if (!wholes_can(positions)) { /* the operation reports it */
        return check_nothing(check);
    }
    bp_status status = open_numbers(&in, input);
    status = status == BP_OK ? wholes_make(&indices, positions) : status;
    status = status == BP_OK ? begin(check, job, wholes_can(out)) : status;
    const walk at = gathers ? gather_walk(input, out, sizes.axis) : (walk){.ndim = 0};
    for (int64_t i = 0; status == BP_OK && i < check->values.count; i++) {
        reference_value *value = &check->values.values[i];
        const int64_t from = gathers ? gathered_from(&sizes, &indices, &at, value->index)
                                     : taken_from(&sizes, &indices, indices.count, value->index);
        if (from >= 0) {
            set_taken(&in, from, value);
        }
    }
    wholes_free(&indices);
    close_numbers(&in);
    return end(check, job, status);
}

bp_status check_take(cli_check *check, const cli_job *job) {
    return check_indexed(check, job, false);
}

bp_status check_gather(cli_check *check, const cli_job *job) {
    return check_indexed(check, job, true);
}
