/* pad.h - pads, reverses and rotates tensors along dimensions: moves elements, and computes nothing.
 *
 * PAD adds elements before and after each of the last dimensions, or removes some where an amount is negative. Element
 * i of a dimension of n elements becomes element i + before; the other elements of the output are
 *
 *     CONSTANT     `value`
 *     REFLECT      the elements behind the first or last one, in reverse: c b | a b c d | c b
 *     REPLICATE    the first or last element:                             a a | a b c d | d d
 *     CIRCULAR     the elements of the other end:                         c d | a b c d | a b
 *
 * as torch.nn.functional.pad and numpy.pad (reflect, edge and wrap). The size of a dimension of the output is
 * n + before + after, and at least 0. REFLECT takes amounts below n, CIRCULAR up to n, and REPLICATE elements to
 * replicate. In CIRCULAR a dimension cannot be padded at one end and cropped at the other.
 *
 * FLIP reverses the order along some dimensions, as numpy.flip and torch.flip. ROLL moves each element of an axis by
 * its shift, and those that leave the end come back at the beginning, as numpy.roll and torch.roll: element i becomes
 * element (i + shift) mod n. Shifts may be negative, and larger than n.
 *
 * Elements are of any type, and all their bits are kept. `value` is rounded to a floating type; for integers it must be
 * a whole number in their range, for bool each value but 0 is true, for complex types it is the real part.
 *
 * Tensors may have any strides and are read where they are. Sizes may be 0: of no elements, PAD with CONSTANT makes a
 * tensor of the value. The output must not overlap the input or itself (BP_E_OVERLAP).
 *
 * All functions are thread-safe. Plans are kept in the plan cache.
 *
 * Errors of all functions: BP_E_ARGUMENT (NULL; a mode that does not exist; an amount, a value or an axis out of range;
 * an axis given twice), BP_E_SHAPE, BP_E_DTYPE, BP_E_DEVICE, BP_E_LAYOUT (an address that is not aligned for its type),
 * BP_E_OVERLAP, BP_E_OVERFLOW, BP_E_NO_CANDIDATE, BP_E_FALLBACK, BP_E_NO_MEMORY, BP_E_CANCELLED (interrupt.h). Nothing
 * is written if arguments are refused.
 */
#ifndef BACKPLANE_PAD_H
#define BACKPLANE_PAD_H

#include "backplane/dispatch.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Pads the last `ndim` dimensions of `input`: before[d] and after[d] are the amounts of dimension rank - ndim + d;
 * NULL: all are 0. `value` is for CONSTANT; in other modes it must be 0.
 *
 * For planning and explaining, data pointers may be NULL. Release a plan with bp_plan_release(), an explanation with
 * bp_explanation_release(). The operands of a plan are {input, output}. */
BP_API bp_status bp_pad_run(const bp_options *options, bp_pad_mode mode, const DLTensor *input, int ndim,
                            const int64_t *before, const int64_t *after, double value, DLTensor *output);
BP_API bp_status bp_pad_plan(bp_plan **plan, const bp_options *options, bp_pad_mode mode, const DLTensor *input,
                             int ndim, const int64_t *before, const int64_t *after, double value,
                             const DLTensor *output);
BP_API bp_status bp_pad_explain(bp_explanation **explanation, const bp_options *options, bp_pad_mode mode,
                                const DLTensor *input, int ndim, const int64_t *before, const int64_t *after,
                                double value, const DLTensor *output);

/* Writes the shape of the output, up to BP_MAX_NDIM sizes, and its rank. Data pointers are not needed. */
BP_API bp_status bp_pad_shape(bp_pad_mode mode, const DLTensor *input, int ndim, const int64_t *before,
                              const int64_t *after, int *rank, int64_t *shape);

/* Reverses the order of the elements along the `axis_count` dimensions in `axes`, or along all if `axes` is NULL (then
 * the count is 0). An axis below 0 counts from the end. The output has the shape of the input. The operands of a plan
 * are {input, output}. */
BP_API bp_status bp_flip_run(const bp_options *options, const DLTensor *input, int axis_count, const int *axes,
                             DLTensor *output);
BP_API bp_status bp_flip_plan(bp_plan **plan, const bp_options *options, const DLTensor *input, int axis_count,
                              const int *axes, const DLTensor *output);
BP_API bp_status bp_flip_explain(bp_explanation **explanation, const bp_options *options, const DLTensor *input,
                                 int axis_count, const int *axes, const DLTensor *output);

/* Moves the elements along axes[i] by shifts[i], of `axis_count` axes. An axis below 0 counts from the end. The output
 * has the shape of the input. The operands of a plan are {input, output}. */
BP_API bp_status bp_roll_run(const bp_options *options, const DLTensor *input, int axis_count, const int *axes,
                             const int64_t *shifts, DLTensor *output);
BP_API bp_status bp_roll_plan(bp_plan **plan, const bp_options *options, const DLTensor *input, int axis_count,
                              const int *axes, const int64_t *shifts, const DLTensor *output);
BP_API bp_status bp_roll_explain(bp_explanation **explanation, const bp_options *options, const DLTensor *input,
                                 int axis_count, const int *axes, const int64_t *shifts, const DLTensor *output);

#ifdef __cplusplus
}
#endif

#endif
