/* convert_reduce.c - adds reductions and cumulative sums. */
#include "onnx/read.h"

#include <math.h>
#include <string.h>

/* The axes of a reduction. */
typedef struct reduced {
    int count, axes[BP_MAX_NDIM];
    bool keep, none;  /* none: nothing is reduced */
    int64_t elements; /* that are joined to one */
} reduced;

static bp_status read_reduced(bp__onnx *r, const bp__onnx_row *row, reduced *of) {
    int count = 0;
    bool none = false;
    int64_t *numbers = NULL;
    const int64_t *given = NULL;
    const bp__onnx_value *x = r->inputs[0];
    BP__TRY(bp__onnx_attribute_flag(r, "keepdims", true, &of->keep));
    if (row->most == 1) {
        BP__TRY(bp__onnx_attribute_ints(r, "axes", -1, &count, &given));
    } else {
        BP__TRY(bp__onnx_attribute_flag(r, "noop_with_empty_axes", false, &none));
        if (bp__onnx_input(r, 1)) {
            BP__TRY(bp__onnx_numbers(r, 1, "axes", &count, &numbers));
            given = numbers;
        }
    }
    if (count > x->ndim) {
        return bp__fail(BP_E_FORMAT, "there are %d axes, of %d dimensions", count, x->ndim);
    }
    of->none = count == 0 && none;
    of->count = count > 0 ? count : x->ndim;
    of->elements = 1;
    for (int i = 0; i < of->count; i++) {
        BP__TRY(bp__onnx_axis(count > 0 ? given[i] : i, x->ndim, &of->axes[i]));
        of->elements *= x->shape[of->axes[i]];
    }
    return BP_OK;
}

/* Adds a function of single elements by a name of the table: "", "square", or a kind of unary. */
static bp_status apply(bp__onnx *r, const char *name, bp__onnx_value *x, bp__onnx_value **result) {
    *result = x;
    return *name == 0                    ? BP_OK
           : strcmp(name, "square") == 0 ? bp__onnx_binary(r, "multiply", x, x, result)
                                         : bp__onnx_unary(r, name, x, result);
}

static bp_status reduce_to(bp__onnx *r, const char *kind, bp__onnx_value *x, const reduced *of,
                           bp__onnx_value **result) {
    return bp__onnx_reduce(r, kind, x, of->count, of->axes, of->keep, result);
}

/* The greatest element is subtracted first, so that no exponential overflows; an infinite one is not. */
static bp_status log_sum_exp(bp__onnx *r, bp__onnx_value *x, const reduced *of, bp__onnx_value **result) {
    bp__onnx_value *most, *finite, *zero, *sum;
    reduced with = *of;
    with.keep = true;
    BP__TRY(bp__onnx_scalar(r, 0, x->dtype, &zero));
    BP__TRY(reduce_to(r, "max", x, &with, &most));
    BP__TRY(bp__onnx_unary(r, "isfinite", most, &finite));
    BP__TRY(bp__onnx_where(r, finite, most, zero, &most));
    BP__TRY(bp__onnx_binary(r, "subtract", x, most, &sum));
    BP__TRY(bp__onnx_unary(r, "exp", sum, &sum));
    BP__TRY(reduce_to(r, "sum", sum, of, &sum));
    BP__TRY(bp__onnx_unary(r, "log", sum, &sum));
    BP__TRY(bp__onnx_reshape(r, most, sum->ndim, sum->shape, &most));
    return bp__onnx_binary(r, "add", sum, most, result);
}

/* What maxima and minima of no elements are. */
static bp_status reduce_nothing(bp__onnx *r, const char *kind, bp__onnx_value *x, const reduced *of,
                                bp__onnx_value **result) {
    bp__onnx_value *like, *number;
    if (!bp__onnx_is_float(x->dtype)) {
        return bp__fail(BP_E_UNSUPPORTED, "it reduces no elements, of type %s", bp_dtype_name(x->dtype));
    }
    BP__TRY(reduce_to(r, "sum", x, of, &like));
    BP__TRY(bp__onnx_scalar(r, strcmp(kind, "max") == 0 ? -HUGE_VAL : HUGE_VAL, x->dtype, &number));
    return bp__onnx_expand(r, number, like->ndim, like->shape, result);
}

