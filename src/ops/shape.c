/* shape.c - writes shapes as text, for the error messages of all operations. */
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
