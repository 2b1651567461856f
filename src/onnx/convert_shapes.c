/* convert_shapes.c - adds operators that change shapes and choose parts of tensors. */
#include "onnx/read.h"

#include <inttypes.h>
#include <string.h>

/* ---- Shapes ---- */

bp_status bp__onnx_convert_identity(bp__onnx *r, const bp__onnx_row *row) {
    (void)row;
    r->results[0] = r->inputs[0];
    return BP_OK;
}

/* A size of 0 is the size of the input, unless `allowzero`. */
bp_status bp__onnx_convert_reshape(bp__onnx *r, const bp__onnx_row *row) {
    bool allows;
    int ndim;
    int64_t *shape;
    bp__onnx_value *x = r->inputs[0];
    (void)row;
    BP__TRY(bp__onnx_attribute_flag(r, "allowzero", false, &allows));
    BP__TRY(bp__onnx_numbers(r, 1, "shape", &ndim, &shape));
    for (int d = 0; d < ndim && !allows; d++) {
        if (shape[d] == 0 && d >= x->ndim) {
            return bp__fail(BP_E_FORMAT, "size %d of the shape is 0, and the input has %d dimensions", d, x->ndim);
        }
        shape[d] = shape[d] == 0 ? x->shape[d] : shape[d];
    }
    return bp__onnx_reshape(r, x, ndim, shape, &r->results[0]);
}

static int64_t product(int from, int to, const int64_t *shape) {
    int64_t elements = 1;
    for (int d = from; d < to; d++) {
        elements *= shape[d];
    }
    return elements;
}

bp_status bp__onnx_convert_flatten(bp__onnx *r, const bp__onnx_row *row) {
    int64_t given;
    bp__onnx_value *x = r->inputs[0];
    (void)row;
    BP__TRY(bp__onnx_attribute_int(r, "axis", 1, &given));
    if (given < -x->ndim || given > x->ndim) {
        return bp__fail(BP_E_FORMAT, "the axis is %" PRId64 ", of %d dimensions", given, x->ndim);
    }
    const int axis = (int)(given < 0 ? given + x->ndim : given);
    return bp__onnx_reshape(r, x, 2, (int64_t[]){product(0, axis, x->shape), product(axis, x->ndim, x->shape)},
                            &r->results[0]);
}

/* Reads axes: an attribute, or the second input if the row takes one. */
static bp_status read_axes(bp__onnx *r, const bp__onnx_row *row, int *count, const int64_t **axes) {
    int64_t *numbers = NULL;
    *count = 0;
    *axes = NULL;
    if (row->most == 1) {
        return bp__onnx_attribute_ints(r, "axes", -1, count, axes);
    }
    if (bp__onnx_input(r, 1)) {
        BP__TRY(bp__onnx_numbers(r, 1, "axes", count, &numbers));
    }
    *axes = numbers;
    return BP_OK;
}

/* Marks axes of a tensor of `ndim` dimensions. */
static bp_status mark_axes(int count, const int64_t *axes, int ndim, bool marked[BP_MAX_NDIM]) {
    int axis;
    memset(marked, 0, BP_MAX_NDIM * sizeof *marked);
    for (int i = 0; i < count; i++) {
        BP__TRY(bp__onnx_axis(axes[i], ndim, &axis));
        if (marked[axis]) {
            return bp__fail(BP_E_FORMAT, "axis %d is given twice", axis);
        }
        marked[axis] = true;
    }
    return BP_OK;
}

bp_status bp__onnx_convert_squeeze(bp__onnx *r, const bp__onnx_row *row) {
    int count, ndim = 0;
    const int64_t *axes;
    int64_t shape[BP_MAX_NDIM];
    bool marked[BP_MAX_NDIM];
    bp__onnx_value *x = r->inputs[0];
    BP__TRY(read_axes(r, row, &count, &axes));
    BP__TRY(mark_axes(count, axes, x->ndim, marked));
    for (int d = 0; d < x->ndim; d++) {
        if (marked[d] && x->shape[d] != 1) {
            return bp__fail(BP_E_SHAPE, "dimension %d has %" PRId64 " elements; it must have one", d, x->shape[d]);
        }
        if (axes ? !marked[d] : x->shape[d] != 1) {
            shape[ndim++] = x->shape[d];
        }
    }
    return bp__onnx_reshape(r, x, ndim, shape, &r->results[0]);
}

