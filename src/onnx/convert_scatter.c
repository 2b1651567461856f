/* convert_scatter.c - adds operators that write elements to places that indices name.
 *
 * No call scatters. If the indices are known when the model is read, it is known for each element, or row, of the
 * result whether it is one of the input or which update has written it last: then both are joined, and taken from
 * there. If updates are combined with what they meet, each round has one update for each place at most, in the order of
 * the updates. */
#include "onnx/read.h"

#include <inttypes.h>
#include <string.h>

enum { MOST_ROUNDS = 64, MOST_PLACES = 1 << 24 };

/* Updates of rows of the first dimension, and their places. */
typedef struct scatter {
    int64_t places, updates;
    const int64_t *place; /* of each update */
    const char *combines; /* a binary function; NULL: the last update of a place stays */
} scatter;

/* ---- Known indices ---- */

static bp_status read_combines(bp__onnx *r, const char **combines) {
    static const char *const kinds[] = {NULL, "add", "multiply", "maximum", "minimum"};
    int which;
    BP__TRY(bp__onnx_attribute_word(r, "reduction", "none,add,mul,max,min", 0, &which));
    *combines = kinds[which];
    return BP_OK;
}

/* Reads all elements of the input 'indices', which may be a large initializer. */
static bp_status read_indices(bp__onnx *r, const void **data, bool *wide) {
    bp__onnx_value *indices = r->inputs[1];
    BP__TRY(bp__onnx_load_all(r, indices));
    if (indices->dtype != BP_I64 && indices->dtype != BP_I32) {
        return bp__fail(BP_E_FORMAT, "input 'indices' has elements of type %s; they must be i64 or i32",
                        bp_dtype_name(indices->dtype));
    }
    if (!indices->data && bp__onnx_count(indices) > 0) {
        return bp__fail(BP_E_UNSUPPORTED,
                        "input 'indices' depends on elements of the model's inputs; it must be known when the model is "
                        "read");
    }
    *data = indices->data;
    *wide = indices->dtype == BP_I64;
    return BP_OK;
}

/* Returns an index from the start. */
static bp_status index_at(const void *data, bool wide, int64_t at, int64_t size, int64_t *index) {
    const int64_t given = wide ? ((const int64_t *)data)[at] : ((const int32_t *)data)[at];
    *index = given < 0 ? given + size : given;
    return given >= -size && given < size
               ? BP_OK
               : bp__fail(BP_E_FORMAT, "an index is %" PRId64 ", of %" PRId64 " elements", given, size);
}

static bp_status begin_scatter(bp__onnx *r, scatter *of, int64_t places, int64_t updates, int64_t **place) {
    if (places > MOST_PLACES || updates > MOST_PLACES) {
        return bp__fail(BP_E_UNSUPPORTED,
                        "it writes %" PRId64 " updates to %" PRId64 " places; the limit is %d of both", updates, places,
                        MOST_PLACES);
    }
    BP__TRY(bp__onnx_spend(r, updates * (int64_t)sizeof **place));
    *place = bp__onnx_new(r->memory, (size_t)updates, sizeof **place);
    of->places = places;
    of->updates = updates;
    of->place = *place;
    return *place ? BP_OK : BP_E_NO_MEMORY;
}

/* ---- Rounds ---- */

/* Finds for each place the update that a round writes: the last one without a function, otherwise the one before which
 * there are `round` others. -1: none. Returns how many there are. */
static int64_t find_round(const scatter *of, int round, int64_t *chosen, int *seen) {
    int64_t found = 0;
    for (int64_t i = 0; i < of->places; i++) {
        chosen[i] = -1;
        seen[i] = 0;
    }
    for (int64_t i = 0; i < of->updates; i++) {
        if (!of->combines || seen[of->place[i]]++ == round) {
            found += chosen[of->place[i]] < 0;
            chosen[of->place[i]] = i;
        }
    }
    return found;
}

/* Takes rows of the data, or of the updates behind them. */
static bp_status take_rows(bp__onnx *r, const scatter *of, const int64_t *chosen, bp__onnx_value *data,
                           bp__onnx_value *updates, bp__onnx_value **result) {
    bp__onnx_value *joined, *from;
    void *rows;
    BP__TRY(bp__onnx_known(r, BP_I64, 1, &of->places, &from, &rows));
    for (int64_t i = 0; i < of->places; i++) {
        ((int64_t *)rows)[i] = chosen[i] < 0 ? i : of->places + chosen[i];
    }
    BP__TRY(bp__onnx_concat(r, 2, (bp__onnx_value *[]){data, updates}, 0, &joined));
    return bp__onnx_call_one(r, "take", 2, ((bp__onnx_value *[]){joined, from}), result, "axis=0");
}

