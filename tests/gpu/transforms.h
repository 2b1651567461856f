/* transforms.h - transforms on the device by the library and by cuFFT itself, for rules and costs. */
#ifndef BP_TESTS_GPU_TRANSFORMS_H
#define BP_TESTS_GPU_TRANSFORMS_H

#include "check.h"

#include "backplane.h"

#include "providers/cufft/api.h"

enum { TRANSFORM_BYTES = 1 << 16, TRANSFORM_NDIM = 4 };

/* An array on the device and on the host, with the same layout. */
typedef struct transformed {
    DLManagedTensorVersioned *block;
    bp_view host;
    DLTensor device;
    uint8_t *bytes;
} transformed;

/* A transform, and what the host has made of the same input. */
typedef struct transform {
    bp_fft_call call;
    transformed in, out;
    uint8_t *expected;
} transform;

extern int32_t transform_place;

/* Opens the first device; skipped with the reason if there is no cuFFT. */
outcome open_transforms(void);
/* Makes a transform of an input with these strides; the result is compact. Addresses are `past` bytes behind multiples
 * of 256. */
outcome new_transform(transform *t, const bp_fft_call *call, bp_dtype dtype, int ndim, const int64_t *shape,
                      const int64_t *strides, size_t past);
/* Makes other input, and writes it on a queue. Computes the result on the host. */
outcome write_transform(transform *t, bp_queue *queue);
/* Does so with the input that `in.bytes` have. */
outcome send_transform(transform *t, bp_queue *queue);
/* Compares the result with the host's, and the input with what was written. */
outcome expect_transform(transform *t);
void free_transform(transform *t);

/* ---- cuFFT itself ---- */

extern bp__cufft_api fft;
outcome open_cufft(void);

/* A plan of `count` complex numbers of f32, to complex or to real numbers, with a workspace. */
typedef struct own_transform {
    cufftHandle plan;
    DLManagedTensorVersioned *from, *to, *workspace;
    size_t workspace_size;
} own_transform;
outcome new_own_transform(own_transform *t, int rank, long long *n, bool to_real, CUstream stream);
/* Returns the library's status. */
unsigned run_own_transform(const own_transform *t);
void free_own_transform(own_transform *t);

#endif
