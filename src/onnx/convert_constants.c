/* convert_constants.c - adds operators whose results follow from shapes, attributes and known values; and If. */
#include "onnx/read.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---- Constants ---- */

/* Makes a known value of an attribute of the kinds that Constant has. */
static bp_status constant_of(bp__onnx *r, const bp__onnx_attribute *attribute, bp__onnx_value **value) {
    void *data;
    const int64_t count = attribute->count;
    switch (attribute->kind) {
    case BP__ATTRIBUTE_FLOAT:
        BP__TRY(bp__onnx_known(r, BP_F32, 0, NULL, value, &data));
        memcpy(data, &attribute->real, sizeof attribute->real);
        return BP_OK;
    case BP__ATTRIBUTE_INT:
        BP__TRY(bp__onnx_known(r, BP_I64, 0, NULL, value, &data));
        memcpy(data, &attribute->number, sizeof attribute->number);
        return BP_OK;
    case BP__ATTRIBUTE_FLOATS:
        BP__TRY(bp__onnx_known(r, BP_F32, 1, &count, value, &data));
        memcpy(data, attribute->reals, (size_t)count * sizeof *attribute->reals);
        return BP_OK;
    default:
        BP__TRY(bp__onnx_known(r, BP_I64, 1, &count, value, &data));
        memcpy(data, attribute->numbers, (size_t)count * sizeof *attribute->numbers);
        return BP_OK;
    }
}

/* Makes a value of a tensor of the file. */
static bp_status value_of_tensor(bp__onnx *r, const bp__onnx_tensor *tensor, bp__onnx_value **value) {
    const bp_dtype dtype = tensor ? bp__onnx_dtype(tensor->type) : BP_DTYPE_NONE;
    if (dtype == BP_DTYPE_NONE) {
        return bp__fail(BP_E_UNSUPPORTED,
                        "its tensor has elements of type %" PRId64 " of TensorProto, which no call has",
                        tensor ? tensor->type : 0);
    }
    *value = bp__onnx_new_value(r, dtype, tensor->ndim, tensor->shape);
    if (!*value) {
        return BP_E_NO_MEMORY;
    }
    (*value)->tensor = tensor;
    (*value)->name = r->node->output_count > 0 ? r->node->outputs[0] : (bp__bytes){0};
    return BP_OK;
}

bp_status bp__onnx_convert_constant(bp__onnx *r, const bp__onnx_row *row) {
    static const struct {
        const char *name;
        bp__onnx_kind kind;
    } forms[] = {{"value_float", BP__ATTRIBUTE_FLOAT},
                 {"value_int", BP__ATTRIBUTE_INT},
                 {"value_floats", BP__ATTRIBUTE_FLOATS},
                 {"value_ints", BP__ATTRIBUTE_INTS}};
    bp__onnx_attribute *attribute;
    (void)row;
    BP__TRY(bp__onnx_attribute_of(r, "value", BP__ATTRIBUTE_TENSOR, &attribute));
    if (attribute) {
        return value_of_tensor(r, attribute->tensor, &r->results[0]);
    }
    for (int i = 0; i < BP__COUNT(forms); i++) {
        BP__TRY(bp__onnx_attribute_of(r, forms[i].name, forms[i].kind, &attribute));
        if (attribute) {
            return constant_of(r, attribute, &r->results[0]);
        }
    }
    return r->node->attribute_count > 0 ? bp__onnx_attributes_check(r)
                                        : bp__fail(BP_E_FORMAT, "it has no attribute with a value");
}

/* One number, expanded: it takes no memory. */
bp_status bp__onnx_convert_constant_of_shape(bp__onnx *r, const bp__onnx_row *row) {
    int ndim;
    int64_t *shape;
    bp__onnx_attribute *attribute;
    bp__onnx_value *number;
    (void)row;
    BP__TRY(bp__onnx_numbers(r, 0, "input", &ndim, &shape));
    BP__TRY(bp__onnx_attribute_of(r, "value", BP__ATTRIBUTE_TENSOR, &attribute));
    if (attribute) {
        BP__TRY(value_of_tensor(r, attribute->tensor, &number));
        if (bp__onnx_count(number) != 1) {
            return bp__fail(BP_E_FORMAT, "attribute 'value' has not one element");
        }
    } else {
        BP__TRY(bp__onnx_scalar(r, 0, BP_F32, &number));
    }
    BP__TRY(bp__onnx_reshape(r, number, 0, NULL, &number));
    return bp__onnx_expand(r, number, ndim, shape, &r->results[0]);
}

/* ---- Sizes ---- */