bp_status bp__onnx_convert_unsqueeze(bp__onnx *r, const bp__onnx_row *row) {
    int count, from = 0;
    const int64_t *axes;
    int64_t shape[BP_MAX_NDIM];
    bool marked[BP_MAX_NDIM];
    bp__onnx_value *x = r->inputs[0];
    BP__TRY(read_axes(r, row, &count, &axes));
    if (!axes || count > BP_MAX_NDIM - x->ndim) {
        return bp__fail(BP_E_FORMAT, "the axes are absent, or more than a tensor can have");
    }
    const int ndim = x->ndim + count;
    BP__TRY(mark_axes(count, axes, ndim, marked));
    for (int d = 0; d < ndim; d++) {
        shape[d] = marked[d] ? 1 : x->shape[from++];
    }
    return bp__onnx_reshape(r, x, ndim, shape, &r->results[0]);
}

bp_status bp__onnx_convert_transpose(bp__onnx *r, const bp__onnx_row *row) {
    int count, axes[BP_MAX_NDIM];
    const int64_t *perm;
    bp__onnx_value *x = r->inputs[0];
    (void)row;
    BP__TRY(bp__onnx_attribute_ints(r, "perm", x->ndim, &count, &perm));
    for (int d = 0; d < x->ndim; d++) {
        axes[d] = x->ndim - 1 - d;
        if (perm) {
            BP__TRY(bp__onnx_axis(perm[d], x->ndim, &axes[d]));
        }
    }
    return bp__onnx_permute(r, x, axes, &r->results[0]);
}

/* The shape and the input broadcast to each other. */
bp_status bp__onnx_convert_expand(bp__onnx *r, const bp__onnx_row *row) {
    int count;
    int64_t *given, shape[BP_MAX_NDIM];
    bp__onnx_value *x = r->inputs[0];
    (void)row;
    BP__TRY(bp__onnx_numbers(r, 1, "shape", &count, &given));
    if (count > BP_MAX_NDIM) {
        return bp__fail(BP_E_UNSUPPORTED, "the shape has more than %d sizes", BP_MAX_NDIM);
    }
    const int ndim = count > x->ndim ? count : x->ndim;
    for (int d = 0; d < ndim; d++) {
        const int64_t own = d < ndim - x->ndim ? 1 : x->shape[d - (ndim - x->ndim)];
        const int64_t wanted = d < ndim - count ? 1 : given[d - (ndim - count)];
        shape[d] = wanted == 1 ? own : wanted;
    }
    return bp__onnx_expand(r, x, ndim, shape, &r->results[0]);
}

/* Repeats along each dimension: a dimension of size 1 in front of it is expanded, and both are joined. */
bp_status bp__onnx_convert_tile(bp__onnx *r, const bp__onnx_row *row) {
    int count;
    int64_t *repeats, apart[BP_MAX_NDIM], wide[BP_MAX_NDIM], joined[BP_MAX_NDIM];
    bp__onnx_value *x = r->inputs[0], *view;
    (void)row;
    BP__TRY(bp__onnx_numbers(r, 1, "repeats", &count, &repeats));
    if (count != x->ndim || 2 * count > BP_MAX_NDIM) {
        return bp__fail(BP_E_FORMAT, "input 'repeats' has %d elements, of %d dimensions", count, x->ndim);
    }
    for (int d = 0; d < count; d++) {
        apart[2 * d] = 1;
        wide[2 * d] = repeats[d];
        apart[2 * d + 1] = wide[2 * d + 1] = x->shape[d];
        if (__builtin_mul_overflow(repeats[d], x->shape[d], &joined[d])) {
            return bp__fail(BP_E_OVERFLOW, "dimension %d has more elements than memory has bytes", d);
        }
    }
    BP__TRY(bp__onnx_reshape(r, x, 2 * count, apart, &view));
    BP__TRY(bp__onnx_expand(r, view, 2 * count, wide, &view));
    return bp__onnx_reshape(r, view, count, joined, &r->results[0]);
}

/* ---- Parts ---- */

