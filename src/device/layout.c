/* layout.c - simplifies the layout of a strided copy: runs of contiguous bytes, and few dimensions around them. */
#include "device/private.h"

#include "tensor/internal.h"

static void put_in_order(bp__copy_layout *layout, bp__copy_dim dim) {
    int at = layout->count++;
    while (at > 0 && layout->dims[at - 1].dst < dim.dst) {
        layout->dims[at] = layout->dims[at - 1];
        at--;
    }
    layout->dims[at] = dim;
}

/* Merges neighbours if one continues the other in both tensors. */
static void merge(bp__copy_layout *layout) {
    int kept = 0;
    for (int i = 0; i < layout->count; i++) {
        const bp__copy_dim inner = layout->dims[i];
        bp__copy_dim *outer = kept > 0 ? &layout->dims[kept - 1] : NULL;
        if (outer && outer->dst == inner.size * inner.dst && outer->src == inner.size * inner.src) {
            *outer = (bp__copy_dim){outer->size * inner.size, inner.dst, inner.src};
        } else {
            layout->dims[kept++] = inner;
        }
    }
    layout->count = kept;
}

void bp__copy_layout_make(bp__copy_layout *layout, const DLTensor *dst, const DLTensor *src, size_t item) {
    int64_t dst_strides[BP_MAX_NDIM], src_strides[BP_MAX_NDIM];
    const int64_t size = (int64_t)item;
    *layout = (bp__copy_layout){.run = size};
    bp__tensor_strides(dst, dst_strides);
    bp__tensor_strides(src, src_strides);
    for (int i = 0; i < dst->ndim; i++) {
        bp__copy_dim dim = {dst->shape[i], dst_strides[i] * size, src_strides[i] * size};
        if (dim.size == 1) {
            continue;
        }
        if (dim.dst < 0) { /* backwards in both */
            layout->dst_first += (dim.size - 1) * dim.dst;
            layout->src_first += (dim.size - 1) * dim.src;
            dim.dst = -dim.dst;
            dim.src = -dim.src;
        }
        put_in_order(layout, dim);
    }
    merge(layout);
    if (layout->count > 0) {
        const bp__copy_dim *last = &layout->dims[layout->count - 1];
        if (last->dst == size && last->src == size) {
            layout->run = size * last->size;
            layout->count--;
        }
    }
}

int64_t bp__copy_layout_runs(const bp__copy_layout *layout) {
    int64_t runs = 1;
    for (int i = 0; i < layout->count; i++) {
        runs *= layout->dims[i].size;
    }
    return runs;
}