/* Combines rows of the data with the updates of a round, where there are any. */
static bp_status combine_rows(bp__onnx *r, const scatter *of, const int64_t *chosen, bp__onnx_value *data,
                              bp__onnx_value *updates, bp__onnx_value **result) {
    bp__onnx_value *taken, *combined, *touched;
    int64_t shape[BP_MAX_NDIM];
    void *marks;
    for (int d = 0; d < data->ndim; d++) {
        shape[d] = d == 0 ? of->places : 1;
    }
    BP__TRY(bp__onnx_known(r, BP_BOOL, data->ndim, shape, &touched, &marks));
    for (int64_t i = 0; i < of->places; i++) {
        ((uint8_t *)marks)[i] = chosen[i] >= 0;
    }
    BP__TRY(take_rows(r, of, chosen, data, updates, &taken));
    BP__TRY(bp__onnx_binary(r, of->combines, data, taken, &combined));
    return bp__onnx_where(r, touched, combined, data, result);
}

/* Writes updates to rows of the data; both have the rows in their first dimension. */
static bp_status write_rows(bp__onnx *r, const scatter *of, bp__onnx_value *data, bp__onnx_value *updates,
                            bp__onnx_value **result) {
    BP__TRY(bp__onnx_spend(r, of->places * (int64_t)(sizeof(int64_t) + sizeof(int))));
    int64_t *chosen = bp__onnx_new(r->memory, (size_t)of->places, sizeof *chosen);
    int *seen = bp__onnx_new(r->memory, (size_t)of->places, sizeof *seen);
    if (!chosen || !seen) {
        return BP_E_NO_MEMORY;
    }
    *result = data;
    for (int round = 0; find_round(of, round, chosen, seen) > 0; round++) {
        if (!of->combines) {
            return take_rows(r, of, chosen, data, updates, result);
        }
        if (round == MOST_ROUNDS) {
            return bp__fail(BP_E_UNSUPPORTED, "a place has more than %d updates", MOST_ROUNDS);
        }
        BP__TRY(combine_rows(r, of, chosen, *result, updates, result));
    }
    return BP_OK;
}

/* ---- Operators ---- */

/* Tuples of indices name slices of the data. */
bp_status bp__onnx_convert_scatter_nd(bp__onnx *r, const bp__onnx_row *row) {
    bp__onnx_value *x = r->inputs[0], *tuples = r->inputs[1], *updates = r->inputs[2], *made;
    int64_t shape[BP_MAX_NDIM], places = 1, *place, index;
    int ndim = 0;
    const void *data;
    bool wide;
    scatter of = {0};
    (void)row;
    const int64_t depth = tuples->ndim > 0 ? tuples->shape[tuples->ndim - 1] : 0;
    if (depth < 1 || depth > x->ndim) {
        return bp__fail(BP_E_SHAPE, "its indices have tuples of %" PRId64 ", of %d dimensions", depth, x->ndim);
    }
    const int outer = tuples->ndim - 1, inner = x->ndim - (int)depth;
    if (updates->ndim != outer + inner || memcmp(updates->shape, tuples->shape, (size_t)outer * sizeof *shape) != 0 ||
        memcmp(updates->shape + outer, x->shape + depth, (size_t)inner * sizeof *shape) != 0) {
        return bp__fail(BP_E_SHAPE, "input 'updates' has another shape than follows from 'data' and 'indices'");
    }
    BP__TRY(read_combines(r, &of.combines));
    BP__TRY(read_indices(r, &data, &wide));
    for (int d = 0; d < depth; d++) {
        places *= x->shape[d];
    }
    BP__TRY(begin_scatter(r, &of, places, bp__onnx_count(tuples) / depth, &place));
    for (int64_t i = 0; i < of.updates; i++) {
        place[i] = 0;
        for (int d = 0; d < depth; d++) {
            BP__TRY(index_at(data, wide, i * depth + d, x->shape[d], &index));
            place[i] = place[i] * x->shape[d] + index;
        }
    }
    shape[ndim++] = of.updates;
    for (int d = (int)depth; d < x->ndim; d++) {
        shape[ndim++] = x->shape[d];
    }
    BP__TRY(bp__onnx_reshape(r, updates, ndim, shape, &updates));
    shape[0] = places;
    BP__TRY(bp__onnx_reshape(r, x, ndim, shape, &made));
    BP__TRY(write_rows(r, &of, made, updates, &made));
    return bp__onnx_reshape(r, made, x->ndim, x->shape, &r->results[0]);
}

/* Finds the place of each element of the updates. */
static bp_status find_places(const bp__onnx_value *x, const bp__onnx_value *indices, int axis, const void *data,
                             bool wide, int64_t *place) {
    int64_t at[BP_MAX_NDIM] = {0};
    const int64_t count = bp__onnx_count(indices);
    for (int64_t i = 0; i < count; i++) {
        int64_t index;
        BP__TRY(index_at(data, wide, i, x->shape[axis], &index));
        place[i] = 0;
        for (int d = 0; d < x->ndim; d++) {
            place[i] = place[i] * x->shape[d] + (d == axis ? index : at[d]);
        }
        for (int d = x->ndim - 1; d >= 0 && ++at[d] == indices->shape[d]; d--) {
            at[d] = 0;
        }
    }
    return BP_OK;
}

