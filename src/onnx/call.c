/* call.c - adds calls and views of the graph for nodes of a model. */
#include "onnx/read.h"

#include "base/number.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MOST_OUTPUTS = 8 };

/* Makes a value of what was added to the graph. */
static bp_status take_value(bp__onnx *r, bp_value number, bp__onnx_value **value) {
    bp_dtype dtype;
    int ndim;
    int64_t shape[BP_MAX_NDIM];
    BP__TRY(bp_graph_shape(r->graph, number, &dtype, &ndim, shape));
    *value = bp__onnx_new_value(r, dtype, ndim, shape);
    if (!*value) {
        return BP_E_NO_MEMORY;
    }
    (*value)->value = number;
    return BP_OK;
}

/* ---- Calls ---- */

static bp_status add_call(bp__onnx *r, const char *call, int operand_count, const bp_value *operands, int output_count,
                          bp__onnx_value **const *outputs, const char *fields) {
    bp_value made[MOST_OUTPUTS], *wanted[MOST_OUTPUTS];
    for (int i = 0; i < output_count; i++) {
        wanted[i] = outputs[i] ? &made[i] : NULL;
    }
    BP__TRY(bp_graph_call(r->graph, call, fields, operand_count, operands, output_count, wanted));
    for (int i = 0; i < output_count; i++) {
        if (outputs[i]) {
            BP__TRY(take_value(r, made[i], outputs[i]));
        }
    }
    return BP_OK;
}

bp_status bp__onnx_call(bp__onnx *r, const char *call, int operand_count, bp__onnx_value *const *operands,
                        int output_count, bp__onnx_value **const *outputs, const char *fields, ...) {
    char own[1024];
    va_list arguments;
    bp_value *numbers = bp__onnx_new(r->memory, (size_t)operand_count, sizeof *numbers);
    bp_status status = numbers ? BP_OK : BP_E_NO_MEMORY;
    for (int i = 0; i < operand_count && status == BP_OK; i++) {
        status = operands[i] ? bp__onnx_in_graph(r, operands[i], &numbers[i]) : BP_OK;
    }
    va_start(arguments, fields);
    const int length = bp__format_v(own, sizeof own, fields, arguments);
    va_end(arguments);
    if (status == BP_OK && (length < 0 || length >= (int)sizeof own)) {
        status = bp__fail(BP_E_UNSUPPORTED, "%s: an attribute is longer than %zu characters", call, sizeof own);
    }
    status = status == BP_OK ? add_call(r, call, operand_count, numbers, output_count, outputs, own) : status;
    return status;
}

/* ---- Views ---- */

bp_status bp__onnx_reshape(bp__onnx *r, bp__onnx_value *of, int ndim, const int64_t *shape, bp__onnx_value **view) {
    bp_value number, made;
    BP__TRY(bp__onnx_in_graph(r, of, &number));
    BP__TRY(bp_graph_reshape(r->graph, number, ndim, shape, &made));
    return take_value(r, made, view);
}

bp_status bp__onnx_permute(bp__onnx *r, bp__onnx_value *of, const int *axes, bp__onnx_value **view) {
    bp_value number, made;
    BP__TRY(bp__onnx_in_graph(r, of, &number));
    BP__TRY(bp_graph_permute(r->graph, number, of->ndim, axes, &made));
    return take_value(r, made, view);
}

bp_status bp__onnx_slice(bp__onnx *r, bp__onnx_value *of, int axis, int64_t from, int64_t to, int64_t step,
                         bp__onnx_value **view) {
    bp_value number, made;
    BP__TRY(bp__onnx_in_graph(r, of, &number));
    BP__TRY(bp_graph_slice(r->graph, number, axis, from, to, step, &made));
    return take_value(r, made, view);
}

bp_status bp__onnx_expand(bp__onnx *r, bp__onnx_value *of, int ndim, const int64_t *shape, bp__onnx_value **view) {
    bp_value number, made;
    BP__TRY(bp__onnx_in_graph(r, of, &number));
    BP__TRY(bp_graph_expand(r->graph, number, ndim, shape, &made));
    return take_value(r, made, view);
}

bp_status bp__onnx_lift(bp__onnx *r, bp__onnx_value *x, int ndim, bp__onnx_value **view) {
    int64_t shape[BP_MAX_NDIM];
    *view = x;
    if (x->ndim >= ndim) {
        return BP_OK;
    }
    for (int d = 0; d < ndim; d++) {
        shape[d] = d < ndim - x->ndim ? 1 : x->shape[d - (ndim - x->ndim)];
    }
    return bp__onnx_reshape(r, x, ndim, shape, view);
}

/* ---- Functions of elements ---- */

