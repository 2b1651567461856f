/* shape.c - writes shapes as text, for the error messages of all operations, and checks lists of axes. */
#include "ops/shape.h"

#include <inttypes.h>
#include <stdio.h>

const char *bp__shape_text(int ndim, const int64_t *shape, char *buffer, size_t size) {
    size_t used = (size_t)snprintf(buffer, size, "(");
    for (int i = 0; i < ndim && used < size; i++) {
        used += (size_t)snprintf(buffer + used, size - used, "%s%" PRId64, i ? ", " : "", shape[i]);
    }
    if (used < size) {
        snprintf(buffer + used, size - used, ")");
    }
    return buffer;
}

bp_status bp__fail_self_overlap(const char *name, const DLTensor *tensor) {
    char strides[256];
    return bp__fail(BP_E_OVERLAP, "%s: strides %s give two indices the same address; an output must not overlap itself",
                    name, bp__shape_text(tensor->ndim, tensor->strides, strides, sizeof strides));
}

bp_status bp__find_axes(const char *name, int ndim, int axis_count, const int *axes, uint64_t *found) {
    *found = 0;
    if (axis_count < 0 || axis_count > BP_MAX_NDIM || (!axes && axis_count > 0)) {
        return bp__fail(BP_E_ARGUMENT, "%s: axis_count is %d%s; it must be 0 to %d, and 0 without axes", name,
                        axis_count, axes ? "" : ", and axes is NULL", BP_MAX_NDIM);
    }
    for (int i = 0; i < (axes ? axis_count : ndim); i++) {
        const int64_t axis = !axes ? i : axes[i] < 0 ? (int64_t)axes[i] + ndim : axes[i];
        if (axis < 0 || axis >= ndim) {
            return bp__fail(BP_E_ARGUMENT, "%s: axis %d is not a dimension of a tensor with %d", name, axes[i], ndim);
        }
        if (*found >> axis & 1) {
            return bp__fail(BP_E_ARGUMENT, "%s: axis %d is given twice", name, (int)axis);
        }
        *found |= UINT64_C(1) << axis;
    }
    return BP_OK;
}
