/* shape.h - shapes as text, for the error messages of all operations. */
#ifndef BP_OPS_SHAPE_H
#define BP_OPS_SHAPE_H

#include "base/base.h"
#include "tensor/internal.h"

#include <stddef.h>
#include <stdint.h>

/* Writes "(2, 3)", truncated at the end of the buffer. Returns the buffer. */
const char *bp__shape_text(int ndim, const int64_t *shape, char *buffer, size_t size);

/* Fails with BP_E_OVERLAP: the output `name` has strides that give two indices the same address. */
bp_status bp__fail_self_overlap(const char *name, const DLTensor *tensor);

#endif
