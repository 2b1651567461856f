/* cumsum.h - computes cumulative sums along a dimension.
 *
 * Element i of a row, which is the elements x along one axis, becomes a sum of elements of the row:
 *
 *     neither flag         y[i] = x[0] + ... + x[i]
 *     exclusive            y[i] = x[0] + ... + x[i - 1], and y[0] is 0
 *     reverse              y[i] = x[i] + ... + x[n - 1]
 *     both                 y[i] = x[i + 1] + ... + x[n - 1], and y[n - 1] is 0
 *
 * as torch.cumsum, and with the flags CumSum of ONNX. The gradient by x is the same call on the gradient by y, with the
 * other value of `reverse`.
 *
 * The output has the shape of the input. Any rank is allowed; a tensor without dimensions is a row of one element,
 * and the axis is 0 or -1. Sizes may be 0.
 *
 * Element types are f16, bf16, f32, f64, i32 and i64. The output has the input's type, or for an input of i32 also i64.
 * Integers wrap around.
 *
 * Floating sums are computed in f64 and rounded at the end: once to f32 or f64, and from f32 to f16 or bf16. The
 * additions form a fixed tree, which depends on the length of a row only: eight elements are added in three
 * levels, the sums of eights in their order within a block of 4096 q elements, and the sums of blocks in their order,
 * where q is n / 2^21, rounded up. So the error of a sum of elements of a row of n is at most min(4 + n / 8, 1028 + n /
 * 4096) 2^-53 times the sum of their magnitudes, plus the error of rounding: the longest path through the tree (Higham,
 * "Accuracy and Stability of Numerical Algorithms", 2002, section 4.2). A sum starts with +0, so that no result is -0.
 * NaN and Inf reach all later elements, and no earlier ones. The sum of a part of a row may overflow in f64 although
 * the sum of all elements before it does not.
 *
 * Results are bitwise equal for every number of threads, instruction set, stride, and place of a row in the tensor.
 *
 * Tensors may have any strides and are read where they are. The output must not overlap the input or itself
 * (BP_E_OVERLAP), except that it may be the input: the same address, type and strides.
 *
 * All functions are thread-safe. Plans are kept in the plan cache.
 *
 * Errors of all functions: BP_E_ARGUMENT (NULL; an axis out of range), BP_E_SHAPE, BP_E_DTYPE, BP_E_DEVICE, BP_E_LAYOUT
 * (an address that is not aligned for its type), BP_E_OVERLAP, BP_E_OVERFLOW, BP_E_NO_CANDIDATE, BP_E_FALLBACK,
 * BP_E_NO_MEMORY, BP_E_CANCELLED (interrupt.h). Nothing is written if arguments are refused.
 */
#ifndef BACKPLANE_CUMSUM_H
#define BACKPLANE_CUMSUM_H

#include "backplane/dispatch.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bp_cumsum_call {
    size_t struct_size; /* sizeof(bp_cumsum_call) */
    int axis;           /* below 0: counts from the end */
    int exclusive;      /* an element is not in its own sum */
    int reverse;        /* an element's sum begins at the end of the row */
    const DLTensor *input;
    DLTensor *output;
} bp_cumsum_call;

/* Run, plan or explain a call, with settings for this call (NULL: none). For planning and explaining, data pointers may
 * be NULL. Release a plan with bp_plan_release(), an explanation with bp_explanation_release(). The operands of a plan
 * are {input, output}. */
BP_API bp_status bp_cumsum_run(const bp_options *options, const bp_cumsum_call *call);
BP_API bp_status bp_cumsum_plan(bp_plan **plan, const bp_options *options, const bp_cumsum_call *call);
BP_API bp_status bp_cumsum_explain(bp_explanation **explanation, const bp_options *options, const bp_cumsum_call *call);

/* Returns the element type and shape of the output, from the input. Without an output, the type is i64 for an input of
 * i32, as in PyTorch and NumPy. `shape` is an array of BP_MAX_NDIM elements. */
BP_API bp_status bp_cumsum_shape(const bp_cumsum_call *call, bp_dtype *dtype, int *ndim, int64_t *shape);

#ifdef __cplusplus
}
#endif

#endif
