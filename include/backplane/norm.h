/* norm.h - computes batch normalization: inference, training and gradients, with the meanings of
 * torch.nn.functional.batch_norm.
 *
 * Shapes: input, output and their gradients are N x C or N x C x I1 to N x C x I1 x I2 x I3; all other tensors have C
 * elements. For channel c, with mean and variance of the channel,
 *
 *     output[n,c,i] = (input[n,c,i] - mean[c]) inverse_std[c] weight[c] + bias[c]
 *     inverse_std[c] = 1 / square root of (variance[c] + eps)
 *
 * (Ioffe and Szegedy, "Batch Normalization", 2015, algorithms 1 and 2.) An absent weight is 1, an absent bias is 0.
 *
 * INFERENCE takes running_mean and running_var as mean and variance. TRAINING takes those of the input, where the
 * variance is the mean square of the deviations. It writes them to `mean` and `inverse_std`, if these are given, and
 * updates running_mean and running_var, if these are given:
 *
 *     running = (1 - momentum) running + momentum statistic
 *
 * where the statistic of running_var is the unbiased variance, with the number of values less one.
 *
 * BACKWARD computes the gradients of a loss from `output`, which has the gradient by the output. With `mean` and
 * `inverse_std`, as TRAINING wrote them, the statistics depend on the input; with running_mean and running_var they
 * are constants. Of the M values of a channel, with x = (input - mean) inverse_std:
 *
 *     bias_gradient = sum of output         weight_gradient = sum of output x
 *     input_gradient = weight inverse_std (output - bias_gradient / M - x weight_gradient / M)
 *
 * without the last two terms if the statistics are constants. Gradients that are NULL are not computed.
 *
 * Element types: f16, bf16, f32 and f64, the same for input, output and input_gradient. The tensors of C elements have
 * that type too; for f16 and bf16, all of them may be f32 instead. Statistics and sums are computed in f64, elements in
 * f32 (f64 in f64) and rounded once. Tensors may have any strides and are read where they are. The written tensors must
 * not overlap the others or themselves (BP_E_OVERLAP). Results do not depend on the number of threads.
 *
 * All functions are thread-safe. Plans are kept in the plan cache.
 *
 * Errors of all functions: BP_E_ARGUMENT (NULL; a negative or non-finite eps; a non-finite momentum; a tensor that the
 * pass does not have), BP_E_SHAPE (also: TRAINING with fewer than two values per channel), BP_E_DTYPE, BP_E_DEVICE,
 * BP_E_LAYOUT (an address that is not aligned for its type), BP_E_OVERLAP, BP_E_OVERFLOW, BP_E_NO_CANDIDATE,
 * BP_E_FALLBACK, BP_E_NO_MEMORY, BP_E_CANCELLED (interrupt.h).
 */
#ifndef BACKPLANE_NORM_H
#define BACKPLANE_NORM_H

#include "backplane/dispatch.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a call computes, and the operands of its plan. */
typedef enum bp_batch_norm_pass {
    BP_BATCH_NORM_INFERENCE, /* {input, weight, bias, running_mean, running_var, output} */
    BP_BATCH_NORM_TRAINING,  /* {input, weight, bias, output, mean, inverse_std, running_mean, running_var} */
    BP_BATCH_NORM_BACKWARD   /* {output, input, weight, mean, inverse_std, input_gradient, weight_gradient,
                              * bias_gradient}, or with running_mean and running_var in place of mean and inverse_std */
} bp_batch_norm_pass;

/* One call. Members that are 0 or NULL are absent. */
typedef struct bp_batch_norm_call {
    size_t struct_size; /* sizeof(bp_batch_norm_call) */
    bp_batch_norm_pass pass;
    int relu;        /* INFERENCE: negative elements of the output become 0 (NaN stays NaN) */
    double eps;      /* added to variances; 0: nothing */
    double momentum; /* TRAINING: share of the new statistics */
    const DLTensor *input, *weight, *bias, *output;
    const DLTensor *running_mean, *running_var;
    const DLTensor *mean, *inverse_std;
    const DLTensor *input_gradient, *weight_gradient, *bias_gradient;
} bp_batch_norm_call;

/* Run, plan or explain a call, with settings for this call (NULL: none). For planning and explaining, data pointers may
 * be NULL. Release a plan with bp_plan_release(), an explanation with bp_explanation_release(). */
BP_API bp_status bp_batch_norm_run(const bp_options *options, const bp_batch_norm_call *call);
BP_API bp_status bp_batch_norm_plan(bp_plan **plan, const bp_options *options, const bp_batch_norm_call *call);
BP_API bp_status bp_batch_norm_explain(bp_explanation **explanation, const bp_options *options,
                                       const bp_batch_norm_call *call);

#ifdef __cplusplus
}
#endif

#endif
