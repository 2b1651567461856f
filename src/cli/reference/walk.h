/* walk.h - finds elements of some dimensions of a compact tensor by their row-major index. */
#ifndef BP_CLI_WALK_H
#define BP_CLI_WALK_H

#include "backplane.h"

typedef struct walk {
    int ndim;
    int64_t size[BP_MAX_NDIM], stride[BP_MAX_NDIM];
} walk;

static inline void walk_add(walk *w, int64_t size, int64_t stride) {
    w->size[w->ndim] = size;
    w->stride[w->ndim++] = stride;
}

static inline int64_t walk_count(const walk *w) {
    int64_t count = 1;
    for (int i = 0; i < w->ndim; i++) {
        count *= w->size[i];
    }
    return count;
}

/* Returns the offset of element `index` in row-major order. */
static inline int64_t walk_offset(const walk *w, int64_t index) {
    int64_t offset = 0;
    for (int i = w->ndim - 1; i >= 0; i--) {
        offset += index % w->size[i] * w->stride[i];
        index /= w->size[i];
    }
    return offset;
}

/* Sets the strides of a compact tensor. */
static inline void walk_compact_strides(const DLTensor *tensor, int64_t *strides) {
    int64_t stride = 1;
    for (int i = tensor->ndim - 1; i >= 0; i--) {
        strides[i] = stride;
        stride *= tensor->shape[i] > 0 ? tensor->shape[i] : 1;
    }
}

#endif