bp_status bp__onnx_convert_concat(bp__onnx *r, const bp__onnx_row *row) {
    int axis;
    bp__onnx_attribute *given;
    (void)row;
    BP__TRY(bp__onnx_attribute_of(r, "axis", BP__ATTRIBUTE_INT, &given));
    if (!given) {
        return bp__fail(BP_E_FORMAT, "attribute 'axis' is absent");
    }
    BP__TRY(bp__onnx_attribute_axis(r, "axis", 0, r->inputs[0]->ndim, &axis));
    return bp__onnx_concat(r, r->input_count, r->inputs, axis, &r->results[0]);
}

/* Finds the sizes of the parts: those that are given, or as equal as they can be. */
static bp_status part_sizes(bp__onnx *r, const bp__onnx_row *row, int64_t length, int parts, int64_t *sizes) {
    int count = 0;
    int64_t most, wanted = parts, *numbers = NULL, sum = 0;
    const int64_t *given = NULL;
    if (row->until != 0) {
        BP__TRY(bp__onnx_attribute_ints(r, "split", parts, &count, &given));
    } else if (bp__onnx_input(r, 1)) {
        BP__TRY(bp__onnx_numbers(r, 1, "split", &count, &numbers));
        given = numbers;
    }
    BP__TRY(bp__onnx_attribute_int(r, "num_outputs", parts, &wanted));
    if ((given && count != parts) || wanted != parts) {
        return bp__fail(BP_E_FORMAT, "the number of parts is not the number of outputs, %d", parts);
    }
    most = (length + parts - 1) / parts;
    for (int i = 0; i < parts; i++) {
        const int64_t left = length - most * i;
        sizes[i] = given ? given[i] : left < 0 ? 0 : left < most ? left : most;
        if (sizes[i] < 0 || __builtin_add_overflow(sum, sizes[i], &sum)) {
            return bp__fail(BP_E_FORMAT, "the size of part %d is negative", i);
        }
    }
    return sum == length
               ? BP_OK
               : bp__fail(BP_E_SHAPE, "the parts have %" PRId64 " elements, and the axis has %" PRId64, sum, length);
}

bp_status bp__onnx_convert_split(bp__onnx *r, const bp__onnx_row *row) {
    int axis;
    int64_t from = 0;
    const int parts = r->node->output_count;
    bp__onnx_value *x = r->inputs[0];
    int64_t *sizes = bp__onnx_new(r->memory, (size_t)parts, sizeof *sizes);
    if (!sizes) {
        return BP_E_NO_MEMORY;
    }
    BP__TRY(bp__onnx_attribute_axis(r, "axis", 0, x->ndim, &axis));
    if (parts == 0) {
        return bp__fail(BP_E_FORMAT, "it has no outputs");
    }
    BP__TRY(part_sizes(r, row, x->shape[axis], parts, sizes));
    for (int i = 0; i < parts; i++) {
        BP__TRY(bp__onnx_slice(r, x, axis, from, from + sizes[i], 1, &r->results[i]));
        from += sizes[i];
    }
    return BP_OK;
}

/* What a slice reads: lists of equal length; axes and steps may be absent. */
typedef struct slice_lists {
    int count;
    const int64_t *starts, *ends, *axes, *steps;
} slice_lists;

static bp_status read_list(bp__onnx *r, int input, const char *name, slice_lists *lists, const int64_t **list) {
    int count;
    int64_t *numbers;
    if (input > 2 && !bp__onnx_input(r, input)) {
        return BP_OK;
    }
    BP__TRY(bp__onnx_numbers(r, input, name, &count, &numbers));
    lists->count = input == 1 ? count : lists->count;
    *list = numbers;
    return count == lists->count
               ? BP_OK
               : bp__fail(BP_E_FORMAT, "input '%s' has %d elements; it must have %d", name, count, lists->count);
}

static bp_status read_slice(bp__onnx *r, const bp__onnx_row *row, slice_lists *lists) {
    int count;
    *lists = (slice_lists){0};
    if (row->until == 0) {
        BP__TRY(read_list(r, 1, "starts", lists, &lists->starts));
        BP__TRY(read_list(r, 2, "ends", lists, &lists->ends));
        BP__TRY(read_list(r, 3, "axes", lists, &lists->axes));
        return read_list(r, 4, "steps", lists, &lists->steps);
    }
    BP__TRY(bp__onnx_attribute_ints(r, "starts", -1, &lists->count, &lists->starts));
    BP__TRY(bp__onnx_attribute_ints(r, "ends", lists->count, &count, &lists->ends));
    BP__TRY(bp__onnx_attribute_ints(r, "axes", lists->count, &count, &lists->axes));
    return lists->starts && lists->ends ? BP_OK : bp__fail(BP_E_FORMAT, "attribute 'starts' or 'ends' is absent");
}