bp_status bp__onnx_convert_scatter_elements(bp__onnx *r, const bp__onnx_row *row) {
    bp__onnx_value *x = r->inputs[0], *indices = r->inputs[1], *updates = r->inputs[2], *made;
    int64_t *place;
    const void *data;
    bool wide;
    int axis;
    scatter of = {0};
    (void)row;
    BP__TRY(bp__onnx_attribute_axis(r, "axis", 0, x->ndim, &axis));
    bool fits = indices->ndim == x->ndim && updates->ndim == x->ndim;
    for (int d = 0; d < x->ndim && fits; d++) {
        fits = indices->shape[d] == updates->shape[d] && (d == axis || indices->shape[d] <= x->shape[d]);
    }
    if (!fits) {
        return bp__fail(BP_E_SHAPE, "inputs 'indices' and 'updates' have not one shape that fits into 'data'");
    }
    BP__TRY(read_combines(r, &of.combines));
    BP__TRY(read_indices(r, &data, &wide));
    BP__TRY(begin_scatter(r, &of, bp__onnx_count(x), bp__onnx_count(indices), &place));
    BP__TRY(find_places(x, indices, axis, data, wide, place));
    BP__TRY(bp__onnx_reshape(r, updates, 1, &of.updates, &updates));
    BP__TRY(bp__onnx_reshape(r, x, 1, &of.places, &made));
    BP__TRY(write_rows(r, &of, made, updates, &made));
    return bp__onnx_reshape(r, made, x->ndim, x->shape, &r->results[0]);
}

/* ---- Caches of keys and values ---- */

/* Makes what is taken of the update for each place of the axis, counted from the first one that is written in each
 * item: items x places. */
static bp_status count_from_writes(bp__onnx *r, int64_t items, int64_t places, bool circular, bp__onnx_value **from) {
    bp__onnx_value *writes = bp__onnx_input(r, 2), *place;
    BP__TRY(bp__onnx_counted(r, BP_I64, places, 0, 1, &place));
    if (!writes) {
        return bp__onnx_expand(r, place, 2, (int64_t[]){items, places}, from);
    }
    if (writes->ndim != 1 || writes->shape[0] != items || writes->dtype != BP_I64) {
        return bp__fail(BP_E_FORMAT, "input 'write_indices' has not an element of type i64 for each item");
    }
    BP__TRY(bp__onnx_reshape(r, writes, 2, (int64_t[]){items, 1}, &writes));
    BP__TRY(bp__onnx_binary(r, "subtract", place, writes, from));
    return circular ? bp__onnx_binary_with(r, "remainder", *from, (double)places, from) : BP_OK;
}

bp_status bp__onnx_convert_tensor_scatter(bp__onnx *r, const bp__onnx_row *row) {
    bp__onnx_value *past = r->inputs[0], *update = r->inputs[1], *from, *written, *late, *zero, *taken;
    int64_t shape[BP_MAX_NDIM];
    int axis, mode;
    (void)row;
    BP__TRY(bp__onnx_attribute_axis(r, "axis", -2, past->ndim, &axis));
    BP__TRY(bp__onnx_attribute_word(r, "mode", "linear,circular", 0, &mode));
    bool fits = axis > 0 && update->ndim == past->ndim && update->shape[axis] <= past->shape[axis];
    for (int d = 0; d < past->ndim && fits; d++) {
        fits = d == axis || update->shape[d] == past->shape[d];
        shape[d] = d == 0 || d == axis ? past->shape[d] : 1;
    }
    if (!fits) {
        return bp__fail(BP_E_SHAPE, "input 'update' does not fit into 'past_cache' along axis %d", axis);
    }
    r->results[0] = past;
    if (update->shape[axis] == 0) {
        return BP_OK;
    }
    BP__TRY(count_from_writes(r, past->shape[0], past->shape[axis], mode == 1, &from));
    BP__TRY(bp__onnx_binary_with(r, "greater_equal", from, 0, &written));
    BP__TRY(bp__onnx_binary_with(r, "less", from, (double)update->shape[axis], &late));
    BP__TRY(bp__onnx_binary(r, "logical_and", written, late, &written));
    BP__TRY(bp__onnx_scalar(r, 0, BP_I64, &zero));
    BP__TRY(bp__onnx_where(r, written, from, zero, &from));
    BP__TRY(bp__onnx_reshape(r, written, past->ndim, shape, &written));
    BP__TRY(bp__onnx_reshape(r, from, past->ndim, shape, &from));
    BP__TRY(bp__onnx_expand(r, from, past->ndim, past->shape, &from));
    BP__TRY(bp__onnx_call_one(r, "gather", 2, ((bp__onnx_value *[]){update, from}), &taken, "axis=%d", axis));
    return bp__onnx_where(r, written, taken, past, &r->results[0]);
}
