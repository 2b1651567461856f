/* convert_indices.c - adds operators that take elements by their indices. */
#include "onnx/read.h"

#include <inttypes.h>
#include <string.h>

/* Makes indices of an axis with `size` elements that may count from the end count from the start. */
static bp_status from_start(bp__onnx *r, bp__onnx_value *indices, int64_t size, bp__onnx_value **result) {
    bp__onnx_value *negative, *moved, *wrapped;
    if (indices->dtype != BP_I32 && indices->dtype != BP_I64) {
        return bp__fail(BP_E_FORMAT, "its indices have elements of type %s; they must be i64 or i32",
                        bp_dtype_name(indices->dtype));
    }
    BP__TRY(bp__onnx_binary_with(r, "less", indices, 0, &negative));
    BP__TRY(bp__onnx_binary_with(r, "add", indices, (double)size, &moved));
    BP__TRY(bp__onnx_where(r, negative, moved, indices, &wrapped));
    *result = wrapped;
    return BP_OK;
}

/* One index that is known is a view. */
static bp_status take_one(bp__onnx *r, bp__onnx_value *x, int axis, int64_t index) {
    int64_t shape[BP_MAX_NDIM];
    int ndim = 0;
    bp__onnx_value *part;
    const int64_t size = x->shape[axis], from = index < 0 ? index + size : index;
    if (from < 0 || from >= size) {
        return bp__fail(BP_E_FORMAT, "the index is %" PRId64 ", of %" PRId64 " elements", index, size);
    }
    BP__TRY(bp__onnx_slice(r, x, axis, from, from + 1, 1, &part));
    for (int d = 0; d < x->ndim; d++) {
        if (d != axis) {
            shape[ndim++] = x->shape[d];
        }
    }
    return bp__onnx_reshape(r, part, ndim, shape, &r->results[0]);
}

/* Returns the indices from the start. Known ones are changed here. */
static bp_status known_or_moved(bp__onnx *r, int64_t size, bp__onnx_value **result) {
    bp__onnx_value *indices = r->inputs[1];
    int count;
    int64_t *numbers;
    void *data;
    BP__TRY(bp__onnx_load(r, indices));
    if (!indices->data || bp__onnx_bytes(indices) > BP__ONNX_SMALL) {
        return from_start(r, indices, size, result);
    }
    BP__TRY(bp__onnx_numbers(r, 1, "indices", &count, &numbers));
    BP__TRY(bp__onnx_known(r, BP_I64, indices->ndim, indices->shape, result, &data));
    for (int i = 0; i < count; i++) {
        ((int64_t *)data)[i] = numbers[i] < 0 ? numbers[i] + size : numbers[i];
        if (numbers[i] < -size || numbers[i] >= size) {
            return bp__fail(BP_E_FORMAT, "an index is %" PRId64 ", of %" PRId64 " elements", numbers[i], size);
        }
    }
    return BP_OK;
}

bp_status bp__onnx_convert_gather(bp__onnx *r, const bp__onnx_row *row) {
    int axis;
    bp__onnx_value *x = r->inputs[0], *indices = r->inputs[1];
    (void)row;
    BP__TRY(bp__onnx_attribute_axis(r, "axis", 0, x->ndim, &axis));
    BP__TRY(known_or_moved(r, x->shape[axis], &indices));
    if (indices->ndim == 0 && indices->data) {
        return take_one(r, x, axis, *(const int64_t *)indices->data);
    }
    return bp__onnx_call_one(r, "take", 2, ((bp__onnx_value *[]){x, indices}), &r->results[0], "axis=%d", axis);
}

bp_status bp__onnx_convert_gather_elements(bp__onnx *r, const bp__onnx_row *row) {
    int axis;
    bp__onnx_value *x = r->inputs[0], *indices;
    (void)row;
    BP__TRY(bp__onnx_attribute_axis(r, "axis", 0, x->ndim, &axis));
    BP__TRY(known_or_moved(r, x->shape[axis], &indices));
    return bp__onnx_call_one(r, "gather", 2, ((bp__onnx_value *[]){x, indices}), &r->results[0], "axis=%d", axis);
}

