/* dims.c - orders and merges the dimensions of a problem, and divides its elements among work items. */
#include "providers/kernels/families.h"

#include <stdlib.h>

/* Moves dimension `from` before dimensions of smaller strides. */
static void sort_in(bp__kernel_dims *dims, int from, int by) {
    const int64_t size = dims->size[from];
    int64_t stride[BP__KERNEL_OPERANDS];
    int at = from;
    for (int i = 0; i < dims->operands; i++) {
        stride[i] = dims->stride[i][from];
    }
    for (; at > 0 && llabs(dims->stride[by][at - 1]) < llabs(stride[by]); at--) {
        dims->size[at] = dims->size[at - 1];
        for (int i = 0; i < dims->operands; i++) {
            dims->stride[i][at] = dims->stride[i][at - 1];
        }
    }
    dims->size[at] = size;
    for (int i = 0; i < dims->operands; i++) {
        dims->stride[i][at] = stride[i];
    }
}

/* Returns whether dimension `inner` continues dimension `outer` in all operands. */
static bool continues(const bp__kernel_dims *dims, int outer, int inner) {
    bool all = true;
    for (int i = 0; i < dims->operands && all; i++) {
        int64_t whole = dims->stride[i][inner];
        all = bp__kernel_multiply(&whole, dims->size[inner]) && dims->stride[i][outer] == whole;
    }
    return all;
}

/* Also omits dimensions of size 1. */
static void merge(bp__kernel_dims *dims) {
    int kept = 0;
    for (int d = 0; d < dims->ndim; d++) {
        int64_t size = dims->size[d];
        int to = kept;
        if (size == 1) {
            continue;
        }
        if (kept > 0 && continues(dims, kept - 1, d)) {
            size *= dims->size[kept - 1];
            to = kept - 1;
        }
        dims->size[to] = size;
        for (int i = 0; i < dims->operands; i++) {
            dims->stride[i][to] = dims->stride[i][d];
        }
        kept = to + 1;
    }
    dims->ndim = kept;
}

bool bp__kernel_dims_simplify(bp__kernel_dims *dims, int by) {
    dims->total = 1;
    for (int d = 0; d < dims->ndim; d++) {
        if (dims->size[d] == 0) {
            dims->total = 0;
            return true;
        }
        if (!bp__kernel_multiply(&dims->total, dims->size[d])) {
            return false;
        }
        sort_in(dims, d, by);
    }
    merge(dims);
    if (dims->ndim == 0) {
        dims->ndim = 1;
        dims->size[0] = 1;
        for (int i = 0; i < dims->operands; i++) {
            dims->stride[i][0] = 0;
        }
    }
    return dims->ndim <= BP__KERNEL_DIMS;
}

void bp__kernel_spread(bp__kernel_step *step, const bp_device_info *facts, int64_t total, double work, int64_t *run) {
    const int64_t units = facts->units ? facts->units : 1;
    step->dimensions = 1;
    if (bp__kernel_is_cpu(facts)) {
        /* A few work items for each core, each of at least 4 microseconds. */
        const int64_t least = (int64_t)(4000 / work) + 1, share = bp__kernel_divide_up(total, 4 * units);
        *run = bp__least(bp__most(least, share), 1 << 16);
        step->global[0] = (size_t)bp__least(bp__kernel_divide_up(total, *run), 1 << 20);
        step->local[0] = 1;
    } else {
        const int64_t group = facts->group_items >= 128 || facts->group_items == 0 ? 128 : facts->group_items;
        *run = 1;
        step->global[0] = (size_t)(bp__least(bp__kernel_divide_up(total, group), 64 * units) * group);
        step->local[0] = (size_t)group;
    }
}
