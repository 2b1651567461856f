/* shape.h - shapes as text, for the error messages of all operations, and lists of axes. */
#ifndef BP_OPS_SHAPE_H
#define BP_OPS_SHAPE_H

#include "base/base.h"
#include "tensor/internal.h"

#include <stddef.h>
#include <stdint.h>

/* Writes "(2, 3)", truncated at the end of the buffer. Returns the buffer. */
const char *bp__shape_text(int ndim, const int64_t *shape, char *buffer, size_t size);

/* Finds the dimensions in `axes`, where a number below 0 counts from the end, or all if it is NULL (then the count is
 * 0). Writes bit d for dimension d. Fails with BP_E_ARGUMENT if an axis is out of range or given twice; `name` begins
 * the message. */
bp_status bp__find_axes(const char *name, int ndim, int axis_count, const int *axes, uint64_t *found);

/* Fails with BP_E_OVERLAP: the output `name` has strides that give two indices the same address. */
bp_status bp__fail_self_overlap(const char *name, const DLTensor *tensor);

#endif
