/* strided.h - declares a normal form of strided copies, and the parts of it that a driver can copy as rectangles. */
#ifndef BP_PROVIDERS_STRIDED_H
#define BP_PROVIDERS_STRIDED_H

#include "backplane/runtime.h"

#include <stdbool.h>

/* The runs of a transfer. Addresses are offsets in bytes from the two bases. */
typedef struct bp__strided {
    uint64_t run; /* bytes */
    int ndim;
    uint64_t dst, src;
    uint64_t size[BP_TRANSFER_MAX_NDIM];
    int64_t dst_stride[BP_TRANSFER_MAX_NDIM], src_stride[BP_TRANSFER_MAX_NDIM];
} bp__strided;

/* Sets *layout to the transfer's runs in normal form: no dimensions of size 1; dimensions by decreasing stride on the
 * side `by_dst` (the destination) or the source; strides of that side not negative; merged where both sides allow it.
 * Returns false if nothing is to be copied. */
bool bp__strided_of(const bp_transfer *transfer, bool by_dst, bp__strided *layout);

/* A choice of dimensions for the rows and the slices of rectangles; -1: none. The other dimensions are iterated. */
typedef struct bp__rectangle {
    int row, slice;
    uint64_t pieces; /* number of rectangles */
} bp__rectangle;

/* Returns the choice with the fewest rectangles. Pitches are positive, and at least as long as what they separate. The
 * pitch of slices is a multiple of the pitch of rows. */
bp__rectangle bp__rectangle_of(const bp__strided *layout);

/* Sets offsets to the offsets of rectangle `number`, whose dimensions are not counted. */
void bp__rectangle_seek(const bp__strided *layout, const bp__rectangle *rectangle, uint64_t number, uint64_t *dst,
                        uint64_t *src);

/* Returns the number of bytes that are copied. */
uint64_t bp__strided_bytes(const bp__strided *layout);

/* Returns the largest unit, at most 16 bytes, in which all sizes, offsets and strides are whole numbers. */
uint64_t bp__strided_unit(const bp__strided *layout);

/* Divides a copy between host and device, in normal form of the host's side, into one between the host and a block of
 * the device, whose runs have the order of the host's memory, and one between that block and the device. Offsets in the
 * block begin at 0. Dimensions that the host repeats (stride 0) are in the second one only. */
void bp__strided_divide(const bp__strided *layout, bool write, bp__strided *host, bp__strided *device);

#endif
