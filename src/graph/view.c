/* view.c - adds views of values: other shapes, orders and parts of the same elements. */
#include "graph/graph.h"

#include "base/uncancelled.h"
#include "ops/shape.h"

#include <inttypes.h>
#include <string.h>

const char *const bp__view_names[BP__VIEW_KINDS] = {
    [BP__RESHAPE] = "reshape", [BP__PERMUTE] = "permute", [BP__SLICE] = "slice", [BP__EXPAND] = "expand"};

static bp_status check_view(const bp_graph *graph, bp_value value, const bp_value *view) {
    BP__TRY(bp__graph_check_open(graph));
    BP__TRY(bp__graph_check_value(graph, value));
    return view ? BP_OK : bp__fail(BP_E_ARGUMENT, "view must not be NULL");
}

static bp_status check_rank(const char *name, int ndim, const void *list) {
    return ndim < 0 || ndim > BP_MAX_NDIM
               ? bp__fail(BP_E_ARGUMENT, "%s: there are %d dimensions; it must be 0 to %d", name, ndim, BP_MAX_NDIM)
           : ndim > 0 && !list ? bp__fail(BP_E_ARGUMENT, "%s: the list must not be NULL", name)
                               : BP_OK;
}

static bp_status add_view(bp_graph *graph, bp__view_kind kind, bp_value of, int ndim, const int64_t *shape,
                          bp_value *view) {
    bp_value made;
    BP__TRY(bp__value_add(graph, BP__VALUE_VIEW, graph->values[of].dtype, ndim, shape, &made));
    graph->values[made].from = of;
    graph->values[made].view = kind;
    *view = made;
    return BP_OK;
}

static bp_status fail_shape(const char *name, const bp__graph_value *v, int ndim, const int64_t *shape) {
    char from[256], to[256];
    return bp__fail(BP_E_SHAPE, "%s: a value of shape %s cannot have shape %s", name,
                    bp__shape_text(v->ndim, v->shape, from, sizeof from), bp__shape_text(ndim, shape, to, sizeof to));
}

bp_status bp_graph_reshape(bp_graph *graph, bp_value value, int ndim, const int64_t *shape, bp_value *view) {
    BP__UNCANCELLED;
    int64_t whole[BP_MAX_NDIM], known = 1;
    int open = -1;
    BP__TRY(check_view(graph, value, view));
    BP__TRY(check_rank("reshape", ndim, shape));
    const bp__graph_value *v = bp__value_at(graph, value);
    const int64_t elements = bp__value_elements(v);
    for (int d = 0; d < ndim; d++) {
        whole[d] = shape[d];
        if (shape[d] == -1 && open < 0) {
            open = d;
        } else if (shape[d] < 0 || __builtin_mul_overflow(known, shape[d], &known)) {
            return fail_shape("reshape", v, ndim, shape);
        }
    }
    if (open >= 0) {
        if (known == 0 || elements % known != 0) {
            return fail_shape("reshape", v, ndim, shape);
        }
        whole[open] = elements / known;
        known = elements;
    }
    return known == elements ? add_view(graph, BP__RESHAPE, value, ndim, whole, view)
                             : fail_shape("reshape", v, ndim, shape);
}

bp_status bp_graph_permute(bp_graph *graph, bp_value value, int axis_count, const int *axes, bp_value *view) {
    BP__UNCANCELLED;
    int64_t shape[BP_MAX_NDIM];
    bool taken[BP_MAX_NDIM] = {false};
    bp_value made;
    BP__TRY(check_view(graph, value, view));
    BP__TRY(check_rank("permute", axis_count, axes));
    const bp__graph_value *v = bp__value_at(graph, value);
    const size_t size = (size_t)axis_count * sizeof *axes;
    int *own = axis_count == v->ndim ? bp__alloc(size) : NULL;
    if (!own) {
        return axis_count == v->ndim
                   ? bp__fail_memory(size, "a graph")
                   : bp__fail(BP_E_ARGUMENT, "permute: there are %d axes; the value has %d dimensions", axis_count,
                              v->ndim);
    }
    for (int d = 0; d < axis_count; d++) {
        const int axis = axes[d] < 0 && axes[d] >= -v->ndim ? axes[d] + v->ndim : axes[d];
        if (axis < 0 || axis >= v->ndim || taken[axis]) {
            bp__free(own);
            return bp__fail(BP_E_ARGUMENT, "permute: axes[%d] is %d; each of %d axes must be there once", d, axes[d],
                            v->ndim);
        }
        taken[axis] = true;
        own[d] = axis;
        shape[d] = v->shape[axis];
    }
    bp_status status = add_view(graph, BP__PERMUTE, value, axis_count, shape, &made);
    if (status != BP_OK) {
        bp__free(own);
        return status;
    }
    graph->values[made].axes = own;
    *view = made;
    return BP_OK;
}

