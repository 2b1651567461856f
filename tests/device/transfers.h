/* transfers.h - compares calls on copies of operands that are on a device with the same calls in host memory.
 *
 * All tensors of a call have gaps and lie in one block of device memory; a copy of the block is in host memory. */
#ifndef BP_TESTS_DEVICE_TRANSFERS_H
#define BP_TESTS_DEVICE_TRANSFERS_H

#include "device/support_device.h"

enum { BLOCK = 1 << 18, TENSORS = 24, ALIGNMENT = 64 };

typedef struct placed {
    bp_view host, device;
} placed;

typedef struct transfers_side {
    DLManagedTensorVersioned *device; /* the block, as bytes */
    char *host;
    char got[BLOCK];
    size_t used;
    int count;
    bool on_device; /* what t() returns */
    placed tensor[TENSORS];
} transfers_side;
extern transfers_side transfers;

extern bp_options *transfers_options; /* both sides choose among the same candidates */

int transfers_start(void **state);
int transfers_stop(void **state);
int transfers_clear(void **state);

#define SHAPE(...)                                                                                                     \
    (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (int64_t[]) {                                           \
        __VA_ARGS__                                                                                                    \
    }

/* Adds a tensor with a gap after each element and each row; with `reversed`, its first dimension runs backwards. */
void add(bp_dtype dtype, bool reversed, int ndim, const int64_t *shape);
/* Returns tensor `i` on the side that runs. */
DLTensor *t(int i);
/* Runs the call on both sides, compares all bytes, and removes the tensors. */
void compare(const char *name, bp_status (*run)(void));

#endif
