/* pool.h - computes maxima and averages of windows over one, two or three dimensions, and the gradients of both, with
 * the shapes and meanings of torch.nn.functional.max_pool1d, avg_pool1d, adaptive_max_pool1d, adaptive_avg_pool1d and
 * their counterparts of two and three dimensions.
 *
 * Shapes, for ndim dimensions (N items, C channels):
 *
 *     input   N x C x I1 x ... x In          output, indices   N x C x O1 x ... x On
 *
 * N may be omitted from all of them. In each dimension, the window of output o consists of the inputs
 *
 *     with a kernel   o stride - padding + t dilation, for t = 0 to kernel - 1, as far as they are inside the input
 *     adaptive        floor(o I / O) to ceil((o + 1) I / O) - 1
 *
 * and the size of the output is, with a kernel,
 *
 *     O = (I + 2 padding - dilation (kernel - 1) - 1) / stride + 1
 *
 * rounded down, or up with `ceil_mode`; a last window that would begin behind the input and its first padding is then
 * left out. These are the rules of PyTorch (aten/src/ATen/native/Pool.h, AdaptivePooling.h).
 *
 * Maximum: padding counts as minus infinity. NaN is larger than every number. `indices` gets the place of the maximum
 * in the item's channel, (i1 I2 + i2) I3 + i3: the first of equal ones, the last NaN. A window that has no input,
 * which dilation makes possible, gives minus infinity and the index -1.
 *
 * Average: the sum of the window, divided by the number of its elements. That number includes the padding (also a
 * part of a window behind the padding does not count), unless `exclude_padding` is set. `divisor` replaces it. The
 * average of an empty window is 0.
 *
 * Gradients: the pass BACKWARD computes input_gradient, the gradient of a loss by `input`, from output_gradient. For a
 * maximum it adds each gradient at the place that `indices` has, which may be any place of the channel; -1 adds
 * nothing, and other values fail with BP_E_ARGUMENT. For an average it adds the gradient, divided as above, at each
 * place of the window.
 *
 * Element types: f16, bf16, f32 and f64, the same for input and output; indices are i64. Sums of f16 and bf16 are
 * accumulated in f32 and rounded once. Tensors may have any strides and are read where they are, without copies;
 * contiguous and channels-last ones are fast. The written tensors must not overlap the others or themselves
 * (BP_E_OVERLAP). Results do not depend on the number of threads.
 *
 * All functions are thread-safe. Plans are kept in the plan cache.
 *
 * Errors of all functions: BP_E_ARGUMENT (NULL; ndim not 1 to 3; kernel, stride or dilation below 1; padding negative
 * or more than half of the kernel's span, dilation (kernel - 1) + 1; a parameter or tensor that the kind of pooling
 * or the pass does not have; a bad index), BP_E_SHAPE, BP_E_DTYPE, BP_E_DEVICE, BP_E_LAYOUT (an address that is not
 * aligned for its type), BP_E_OVERLAP, BP_E_OVERFLOW, BP_E_NO_CANDIDATE, BP_E_FALLBACK, BP_E_NO_MEMORY, BP_E_CANCELLED
 * (interrupt.h).
 */
#ifndef BACKPLANE_POOL_H
#define BACKPLANE_POOL_H

#include "backplane/dispatch.h"

#ifdef __cplusplus
extern "C" {
#endif

#define BP_POOL_NDIM 3 /* most dimensions */

typedef enum bp_pool_kind { BP_POOL_MAX, BP_POOL_AVERAGE } bp_pool_kind;

/* What a call computes, and the operands of its plan. */
typedef enum bp_pool_pass {
    BP_POOL_FORWARD, /* maximum: {input, output, indices}, indices optional; average: {input, output} */
    BP_POOL_BACKWARD /* maximum: {output_gradient, indices, input_gradient}; average: {output_gradient, input_gradient}
                      */
} bp_pool_pass;

/* One call. Members that are 0 or NULL have their defaults. The arrays have `ndim` elements. */
typedef struct bp_pool_call {
    size_t struct_size; /* sizeof(bp_pool_call) */
    bp_pool_kind kind;
    bp_pool_pass pass;
    int ndim;
    const int64_t *output_size; /* adaptive pooling to these sizes, with none of the parameters below; NULL: a kernel */
    const int64_t *kernel;
    const int64_t *stride;   /* NULL: the kernel */
    const int64_t *dilation; /* maximum; NULL: 1 */
    const int64_t *padding;  /* on both sides; NULL: 0 */
    int ceil_mode;
    int exclude_padding; /* average */
    int64_t divisor;     /* average; 0: the number of elements. Not with exclude_padding */
    const DLTensor *input;
    DLTensor *output, *indices; /* BACKWARD reads the indices */
    const DLTensor *output_gradient;
    DLTensor *input_gradient;
} bp_pool_call;

/* Run, plan or explain a call, with settings for this call (NULL: none). For planning and explaining, data pointers may
 * be NULL. Release a plan with bp_plan_release(), an explanation with bp_explanation_release(). */
BP_API bp_status bp_pool_run(const bp_options *options, const bp_pool_call *call);
BP_API bp_status bp_pool_plan(bp_plan **plan, const bp_options *options, const bp_pool_call *call);
BP_API bp_status bp_pool_explain(bp_explanation **explanation, const bp_options *options, const bp_pool_call *call);

/* Returns the element type and shape of the output, from the input (the other tensors may be NULL). `shape` is an array
 * of BP_MAX_NDIM elements. */
BP_API bp_status bp_pool_shape(const bp_pool_call *call, bp_dtype *dtype, int *ndim, int64_t *shape);

#ifdef __cplusplus
}
#endif

#endif