/* Returns an index from the start, cut to the range from `least` to `most`. */
static int64_t cut_index(int64_t index, int64_t size, int64_t least, int64_t most) {
    index += index < 0 ? size : 0;
    return index < least ? least : index > most ? most : index;
}

/* Adds the slice of `count` elements along an axis from a first one, which all must be there. */
bp_status bp__slice_add(bp_graph *graph, bp_value value, const int64_t numbers[4], bp_value *view) {
    const int64_t axis = numbers[0], first = numbers[1], count = numbers[2], step = numbers[3];
    int64_t shape[BP_MAX_NDIM], last;
    bp_value made;
    const bp__graph_value *v = bp__value_at(graph, value);
    const bool there = axis >= 0 && axis < v->ndim && first >= 0 && count >= 0 && step != 0 &&
                       !__builtin_mul_overflow(count > 0 ? count - 1 : 0, step, &last) &&
                       !__builtin_add_overflow(first, last, &last) &&
                       (count == 0 || (first < v->shape[axis] && last >= 0 && last < v->shape[axis]));
    if (!there) {
        return bp__fail(BP_E_SHAPE,
                        "slice: axis %" PRId64 " has no %" PRId64 " elements from %" PRId64 " on with step %" PRId64,
                        axis, count, first, step);
    }
    memcpy(shape, v->shape, (size_t)v->ndim * sizeof *shape);
    shape[axis] = count;
    BP__TRY(add_view(graph, BP__SLICE, value, v->ndim, shape, &made));
    bp__graph_value *slice = &graph->values[made];
    slice->slice[0] = axis;
    slice->slice[1] = count > 0 ? first : 0;
    slice->slice[2] = count > 1 ? step : 1;
    *view = made;
    return BP_OK;
}

bp_status bp_graph_slice(bp_graph *graph, bp_value value, int axis, int64_t from, int64_t to, int64_t step,
                         bp_value *view) {
    BP__UNCANCELLED;
    BP__TRY(check_view(graph, value, view));
    const bp__graph_value *v = bp__value_at(graph, value);
    const int along = axis < 0 ? axis + v->ndim : axis;
    if (axis < -v->ndim || along >= v->ndim) {
        return bp__fail(BP_E_ARGUMENT, "slice: axis is %d; the value has %d dimensions", axis, v->ndim);
    }
    if (step == 0 || step == INT64_MIN) {
        return bp__fail(BP_E_ARGUMENT, "slice: step is %" PRId64, step);
    }
    const int64_t size = v->shape[along], down = step < 0;
    const int64_t first = cut_index(from, size, -down, size - down);
    const int64_t end = down && to == INT64_MIN ? -1 : cut_index(to, size, -down, size - down);
    const int64_t distance = down ? first - end : end - first, each = down ? -step : step;
    const int64_t count = distance > 0 ? (distance - 1) / each + 1 : 0;
    return bp__slice_add(graph, value, (int64_t[]){along, count > 0 ? first : 0, count, count > 1 ? step : 1}, view);
}

bp_status bp_graph_expand(bp_graph *graph, bp_value value, int ndim, const int64_t *shape, bp_value *view) {
    BP__UNCANCELLED;
    BP__TRY(check_view(graph, value, view));
    BP__TRY(check_rank("expand", ndim, shape));
    const bp__graph_value *v = bp__value_at(graph, value);
    const int added = ndim - v->ndim;
    bool fits = added >= 0;
    for (int d = 0; d < v->ndim && fits; d++) {
        fits = v->shape[d] == shape[added + d] || v->shape[d] == 1;
    }
    return fits ? add_view(graph, BP__EXPAND, value, ndim, shape, view) : fail_shape("expand", v, ndim, shape);
}
