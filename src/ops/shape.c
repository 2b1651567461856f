/* shape.c - shapes in words, for the messages of all operations. */
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