bp_status bp__onnx_cast(bp__onnx *r, bp__onnx_value *of, bp_dtype dtype, bp__onnx_value **result) {
    *result = of;
    return of->dtype == dtype
               ? BP_OK
               : bp__onnx_call_one(r, "unary", 1, &of, result, "kind=copy, dtype=%s", bp_dtype_name(dtype));
}

/* Functions of elements have no i8 and u8: their elements are computed as i32, and converted back modulo 256. */
static bp_dtype computed(bp_dtype dtype) {
    return dtype == BP_I8 || dtype == BP_U8 ? BP_I32 : dtype;
}

bp_status bp__onnx_unary(bp__onnx *r, const char *kind, bp__onnx_value *x, bp__onnx_value **result) {
    bp__onnx_value *wide, *made;
    BP__TRY(bp__onnx_cast(r, x, computed(x->dtype), &wide));
    BP__TRY(bp__onnx_call_one(r, "unary", 1, &wide, &made, "kind=%s", kind));
    return bp__onnx_cast(r, made, made->dtype == BP_BOOL ? BP_BOOL : x->dtype, result);
}

bp_status bp__onnx_binary(bp__onnx *r, const char *kind, bp__onnx_value *a, bp__onnx_value *b,
                          bp__onnx_value **result) {
    bp__onnx_value *wide[2], *made;
    if (a->dtype != b->dtype) {
        return bp__fail(BP_E_FORMAT, "the inputs have elements of types %s and %s", bp_dtype_name(a->dtype),
                        bp_dtype_name(b->dtype));
    }
    BP__TRY(bp__onnx_cast(r, a, computed(a->dtype), &wide[0]));
    BP__TRY(bp__onnx_cast(r, b, computed(b->dtype), &wide[1]));
    BP__TRY(bp__onnx_call_one(r, "binary", 2, wide, &made, "kind=%s", kind));
    return bp__onnx_cast(r, made, made->dtype == BP_BOOL ? BP_BOOL : a->dtype, result);
}

bp_status bp__onnx_binary_with(bp__onnx *r, const char *kind, bp__onnx_value *a, double b, bp__onnx_value **result) {
    bp__onnx_value *number;
    BP__TRY(bp__onnx_scalar(r, b, a->dtype, &number));
    return bp__onnx_binary(r, kind, a, number, result);
}

bp_status bp__onnx_clip_to(bp__onnx *r, bp__onnx_value *x, double low, double high, bp__onnx_value **result) {
    return bp__onnx_call_one(r, "unary", 1, &x, result, "kind=clip, first=%a, second=%a", low, high);
}

bp_status bp__onnx_where(bp__onnx *r, bp__onnx_value *condition, bp__onnx_value *a, bp__onnx_value *b,
                         bp__onnx_value **result) {
    return bp__onnx_call_one(r, "where", 3, ((bp__onnx_value *[]){condition, a, b}), result, " ");
}

/* ---- Calls that several operators need ---- */

const char *bp__onnx_list_of(int count, const int64_t *numbers, bp__onnx_list *list) {
    size_t length = (size_t)snprintf(list->text, sizeof list->text, "[");
    for (int i = 0; i < count && length < sizeof list->text; i++) {
        length +=
            (size_t)snprintf(list->text + length, sizeof list->text - length, "%s%" PRId64, i ? ", " : "", numbers[i]);
    }
    snprintf(list->text + length, sizeof list->text - length, "]");
    return list->text;
}

bp_status bp__onnx_reduce(bp__onnx *r, const char *kind, bp__onnx_value *x, int axis_count, const int *axes, bool keep,
                          bp__onnx_value **result) {
    bp__onnx_list list;
    int64_t wide[BP_MAX_NDIM];
    for (int i = 0; i < axis_count; i++) {
        wide[i] = axes[i];
    }
    return bp__onnx_call_one(r, "reduce", 1, &x, result, "kind=%s, keep=%s, axes=%s", kind, keep ? "true" : "false",
                             bp__onnx_list_of(axis_count, wide, &list));
}

bp_status bp__onnx_concat(bp__onnx *r, int count, bp__onnx_value *const *values, int axis, bp__onnx_value **result) {
    *result = values[0];
    return count == 1 ? BP_OK : bp__onnx_call_one(r, "concat", count, values, result, "axis=%d", axis);
}

bp_status bp__onnx_pad(bp__onnx *r, bp__onnx_value *x, const int64_t *before, const int64_t *after, double number,
                       bp__onnx_value **result) {
    bp__onnx_list first, second;
    bool any = false;
    for (int d = 0; d < x->ndim; d++) {
        any |= before[d] != 0 || after[d] != 0;
    }
    *result = x;
    return !any ? BP_OK
                : bp__onnx_call_one(r, "pad", 1, &x, result, "before=%s, after=%s, value=%a",
                                    bp__onnx_list_of(x->ndim, before, &first),
                                    bp__onnx_list_of(x->ndim, after, &second), number);
}