static bp_status reduce_kind(bp__onnx *r, const char *kind, bp__onnx_value *x, const reduced *of,
                             bp__onnx_value **result) {
    const bool extreme = strcmp(kind, "max") == 0 || strcmp(kind, "min") == 0;
    bp__onnx_value *wide;
    if (strcmp(kind, "logsumexp") == 0 && of->elements > 0) {
        return log_sum_exp(r, x, of, result);
    }
    if (strcmp(kind, "logsumexp") == 0) {
        BP__TRY(reduce_to(r, "sum", x, of, &wide));
        return bp__onnx_unary(r, "log", wide, result);
    }
    if (extreme && of->elements == 0) {
        return reduce_nothing(r, kind, x, of, result);
    }
    if (extreme && x->dtype == BP_BOOL) {
        return reduce_to(r, strcmp(kind, "max") == 0 ? "any" : "all", x, of, result);
    }
    const bool narrow = x->dtype == BP_I8 || x->dtype == BP_U8;
    BP__TRY(bp__onnx_cast(r, x, narrow ? BP_I32 : x->dtype, &wide));
    BP__TRY(reduce_to(r, kind, wide, of, &wide));
    return bp__onnx_cast(r, wide, x->dtype, result);
}

bp_status bp__onnx_convert_reduce(bp__onnx *r, const bp__onnx_row *row) {
    reduced of;
    char before[32];
    const size_t length = strcspn(row->fields, ",");
    bp__onnx_value *x, *made;
    BP__TRY(read_reduced(r, row, &of));
    memcpy(before, row->fields, length);
    before[length] = '\0';
    BP__TRY(apply(r, before, r->inputs[0], &x));
    made = x;
    if (!of.none && x->ndim > 0) { /* otherwise each element is joined with no other */
        BP__TRY(reduce_kind(r, row->call, x, &of, &made));
    }
    return apply(r, row->fields + length + 1, made, &r->results[0]);
}

/* The last of equal elements is the first one in the reversed order. */
bp_status bp__onnx_convert_argmax(bp__onnx *r, const bp__onnx_row *row) {
    int axis;
    bool keep, last;
    bp__onnx_value *x = r->inputs[0], *place, *wide;
    BP__TRY(bp__onnx_attribute_axis(r, "axis", 0, x->ndim, &axis));
    BP__TRY(bp__onnx_attribute_flag(r, "keepdims", true, &keep));
    BP__TRY(bp__onnx_attribute_flag(r, "select_last_index", false, &last));
    const bool narrow = x->dtype == BP_I8 || x->dtype == BP_U8;
    BP__TRY(bp__onnx_cast(r, x, narrow ? BP_I32 : x->dtype, &wide));
    if (!last) {
        return bp__onnx_reduce(r, row->call, wide, 1, &axis, keep, &r->results[0]);
    }
    BP__TRY(bp__onnx_slice(r, wide, axis, -1, INT64_MIN, -1, &wide));
    BP__TRY(bp__onnx_reduce(r, row->call, wide, 1, &axis, keep, &place));
    BP__TRY(bp__onnx_unary(r, "negative", place, &place));
    return bp__onnx_binary_with(r, "add", place, (double)(x->shape[axis] - 1), &r->results[0]);
}

/* 1 at the first of the greatest elements of a row, and 0 elsewhere. */
bp_status bp__onnx_convert_hardmax(bp__onnx *r, const bp__onnx_row *row) {
    int axis;
    int64_t shape[BP_MAX_NDIM];
    bp__onnx_value *x = r->inputs[0], *most, *place;
    (void)row;
    BP__TRY(bp__onnx_attribute_axis(r, "axis", -1, x->ndim, &axis));
    for (int d = 0; d < x->ndim; d++) {
        shape[d] = d == axis ? x->shape[d] : 1;
    }
    BP__TRY(bp__onnx_reduce(r, "argmax", x, 1, &axis, true, &most));
    BP__TRY(bp__onnx_counted(r, BP_I64, x->shape[axis], 0, 1, &place));
    BP__TRY(bp__onnx_reshape(r, place, x->ndim, shape, &place));
    BP__TRY(bp__onnx_binary(r, "equal", most, place, &place));
    return bp__onnx_cast(r, place, x->dtype, &r->results[0]);
}

bp_status bp__onnx_convert_cumsum(bp__onnx *r, const bp__onnx_row *row) {
    int axis;
    int64_t given;
    bool exclusive, reverse;
    bp__onnx_value *x = r->inputs[0], *sums;
    (void)row;
    BP__TRY(bp__onnx_number(r, 1, "axis", &given));
    BP__TRY(bp__onnx_axis(given, x->ndim, &axis));
    BP__TRY(bp__onnx_attribute_flag(r, "exclusive", false, &exclusive));
    BP__TRY(bp__onnx_attribute_flag(r, "reverse", false, &reverse));
    BP__TRY(bp__onnx_call_one(r, "cumsum", 1, &x, &sums, "axis=%d, exclusive=%s, reverse=%s", axis,
                              exclusive ? "true" : "false", reverse ? "true" : "false"));
    return bp__onnx_cast(r, sums, x->dtype, &r->results[0]);
}