bp_status bp__onnx_convert_slice(bp__onnx *r, const bp__onnx_row *row) {
    slice_lists lists;
    bp__onnx_value *x = r->inputs[0];
    BP__TRY(read_slice(r, row, &lists));
    for (int i = 0; i < lists.count; i++) {
        int axis;
        BP__TRY(bp__onnx_axis(lists.axes ? lists.axes[i] : i, x->ndim, &axis));
        const int64_t step = lists.steps ? lists.steps[i] : 1, size = x->shape[axis];
        /* An end before the first element, from where the graph's slice would count again. */
        const int64_t end = step < 0 && lists.ends[i] < -size ? INT64_MIN : lists.ends[i];
        BP__TRY(bp__onnx_slice(r, x, axis, lists.starts[i], end, step, &x));
    }
    r->results[0] = x;
    return BP_OK;
}

/* ---- Elements that are added ---- */

/* Writes amounts of some axes as amounts of all dimensions. */
static bp_status place_amounts(int count, const int64_t *pads, const int64_t *axes, int ndim,
                               int64_t before[BP_MAX_NDIM], int64_t after[BP_MAX_NDIM]) {
    memset(before, 0, BP_MAX_NDIM * sizeof *before);
    memset(after, 0, BP_MAX_NDIM * sizeof *after);
    for (int i = 0; i < count; i++) {
        int axis;
        BP__TRY(bp__onnx_axis(axes ? axes[i] : i, ndim, &axis));
        before[axis] = pads[i];
        after[axis] = pads[count + i];
    }
    return BP_OK;
}

static bp_status read_pads(bp__onnx *r, const bp__onnx_row *row, int *count, const int64_t **pads,
                           const int64_t **axes) {
    int64_t *numbers, *along = NULL;
    int axis_count = 0;
    *axes = NULL;
    if (row->until != 0) {
        BP__TRY(bp__onnx_attribute_ints(r, "pads", -1, count, pads));
    } else {
        BP__TRY(bp__onnx_numbers(r, 1, "pads", count, &numbers));
        *pads = numbers;
        if (bp__onnx_input(r, 3)) {
            BP__TRY(bp__onnx_numbers(r, 3, "axes", &axis_count, &along));
        }
        *axes = along;
    }
    const int wanted = along ? axis_count : r->inputs[0]->ndim;
    if (*count != 2 * wanted) {
        return bp__fail(BP_E_FORMAT, "there are %d amounts; there must be %d", *count, 2 * wanted);
    }
    *count = wanted;
    return BP_OK;
}

bp_status bp__onnx_convert_pad(bp__onnx *r, const bp__onnx_row *row) {
    static const char *const modes[] = {"constant", "reflect", "replicate", "circular"};
    int mode, count;
    const int64_t *pads, *axes;
    int64_t before[BP_MAX_NDIM], after[BP_MAX_NDIM];
    double number = 0;
    bp__onnx_list first, second;
    bp__onnx_value *x = r->inputs[0], *given = bp__onnx_input(r, 2);
    BP__TRY(bp__onnx_attribute_word(r, "mode", "constant,reflect,edge,wrap", 0, &mode));
    BP__TRY(read_pads(r, row, &count, &pads, &axes));
    BP__TRY(place_amounts(count, pads, axes, x->ndim, before, after));
    if (row->until != 0) {
        BP__TRY(bp__onnx_attribute_real(r, "value", 0, &number));
    } else if (given && mode == 0 && !bp__onnx_real_known(r, given, &number)) {
        return bp__fail(BP_E_UNSUPPORTED, "input 'constant_value' must be known when the model is read");
    }
    return bp__onnx_call_one(r, "pad", 1, &x, &r->results[0], "mode=%s, before=%s, after=%s, value=%a", modes[mode],
                             bp__onnx_list_of(x->ndim, before, &first), bp__onnx_list_of(x->ndim, after, &second),
                             mode == 0 ? number : 0);
}