/* Adds the part of a flat index that dimension `at` of the tuples decides. */
static bp_status add_part(bp__onnx *r, bp__onnx_value *tuples, int at, int64_t size, int64_t stride,
                          bp__onnx_value **sum) {
    bp__onnx_value *one;
    BP__TRY(bp__onnx_slice(r, tuples, tuples->ndim - 1, at, at + 1, 1, &one));
    BP__TRY(from_start(r, one, size, &one));
    BP__TRY(bp__onnx_binary_with(r, "multiply", one, (double)stride, &one));
    if (*sum) {
        return bp__onnx_binary(r, "add", *sum, one, sum);
    }
    *sum = one;
    return BP_OK;
}

/* Adds the part of flat indices that the items in the first dimensions decide: each has `size` elements. */
static bp_status add_items(bp__onnx *r, int64_t items, int64_t size, int batch, bp__onnx_value **flat) {
    int64_t shape[BP_MAX_NDIM];
    bp__onnx_value *first;
    const bp_dtype dtype = (*flat)->dtype;
    for (int d = 0; d < (*flat)->ndim; d++) {
        shape[d] = d < batch ? (*flat)->shape[d] : 1;
    }
    BP__TRY(bp__onnx_counted(r, dtype, items, 0, size, &first));
    BP__TRY(bp__onnx_reshape(r, first, (*flat)->ndim, shape, &first));
    return bp__onnx_binary(r, "add", *flat, first, flat);
}

/* Whether the first dimensions of both are equal. */
static bool has_items(const bp__onnx_value *x, const bp__onnx_value *tuples, int64_t batch) {
    return batch >= 0 && batch < x->ndim && batch < tuples->ndim &&
           memcmp(x->shape, tuples->shape, (size_t)batch * sizeof *x->shape) == 0;
}

/* Tuples of indices become indices into the dimensions that they address, joined to one. */
bp_status bp__onnx_convert_gather_nd(bp__onnx *r, const bp__onnx_row *row) {
    int64_t batch, shape[BP_MAX_NDIM], stride = 1, items = 1;
    int ndim = 0;
    bp__onnx_value *x = r->inputs[0], *tuples = r->inputs[1], *flat = NULL, *joined;
    (void)row;
    BP__TRY(bp__onnx_attribute_int(r, "batch_dims", 0, &batch));
    const int64_t depth = tuples->ndim > 0 ? tuples->shape[tuples->ndim - 1] : 0;
    if (!has_items(x, tuples, batch)) {
        return bp__fail(BP_E_SHAPE,
                        "attribute 'batch_dims' is %" PRId64 "; so many first dimensions of both inputs "
                        "must be equal, and not the last one",
                        batch);
    }
    if (depth < 1 || depth > x->ndim - batch) {
        return bp__fail(BP_E_SHAPE, "its indices have tuples of %" PRId64 ", of %d dimensions", depth,
                        x->ndim - (int)batch);
    }
    for (int d = (int)(batch + depth) - 1; d >= batch; d--) {
        BP__TRY(add_part(r, tuples, d - (int)batch, x->shape[d], stride, &flat));
        stride *= x->shape[d];
    }
    for (int d = 0; d < batch; d++) {
        items *= x->shape[d];
    }
    BP__TRY(bp__onnx_reshape(r, flat, tuples->ndim - 1, tuples->shape, &flat));
    if (batch > 0) {
        BP__TRY(add_items(r, items, stride, (int)batch, &flat));
    }
    shape[ndim++] = items * stride;
    for (int d = (int)(batch + depth); d < x->ndim; d++) {
        shape[ndim++] = x->shape[d];
    }
    BP__TRY(bp__onnx_reshape(r, x, ndim, shape, &joined));
    return bp__onnx_call_one(r, "take", 2, ((bp__onnx_value *[]){joined, flat}), &r->results[0], "axis=0");
}

