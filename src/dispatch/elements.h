/* elements.h - describes the elements of an operand that an operation reads or writes: sizes and strides. */
#ifndef BP_DISPATCH_ELEMENTS_H
#define BP_DISPATCH_ELEMENTS_H

#include "backplane/tensor.h"

#include <stdbool.h>

typedef struct bp__elements {
    bp_dtype dtype;
    int ndim;
    bool exact;  /* set by a family for an operand that has every dimension which is added, whatever its stride */
    bool unsure; /* whether it has a dimension of size 0 is unknown, because the stride is 0 */
    int64_t shape[BP_MAX_NDIM], strides[BP_MAX_NDIM]; /* strides in elements */
} bp__elements;

/* Whether an input and an output may be the same memory: a plan in place needs that, and functions of single elements
 * allow it. */
typedef enum bp__sharing { BP__APART, BP__MAY_SHARE, BP__SHARED } bp__sharing;

/* Adds a dimension, unless all of its indices are the same element: the operand may not have it. */
static inline void bp__elements_add(bp__elements *elements, int64_t size, int64_t stride) {
    const bool empty = size == 0 && stride == 0;
    elements->unsure |= empty && !elements->exact;
    if ((size != 1 && stride != 0) || (empty && elements->exact)) {
        elements->shape[elements->ndim] = size;
        elements->strides[elements->ndim++] = stride;
    }
}

static inline void bp__elements_add_all(bp__elements *elements, int ndim, const int64_t *sizes,
                                        const int64_t *strides) {
    for (int d = 0; d < ndim; d++) {
        bp__elements_add(elements, sizes[d], strides[d]);
    }
}

/* Whether one of the sizes is 0. */
static inline bool bp__elements_none(int ndim, const int64_t *sizes) {
    bool none = false;
    for (int d = 0; d < ndim; d++) {
        none |= sizes[d] == 0;
    }
    return none;
}

#endif
