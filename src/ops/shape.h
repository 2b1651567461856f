/* shape.h - shapes in the words of messages, for the files of all operations. */
#ifndef BP_OPS_SHAPE_H
#define BP_OPS_SHAPE_H

#include <stddef.h>
#include <stdint.h>

/* "(2, 3)", cut where the buffer ends; returns it. */
const char *bp__shape_text(int ndim, const int64_t *shape, char *buffer, size_t size);

#endif
