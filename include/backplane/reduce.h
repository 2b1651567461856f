/* reduce.h - computes sums, products, means, extremes and their positions, truths, variances and standard deviations
 * over dimensions of a tensor; softmax and its gradients.
 *
 * A reduction joins the elements along some dimensions, the axes, to one element of the output. The output has the
 * other dimensions in their order; with `keep`, it has all dimensions, and the axes have size 1. Meanings are as in
 * the Python array API standard (2023.12):
 *
 *     SUM, PROD        sum and product; of no elements 0 and 1
 *     MEAN             the sum divided by the number of elements; of no elements NaN
 *     MAX, MIN         the greatest and the least element; NaN if an element is NaN
 *     ARGMAX, ARGMIN   the position of the first element with that value, where NaN counts as greatest and as least.
 *                      With several axes it is the row-major index in them
 *     ANY, ALL         whether an element, or each one, is not 0; NaN is not 0. Of no elements ANY is false, ALL true
 *
 * MAX, MIN, ARGMAX and ARGMIN of no elements are refused. Element types are f16, bf16, f32, f64, i32 and i64, but MEAN
 * is of the floating types only, and ANY and ALL are also of bool, where each byte that is not 0 is true. The output
 * has the input's type, the output of ARGMAX and ARGMIN is i64, the output of ANY and ALL bool, and sums and products
 * of i32 may also be i64. Sums and products of integers wrap around.
 *
 * Floating sums and products are computed in f64 and rounded at the end, after the division of MEAN: once to f32 or
 * f64, and from f32 to f16 or bf16. The order of the additions depends on the problem only. The error of a sum of n
 * elements is at most n 2^-53 times the sum of their magnitudes, plus the error of rounding; a row of contiguous
 * elements has sums of at most 128 elements first, and then their sums, so that n is replaced by 200 + n / 8192.
 *
 * Variances and standard deviations, with the mean m of n elements and a `correction` c:
 *
 *     VAR   (sum over i of (x[i] - m)^2) / max(n - c, 0)
 *     STD   the square root of VAR
 *
 * as torch.var and numpy.var: c is 1 for a sample and 0 for all that there is, and may be any finite number. So without
 * more than c elements, VAR is Inf, or NaN if all elements are equal; of no elements it is NaN if c is not negative.
 * NaN and infinities give NaN. Types are f16, bf16, f32 and f64, the same for both tensors.
 *
 * Deviations are computed in f64 from the differences to one of the elements, so that no error grows with the mean: the
 * relative error of VAR is at most (2 n + 32) 2^-53, half of that for STD, plus the error of rounding, as for sums. In
 * f64 the sum of the squares must be in range: with deviations from about 1e154 on, VAR and STD are Inf or NaN, and
 * squares of deviations below 2^-511 lose digits or are 0. In f32 and shorter types neither can happen.
 *
 * Softmax of a row, the elements along one axis, with the greatest element m of the row (NaN if one is NaN):
 *
 *     SOFTMAX       y[i] = exp(x[i] - m) / sum over j of exp(x[j] - m)
 *     LOG_SOFTMAX   y[i] = x[i] - m - log(sum over j of exp(x[j] - m))
 *
 * as torch.nn.functional.softmax and log_softmax. So no finite row overflows. A row with NaN or +Inf, and one of -Inf
 * only, gives NaN. The gradients by x, from y and the gradient d by y:
 *
 *     SOFTMAX       y[i] (d[i] - sum over j of d[j] y[j])
 *     LOG_SOFTMAX   d[i] - exp(y[i]) sum over j of d[j]
 *
 * Types are f16, bf16, f32 and f64, the same for all tensors. Differences x[i] - m and exponentials are computed in f32
 * (f64 in f64): with a relative error of half a unit of rounding, and below 2 units. Exponentials below the least
 * normal number are 0. Sums are computed in f64, results are rounded once from f32 or f64.
 *
 * A device without f64 computes these sums as pairs of f32, with 2^-44 in place of 2^-53 and the range of f32. It
 * refuses floating products. Its deviations are f32: VAR has a further relative error of 2^-20, and their squares must
 * be in the range of f32.
 *
 * Tensors may have any strides and are read where they are. The written tensor must not overlap the others or itself
 * (BP_E_OVERLAP), except that softmax works in place: then the output has the same address and strides as the input.
 * An axis below 0 counts from the end. Results do not depend on the number of threads.
 *
 * All functions are thread-safe. Plans are kept in the plan cache.
 *
 * Errors of all functions: BP_E_ARGUMENT (NULL; a kind that does not exist; an axis out of range or given twice),
 * BP_E_SHAPE, BP_E_DTYPE, BP_E_DEVICE, BP_E_LAYOUT (an address that is not aligned for its type), BP_E_OVERLAP,
 * BP_E_OVERFLOW, BP_E_NO_CANDIDATE, BP_E_FALLBACK, BP_E_NO_MEMORY, BP_E_CANCELLED (interrupt.h). Nothing is written if
 * arguments are refused.
 */
