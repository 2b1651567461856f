/* support_layouts.h - copies tensors with random layouts, and compares with copies element by element. */
#ifndef BP_TESTS_DEVICE_LAYOUTS_H
#define BP_TESTS_DEVICE_LAYOUTS_H

#include "device/support_device.h"

/* A tensor in some memory, and what its bytes are. */
typedef struct placed {
    bp_view view;
    const char *id; /* NULL: the host */
    DLManagedTensorVersioned *block;
    uint8_t *host; /* bytes of the whole block, on the host or as they should be */
    size_t size;
} placed;

/* Makes a block with random bytes, and a tensor in it with random strides. */
void placed_make(placed *p, const char *id, bp_dtype dtype, int ndim, const int64_t *shape, bool may_repeat);
void placed_free(placed *p);

/* Copies between two such tensors, with a queue or without, and compares all bytes of the destination's block. */
void copy_and_check(const char *to, const char *from, bp_dtype dtype, int ndim, const int64_t *shape, bool queued);
/* The same for a random shape and type. */
void copy_random(const char *to, const char *from, int most_dims);

#endif