static bp_status make_numbers(bp__onnx *r, int ndim, int64_t count, const int64_t *numbers) {
    void *data;
    BP__TRY(bp__onnx_known(r, BP_I64, ndim, &count, &r->results[0], &data));
    memcpy(data, numbers, (size_t)count * sizeof *numbers);
    return BP_OK;
}

/* Returns a place between dimensions, which may count from the end, and is cut. */
static int64_t cut_place(int64_t given, int ndim) {
    const int64_t place = given < 0 ? given + ndim : given;
    return place < 0 ? 0 : place > ndim ? ndim : place;
}

bp_status bp__onnx_convert_shape(bp__onnx *r, const bp__onnx_row *row) {
    int64_t start, end;
    const bp__onnx_value *x = r->inputs[0];
    (void)row;
    BP__TRY(bp__onnx_attribute_int(r, "start", 0, &start));
    BP__TRY(bp__onnx_attribute_int(r, "end", x->ndim, &end));
    start = cut_place(start, x->ndim);
    end = cut_place(end, x->ndim);
    return make_numbers(r, 1, end > start ? end - start : 0, x->shape + start);
}

bp_status bp__onnx_convert_size(bp__onnx *r, const bp__onnx_row *row) {
    const int64_t count = bp__onnx_count(r->inputs[0]);
    void *data;
    (void)row;
    BP__TRY(bp__onnx_known(r, BP_I64, 0, NULL, &r->results[0], &data));
    memcpy(data, &count, sizeof count);
    return BP_OK;
}

/* ---- Ranges ---- */

static bp_status whole_range(bp__onnx *r, bp_dtype dtype) {
    int64_t start, limit, step;
    BP__TRY(bp__onnx_number(r, 0, "start", &start));
    BP__TRY(bp__onnx_number(r, 1, "limit", &limit));
    BP__TRY(bp__onnx_number(r, 2, "delta", &step));
    if (step == 0) {
        return bp__fail(BP_E_FORMAT, "input 'delta' is 0");
    }
    const bool empty = step > 0 ? limit <= start : limit >= start;
    const uint64_t distance = step > 0 ? (uint64_t)limit - (uint64_t)start : (uint64_t)start - (uint64_t)limit;
    const uint64_t each = step > 0 ? (uint64_t)step : 0 - (uint64_t)step;
    const uint64_t count = empty ? 0 : (distance - 1) / each + 1;
    return bp__onnx_counted(r, dtype, count > INT64_MAX ? INT64_MAX : (int64_t)count, start, step, &r->results[0]);
}

/* start + i delta, with i as a number of the type. */
static bp_status real_range(bp__onnx *r, bp_dtype dtype) {
    double start, limit, step;
    bp__onnx_value *places;
    if (!bp__onnx_real_known(r, r->inputs[0], &start) || !bp__onnx_real_known(r, r->inputs[1], &limit) ||
        !bp__onnx_real_known(r, r->inputs[2], &step)) {
        return bp__fail(BP_E_UNSUPPORTED, "its inputs must be known when the model is read");
    }
    const double count = ceil((limit - start) / step);
    if (!(count < 1e18)) {
        return bp__fail(BP_E_UNSUPPORTED, "it has no end, or too many elements");
    }
    BP__TRY(bp__onnx_counted(r, BP_I64, count > 0 ? (int64_t)count : 0, 0, 1, &places));
    BP__TRY(bp__onnx_cast(r, places, dtype, &places));
    BP__TRY(bp__onnx_binary(r, "multiply", places, r->inputs[2], &places));
    return bp__onnx_binary(r, "add", places, r->inputs[0], &r->results[0]);
}

bp_status bp__onnx_convert_range(bp__onnx *r, const bp__onnx_row *row) {
    const bp_dtype dtype = r->inputs[0]->dtype;
    (void)row;
    if (r->inputs[1]->dtype != dtype || r->inputs[2]->dtype != dtype) {
        return bp__fail(BP_E_FORMAT, "its inputs have different types");
    }
    return dtype == BP_I64 || dtype == BP_I32 ? whole_range(r, dtype) : real_range(r, dtype);
}

/* ---- Diagonals ---- */

/* Compares the index of the row, to which `k` is added, with the index of the column. */
static bp_status compare_places(bp__onnx *r, const char *kind, int64_t rows, int64_t columns, int64_t k,
                                bp__onnx_value **result) {
    bp__onnx_value *row, *column;
    const int64_t far = INT32_MAX; /* behind all rows and columns: their lists have fewer */
    k = k > far ? far : k;
    BP__TRY(bp__onnx_counted(r, BP_I64, rows, k, 1, &row));
    BP__TRY(bp__onnx_counted(r, BP_I64, columns, 0, 1, &column));
    BP__TRY(bp__onnx_reshape(r, row, 2, (int64_t[]){rows, 1}, &row));
    return bp__onnx_binary(r, kind, row, column, result);
}

