/* view.c - fills tensor views over the caller's memory, and computes strides, element counts and descriptions. */
#include "tensor/internal.h"

#include <stdio.h>
#include <string.h>

static void compact_strides(int ndim, const int64_t *shape, int64_t *strides) {
    int64_t step = 1;
    for (int i = ndim - 1; i >= 0; i--) {
        strides[i] = step;
        step *= shape[i] > 0 ? shape[i] : 1;
    }
}

void bp__tensor_strides(const DLTensor *tensor, int64_t *strides) {
    if (tensor->strides) {
        for (int i = 0; i < tensor->ndim; i++) {
            strides[i] = tensor->strides[i];
        }
    } else {
        compact_strides(tensor->ndim, tensor->shape, strides);
    }
}

int64_t bp__tensor_elements(const DLTensor *tensor) {
    int64_t count = 1;
    for (int i = 0; i < tensor->ndim; i++) {
        count *= tensor->shape[i];
    }
    return count;
}

bp_status bp_view_init(bp_view *view, void *data, bp_dtype dtype, int ndim, const int64_t *shape,
                       const int64_t *strides) {
    if (!view) {
        return bp__fail(BP_E_ARGUMENT, "argument 'view' is NULL; give the bp_view to fill");
    }
    if (ndim < 0 || ndim > BP_MAX_NDIM) {
        return bp__fail(BP_E_ARGUMENT, "argument 'ndim' is %d; it must be 0 to %d", ndim, BP_MAX_NDIM);
    }
    if (!shape && ndim > 0) {
        return bp__fail(BP_E_ARGUMENT, "argument 'shape' is NULL; it must hold %d sizes", ndim);
    }
    if (bp_dtype_size(dtype) == 0) {
        return bp__fail(BP_E_DTYPE, "argument 'dtype' is %d, which is not a bp_dtype", (int)dtype);
    }
    DLTensor probe = {
        .data = data,
        .device = {kDLCPU, 0},
        .ndim = ndim,
        .dtype = bp_dtype_to_dlpack(dtype),
        .shape = (int64_t *)(uintptr_t)shape, /* DLPack has no const; this file never writes through the pointer */
        .strides = (int64_t *)(uintptr_t)strides,
    };
    int64_t low;
    int64_t high;
    BP__TRY(bp__tensor_extent(&probe, "view", &low, &high));
    view->tensor = probe;
    view->tensor.shape = view->shape;
    view->tensor.strides = view->strides;
    for (int i = 0; i < ndim; i++) {
        view->shape[i] = shape[i];
    }
    bp__tensor_strides(&probe, view->strides);
    return BP_OK;
}

bp_status bp_view_matrix(bp_view *view, void *data, bp_dtype dtype, int64_t rows, int64_t columns) {
    return bp_view_init(view, data, dtype, 2, (const int64_t[]){rows, columns}, NULL);
}

bp_status bp_view_copy(bp_view *to, const bp_view *from) {
    if (!to || !from) {
        return bp__fail(BP_E_ARGUMENT, "bp_view_copy: argument '%s' is NULL; give a bp_view", to ? "from" : "to");
    }
    const int ndim = from->tensor.ndim;
    if (ndim < 0 || ndim > BP_MAX_NDIM) {
        return bp__fail(BP_E_ARGUMENT, "bp_view_copy: argument 'from' has %d dimensions; it must have 0 to %d", ndim,
                        BP_MAX_NDIM);
    }
    const bool compact = from->tensor.strides == NULL;
    to->tensor = from->tensor;
    for (int i = 0; i < ndim; i++) {
        to->shape[i] = from->shape[i];
        to->strides[i] = compact ? 0 : from->strides[i]; /* a view with compact strides may have none of its own */
    }
    to->tensor.shape = to->shape;
    to->tensor.strides = compact ? NULL : to->strides;
    return BP_OK;
}

const char *bp__tensor_text(const DLTensor *tensor, char *buffer, size_t size) {
    if (size == 0) {
        return buffer;
    }
    size_t used = 0;
    int wrote = snprintf(buffer, size, "%s%s", bp_dtype_name(bp_dtype_from_dlpack(tensor->dtype)),
                         tensor->ndim == 0 ? " scalar" : "");
    bool strided = tensor->strides != NULL && tensor->ndim > 0;
    for (int part = 0; part < (strided ? 2 : 1); part++) {
        const int64_t *values = part == 0 ? tensor->shape : tensor->strides;
        for (int i = 0; i < tensor->ndim && wrote >= 0; i++) {
            used += (size_t)wrote;
            if (used >= size) {
                return buffer;
            }
            const char *between = part == 0 ? (i ? "x" : " ") : (i ? "," : " strides ");
            wrote = snprintf(buffer + used, size - used, "%s%lld", between, (long long)values[i]);
        }
    }
    return buffer;
}