/* Crops or pads each axis around its middle; of an odd difference the end has one more. */
bp_status bp__onnx_convert_center_crop_pad(bp__onnx *r, const bp__onnx_row *row) {
    int count, axis_count, axis;
    int64_t *sizes, before[BP_MAX_NDIM] = {0}, after[BP_MAX_NDIM] = {0};
    const int64_t *axes;
    bp__onnx_value *x = r->inputs[0];
    (void)row;
    BP__TRY(bp__onnx_attribute_ints(r, "axes", -1, &axis_count, &axes));
    BP__TRY(bp__onnx_numbers(r, 1, "shape", &count, &sizes));
    if (count != (axes ? axis_count : x->ndim) || count > x->ndim) {
        return bp__fail(BP_E_FORMAT, "input 'shape' has %d elements, of %d axes", count, axes ? axis_count : x->ndim);
    }
    for (int i = 0; i < count; i++) {
        BP__TRY(bp__onnx_axis(axes ? axes[i] : i, x->ndim, &axis));
        const int64_t size = x->shape[axis], crop = size > sizes[i] ? size - sizes[i] : 0;
        if (sizes[i] < 0) {
            return bp__fail(BP_E_FORMAT, "input 'shape' has the element %" PRId64, sizes[i]);
        }
        before[axis] = sizes[i] > size ? (sizes[i] - size) / 2 : 0;
        after[axis] = sizes[i] > size ? sizes[i] - size - before[axis] : 0;
        if (crop > 0) {
            BP__TRY(bp__onnx_slice(r, x, axis, crop / 2, crop / 2 + sizes[i], 1, &x));
        }
    }
    return bp__onnx_pad(r, x, before, after, 0, &r->results[0]);
}

/* ---- Depth and space ---- */

/* Takes channels apart, or joins them: reshape, permute, reshape of N x C x H x W. */
static bp_status rearrange(bp__onnx *r, const int64_t apart[6], const int axes[6], const int64_t joined[4]) {
    bp__onnx_value *view;
    BP__TRY(bp__onnx_reshape(r, r->inputs[0], 6, apart, &view));
    BP__TRY(bp__onnx_permute(r, view, axes, &view));
    return bp__onnx_reshape(r, view, 4, joined, &r->results[0]);
}

static bp_status read_block(bp__onnx *r, int64_t *block) {
    BP__TRY(bp__onnx_attribute_int(r, "blocksize", 0, block));
    const bp__onnx_value *x = r->inputs[0];
    const bool fits = x->ndim == 4 && x->shape[2] <= INT32_MAX && x->shape[3] <= INT32_MAX;
    return *block < 1 || *block > INT32_MAX || !fits
               ? bp__fail(BP_E_FORMAT, "attribute 'blocksize' is %" PRId64 ", and the input has %d dimensions", *block,
                          x->ndim)
               : BP_OK;
}

bp_status bp__onnx_convert_depth_to_space(bp__onnx *r, const bp__onnx_row *row) {
    int64_t b;
    int mode;
    (void)row;
    BP__TRY(bp__onnx_attribute_word(r, "mode", "DCR,CRD", 0, &mode));
    BP__TRY(read_block(r, &b));
    const int64_t *n = r->inputs[0]->shape, c = n[1] / (b * b);
    const int64_t joined[4] = {n[0], c, n[2] * b, n[3] * b};
    return mode == 0 ? rearrange(r, (int64_t[]){n[0], b, b, c, n[2], n[3]}, (int[]){0, 3, 4, 1, 5, 2}, joined)
                     : rearrange(r, (int64_t[]){n[0], c, b, b, n[2], n[3]}, (int[]){0, 1, 4, 2, 5, 3}, joined);
}

bp_status bp__onnx_convert_space_to_depth(bp__onnx *r, const bp__onnx_row *row) {
    int64_t b;
    int mode;
    (void)row;
    BP__TRY(bp__onnx_attribute_word(r, "mode", "DCR,CRD", 0, &mode));
    BP__TRY(read_block(r, &b));
    const int64_t *n = r->inputs[0]->shape, h = n[2] / b, w = n[3] / b;
    const int64_t apart[6] = {n[0], n[1], h, b, w, b}, joined[4] = {n[0], n[1] * b * b, h, w};
    return mode == 0 ? rearrange(r, apart, (int[]){0, 3, 5, 1, 2, 4}, joined)
                     : rearrange(r, apart, (int[]){0, 1, 3, 5, 2, 4}, joined);
}