bp_status bp__onnx_convert_eye_like(bp__onnx *r, const bp__onnx_row *row) {
    int64_t type, k;
    const bp__onnx_value *x = r->inputs[0];
    bp__onnx_value *diagonal;
    (void)row;
    BP__TRY(bp__onnx_attribute_int(r, "dtype", 0, &type));
    BP__TRY(bp__onnx_attribute_int(r, "k", 0, &k));
    const bp_dtype dtype = type == 0 ? x->dtype : bp__onnx_dtype(type);
    if (x->ndim != 2 || dtype == BP_DTYPE_NONE) {
        return bp__fail(BP_E_FORMAT,
                        "its input has not two dimensions, or attribute 'dtype' is a type that no call has");
    }
    BP__TRY(compare_places(r, "equal", x->shape[0], x->shape[1], k, &diagonal));
    return bp__onnx_cast(r, diagonal, dtype, &r->results[0]);
}

bp_status bp__onnx_convert_trilu(bp__onnx *r, const bp__onnx_row *row) {
    bool upper;
    int64_t k = 0;
    bp__onnx_value *x = r->inputs[0], *kept, *zero;
    (void)row;
    BP__TRY(bp__onnx_attribute_flag(r, "upper", true, &upper));
    if (bp__onnx_input(r, 1)) {
        BP__TRY(bp__onnx_number(r, 1, "k", &k));
    }
    if (x->ndim < 2) {
        return bp__fail(BP_E_SHAPE, "its input has fewer than two dimensions");
    }
    BP__TRY(compare_places(r, upper ? "less_equal" : "greater_equal", x->shape[x->ndim - 2], x->shape[x->ndim - 1], k,
                           &kept));
    BP__TRY(bp__onnx_scalar(r, 0, x->dtype, &zero));
    return bp__onnx_where(r, kept, x, zero, &r->results[0]);
}

/* ---- Dropout, which does nothing but in training ---- */

bp_status bp__onnx_convert_dropout(bp__onnx *r, const bp__onnx_row *row) {
    double unused, training = 0, ratio = 0.5;
    int64_t seed;
    bp__onnx_value *mode = bp__onnx_input(r, 2), *share = bp__onnx_input(r, 1), *mask;
    BP__TRY(row->until != 0 ? bp__onnx_attribute_real(r, "ratio", 0.5, &unused)
                            : bp__onnx_attribute_int(r, "seed", 0, &seed));
    if (mode && !bp__onnx_real_known(r, mode, &training)) {
        return bp__fail(BP_E_UNSUPPORTED, "input 'training_mode' must be known when the model is read");
    }
    if (training != 0 && (!share || !bp__onnx_real_known(r, share, &ratio) || ratio != 0)) {
        return bp__fail(BP_E_UNSUPPORTED, "it is in training; export the model for inference");
    }
    r->results[0] = r->inputs[0];
    if (bp__onnx_is_wanted(r, 1)) {
        BP__TRY(bp__onnx_scalar(r, 1, BP_BOOL, &mask));
        return bp__onnx_expand(r, mask, r->inputs[0]->ndim, r->inputs[0]->shape, &r->results[1]);
    }
    return BP_OK;
}

/* ---- If ---- */

bp_status bp__onnx_convert_if(bp__onnx *r, const bp__onnx_row *row) {
    bp__onnx_attribute *branch[2];
    bp__onnx_scope scope;
    double condition;
    (void)row;
    BP__TRY(bp__onnx_attribute_of(r, "else_branch", BP__ATTRIBUTE_GRAPH, &branch[0]));
    BP__TRY(bp__onnx_attribute_of(r, "then_branch", BP__ATTRIBUTE_GRAPH, &branch[1]));
    if (!bp__onnx_real_known(r, r->inputs[0], &condition)) {
        return bp__fail(BP_E_UNSUPPORTED, "its condition depends on elements of the model's inputs; it must be known "
                                          "when the model is read, so make this input a constant");
    }
    const bp__onnx_attribute *taken = branch[condition != 0];
    if (!taken || !taken->graph || taken->graph->output_count != r->node->output_count) {
        return bp__fail(BP_E_FORMAT, "a branch is absent, or has another number of outputs");
    }
    bp__onnx_scope_begin(r, &scope);
    bp_status status = bp__onnx_add_graph(r, taken->graph, r->results);
    bp__onnx_scope_end(r, &scope);
    return status;
}
