/* layout.h - declares a normal form of strided copies, and the parts of it that OpenCL's rectangles can express. */
#ifndef BP_PROVIDERS_OPENCL_LAYOUT_H
#define BP_PROVIDERS_OPENCL_LAYOUT_H

#include "backplane/runtime.h"

#include <stdbool.h>

/* The runs of a transfer. Addresses are offsets in bytes from the two bases. */
typedef struct bp__cl_layout {
    uint64_t run; /* bytes */
    int ndim;
    uint64_t dst, src;
    uint64_t size[BP_TRANSFER_MAX_NDIM];
    int64_t dst_stride[BP_TRANSFER_MAX_NDIM], src_stride[BP_TRANSFER_MAX_NDIM];
} bp__cl_layout;

/* Sets *layout to the transfer's runs in normal form: no dimensions of size 1; dimensions by decreasing stride on the
 * side `by_dst` (the destination) or the source; strides of that side not negative; merged where both sides allow it.
 * Returns false if nothing is to be copied. */
bool bp__cl_layout_of(const bp_transfer *transfer, bool by_dst, bp__cl_layout *layout);

/* A choice of dimensions for the rows and the slices of rectangles; -1: none. The other dimensions are iterated. */
typedef struct bp__cl_rectangle {
    int row, slice;
    uint64_t pieces; /* number of rectangles */
} bp__cl_rectangle;

/* Returns the choice with the fewest rectangles. Pitches of OpenCL are positive, and at least as long as
 * what they separate. The pitch of slices is a multiple of the pitch of rows. */
bp__cl_rectangle bp__cl_rectangle_of(const bp__cl_layout *layout);

/* Returns the number of bytes that are copied. */
uint64_t bp__cl_layout_bytes(const bp__cl_layout *layout);

#endif