#ifndef BACKPLANE_REDUCE_H
#define BACKPLANE_REDUCE_H

#include "backplane/dispatch.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Reduces `input` over the `axis_count` dimensions in `axes`, or over all if `axes` is NULL (then the count is 0). An
 * empty list that is not NULL reduces nothing: each element is joined with no other.
 *
 * For planning and explaining, data pointers may be NULL. Release a plan with bp_plan_release(), an explanation with
 * bp_explanation_release(). The operands of a plan are {input, output}. */
BP_API bp_status bp_reduce_run(const bp_options *options, bp_reduce_kind kind, const DLTensor *input, int axis_count,
                               const int *axes, int keep, DLTensor *output);
BP_API bp_status bp_reduce_plan(bp_plan **plan, const bp_options *options, bp_reduce_kind kind, const DLTensor *input,
                                int axis_count, const int *axes, int keep, const DLTensor *output);
BP_API bp_status bp_reduce_explain(bp_explanation **explanation, const bp_options *options, bp_reduce_kind kind,
                                   const DLTensor *input, int axis_count, const int *axes, int keep,
                                   const DLTensor *output);

/* Writes the shape of the output of a reduction or a variance, up to BP_MAX_NDIM sizes, and its rank. Data pointers are
 * not needed. */
BP_API bp_status bp_reduce_shape(const DLTensor *input, int axis_count, const int *axes, int keep, int *ndim,
                                 int64_t *shape);

/* Computes the variance of `input`, or its root, over axes as above. The operands of a plan are {input, output}. Errors
 * also: BP_E_ARGUMENT (`correction` is not finite). */
BP_API bp_status bp_variance_run(const bp_options *options, bp_variance_kind kind, const DLTensor *input,
                                 int axis_count, const int *axes, double correction, int keep, DLTensor *output);
BP_API bp_status bp_variance_plan(bp_plan **plan, const bp_options *options, bp_variance_kind kind,
                                  const DLTensor *input, int axis_count, const int *axes, double correction, int keep,
                                  const DLTensor *output);
BP_API bp_status bp_variance_explain(bp_explanation **explanation, const bp_options *options, bp_variance_kind kind,
                                     const DLTensor *input, int axis_count, const int *axes, double correction,
                                     int keep, const DLTensor *output);

/* Computes softmax along `axis`. The operands of a plan are {input, output}. */
BP_API bp_status bp_softmax_run(const bp_options *options, bp_softmax_kind kind, const DLTensor *input, int axis,
                                DLTensor *output);
BP_API bp_status bp_softmax_plan(bp_plan **plan, const bp_options *options, bp_softmax_kind kind, const DLTensor *input,
                                 int axis, const DLTensor *output);
BP_API bp_status bp_softmax_explain(bp_explanation **explanation, const bp_options *options, bp_softmax_kind kind,
                                    const DLTensor *input, int axis, const DLTensor *output);

/* Computes the gradient by the input of softmax from its output and the gradient by the output. The operands of a plan
 * are {output, output_gradient, input_gradient}. */
BP_API bp_status bp_softmax_backward_run(const bp_options *options, bp_softmax_kind kind, const DLTensor *output,
                                         const DLTensor *output_gradient, int axis, DLTensor *input_gradient);
BP_API bp_status bp_softmax_backward_plan(bp_plan **plan, const bp_options *options, bp_softmax_kind kind,
                                          const DLTensor *output, const DLTensor *output_gradient, int axis,
                                          const DLTensor *input_gradient);
BP_API bp_status bp_softmax_backward_explain(bp_explanation **explanation, const bp_options *options,
                                             bp_softmax_kind kind, const DLTensor *output,
                                             const DLTensor *output_gradient, int axis, const DLTensor *input_gradient);

#ifdef __cplusplus
}
#endif

#endif
