/* support_arrays.h - puts arrays on the double's device. */
#ifndef BP_TESTS_CUDA_SUPPORT_ARRAYS_H
#define BP_TESTS_CUDA_SUPPORT_ARRAYS_H

#include "cuda/support_cuda.h"

#include "support/arrays.h"

/* An array on a device, with all of its block. */
typedef struct on_device {
    const test_array *of;
    DLManagedTensorVersioned *block;
    DLTensor tensor;
} on_device;

/* Copies an array to a device, `past` bytes behind a multiple of 256. */
void put(on_device *to, const test_array *from, int device, size_t past);
/* Copies it back into the array, which is *of. */
void get(const on_device *from);
void drop(on_device *gone);

#endif