/* Whether the index is the place along a new axis decides between both values. */
bp_status bp__onnx_convert_one_hot(bp__onnx *r, const bp__onnx_row *row) {
    int axis;
    int64_t depth, shape[BP_MAX_NDIM], places[BP_MAX_NDIM];
    double number;
    bp__onnx_value *x = r->inputs[0], *values = r->inputs[2], *place, *is_place, *off, *on;
    (void)row;
    BP__TRY(bp__onnx_attribute_axis(r, "axis", -1, x->ndim + 1, &axis));
    if (!bp__onnx_real_known(r, r->inputs[1], &number) || number < 1 || number > INT32_MAX) {
        return bp__fail(BP_E_UNSUPPORTED, "input 'depth' must be known when the model is read, and at least 1");
    }
    if (values->ndim != 1 || values->shape[0] != 2 || x->ndim == BP_MAX_NDIM) {
        return bp__fail(BP_E_FORMAT, "input 'values' has not two elements, or 'indices' has too many dimensions");
    }
    depth = (int64_t)number;
    for (int d = 0; d <= x->ndim; d++) {
        shape[d] = d == axis ? 1 : x->shape[d - (d > axis)];
        places[d] = d == axis ? depth : 1;
    }
    BP__TRY(bp__onnx_cast(r, x, BP_I64, &x));
    BP__TRY(from_start(r, x, depth, &x));
    BP__TRY(bp__onnx_reshape(r, x, r->inputs[0]->ndim + 1, shape, &x));
    BP__TRY(bp__onnx_counted(r, BP_I64, depth, 0, 1, &place));
    BP__TRY(bp__onnx_reshape(r, place, x->ndim, places, &place));
    BP__TRY(bp__onnx_binary(r, "equal", x, place, &is_place));
    BP__TRY(bp__onnx_slice(r, values, 0, 0, 1, 1, &off));
    BP__TRY(bp__onnx_slice(r, values, 0, 1, 2, 1, &on));
    return bp__onnx_where(r, is_place, on, off, &r->results[0]);
}

/* The elements of a list that is known to be true there. */
bp_status bp__onnx_convert_compress(bp__onnx *r, const bp__onnx_row *row) {
    bp__onnx_attribute *given;
    bp__onnx_value *x = r->inputs[0], *condition = r->inputs[1], *places;
    int axis = 0;
    int64_t count = 0;
    void *data;
    (void)row;
    BP__TRY(bp__onnx_attribute_of(r, "axis", BP__ATTRIBUTE_INT, &given));
    if (given) {
        BP__TRY(bp__onnx_attribute_axis(r, "axis", 0, x->ndim, &axis));
    } else {
        BP__TRY(bp__onnx_reshape(r, x, 1, (int64_t[]){bp__onnx_count(x)}, &x));
    }
    BP__TRY(bp__onnx_load_all(r, condition));
    if (condition->dtype != BP_BOOL || condition->ndim != 1) {
        return bp__fail(BP_E_FORMAT, "input 'condition' is no list of bools");
    }
    if (!condition->data && condition->shape[0] > 0) {
        return bp__fail(BP_E_UNSUPPORTED, "the shape of the result depends on elements of 'condition', which must be "
                                          "known when the model is read");
    }
    const uint8_t *holds = condition->data;
    const int64_t most = condition->shape[0] < x->shape[axis] ? condition->shape[0] : x->shape[axis];
    for (int64_t i = 0; i < condition->shape[0]; i++) {
        if (holds[i] && i >= most) {
            return bp__fail(BP_E_FORMAT, "input 'condition' is true behind the last of %" PRId64 " elements", most);
        }
        count += holds[i] != 0;
    }
    BP__TRY(bp__onnx_known(r, BP_I64, 1, &count, &places, &data));
    for (int64_t i = 0, at = 0; i < most; i++) {
        if (holds[i]) {
            ((int64_t *)data)[at++] = i;
        }
    }
    return bp__onnx_call_one(r, "take", 2, ((bp__onnx_value *[]){x, places}), &r->results[0], "axis=%d", axis);
}

/* Whether an element is not 0. Floats have a sign in front, and 0 has two. */
static bool is_set(const unsigned char *element, size_t size, bool floats) {
    unsigned all = 0;
    for (size_t i = 0; i < size; i++) {
        all |= floats && i + 1 == size ? element[i] & 0x7fu : element[i];
    }
    return all != 0;
}

/* The places of elements that are not 0, a column for each. */
bp_status bp__onnx_convert_non_zero(bp__onnx *r, const bp__onnx_row *row) {
    bp__onnx_value *x = r->inputs[0];
    const int64_t all = bp__onnx_count(x);
    const size_t size = bp_dtype_size(x->dtype);
    const bool floats = bp__onnx_is_float(x->dtype);
    int64_t count = 0, column = 0;
    void *places;
    (void)row;
    BP__TRY(bp__onnx_load_all(r, x));
    if ((!x->data && all > 0) || bp__onnx_is_complex(x->dtype)) {
        return bp__fail(BP_E_UNSUPPORTED,
                        "the shape of the result depends on elements of the input, which must be known "
                        "when the model is read, and not complex");
    }
    const unsigned char *data = x->data;
    for (int64_t i = 0; i < all; i++) {
        count += is_set(data + (size_t)i * size, size, floats);
    }
    BP__TRY(bp__onnx_known(r, BP_I64, 2, (int64_t[]){x->ndim, count}, &r->results[0], &places));
    for (int64_t i = 0; i < all; i++) {
        int64_t rest = i;
        for (int d = x->ndim - 1; d >= 0 && is_set(data + (size_t)i * size, size, floats); d--) {
            ((int64_t *)places)[d * count + column] = rest % x->shape[d];
            rest /= x->shape[d];
        }
        column += is_set(data + (size_t)i * size, size, floats);
    }
    return BP_OK;
}

/* Steps before the end of an item are taken from its end on, later ones stay. */
bp_status bp__onnx_convert_reverse_sequence(bp__onnx *r, const bp__onnx_row *row) {
    int batch, time;
    int64_t steps[BP_MAX_NDIM], items[BP_MAX_NDIM];
    bp__onnx_value *x = r->inputs[0], *lengths = r->inputs[1], *step, *inside, *last, *from;
    (void)row;
    BP__TRY(bp__onnx_attribute_axis(r, "batch_axis", 1, x->ndim, &batch));
    BP__TRY(bp__onnx_attribute_axis(r, "time_axis", 0, x->ndim, &time));
    if (batch == time || lengths->ndim != 1 || lengths->shape[0] != x->shape[batch]) {
        return bp__fail(BP_E_SHAPE, "both axes are equal, or input 'sequence_lens' has not an element for each item");
    }
    for (int d = 0; d < x->ndim; d++) {
        steps[d] = d == time ? x->shape[d] : 1;
        items[d] = d == batch ? x->shape[d] : 1;
    }
    BP__TRY(bp__onnx_cast(r, lengths, BP_I64, &lengths));
    BP__TRY(bp__onnx_reshape(r, lengths, x->ndim, items, &lengths));
    BP__TRY(bp__onnx_counted(r, BP_I64, x->shape[time], 0, 1, &step));
    BP__TRY(bp__onnx_reshape(r, step, x->ndim, steps, &step));
    BP__TRY(bp__onnx_binary(r, "less", step, lengths, &inside));
    BP__TRY(bp__onnx_binary_with(r, "subtract", lengths, 1, &last));
    BP__TRY(bp__onnx_binary(r, "subtract", last, step, &from));
    BP__TRY(bp__onnx_where(r, inside, from, step, &from));
    BP__TRY(bp__onnx_expand(r, from, x->ndim, x->shape, &from));
    return bp__onnx_call_one(r, "gather", 2, ((bp__onnx_value *[]){x, from}), &r->results[0], "axis=%d", time);
}
