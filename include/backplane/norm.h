/* norm.h - computes batch normalization (bp_batch_norm_call), and layer, RMS and group normalization
 * (bp_layer_norm_call): inference, training and gradients, with the meanings of the functions of
 * torch.nn.functional.
 *
 * Batch normalization. Shapes: input, output and their gradients are N x C or N x C x I1 to N x C x I1 x I2 x I3; all
 * other tensors have C elements. For channel c, with mean and variance of the channel,
 *
 *     output[n,c,i] = (input[n,c,i] - mean[c]) inverse_std[c] weight[c] + bias[c]
 *     inverse_std[c] = 1 / square root of (variance[c] + eps)
 *
 * (Ioffe and Szegedy, "Batch Normalization", 2015, algorithms 1 and 2.) An absent weight is 1, an absent bias is 0.
 *
 * INFERENCE takes running_mean and running_var as mean and variance. TRAINING takes mean and variance of the input,
 * where the variance is the mean square of the deviations. It writes them to `mean` and `inverse_std`, if these are
 * given, and updates running_mean and running_var, if these are given:
 *
 *     running = (1 - momentum) running + momentum statistic
 *
 * where the statistic of running_var is the unbiased variance, with the number of values less one.
 *
 * BACKWARD computes the gradients of a loss from `output_gradient`, the gradient by the output. With `mean` and
 * `inverse_std`, as TRAINING wrote them, the statistics depend on the input; with running_mean and running_var they
 * are constants. Of the M values of a channel, with x = (input - mean) inverse_std:
 *
 *     bias_gradient = sum of output_gradient         weight_gradient = sum of output_gradient x
 *     input_gradient = weight inverse_std (output_gradient - bias_gradient / M - x weight_gradient / M)
 *
 * without the last two terms if the statistics are constants. Gradients that are NULL are not computed.
 *
 * Means and variances of TRAINING are computed in f64 from the differences to the first value of the channel, in two
 * passes over each block of values. So their errors do not grow with the mean. With the root mean square Q of these
 * differences, the standard deviation S and e = (4 M + 16) 2^-53, the error of the mean is at most e Q, and the
 * relative error of the variance at most e (1 + 4 Q / S), before they are rounded to the type of the result. Elements
 * are computed in f32 (f64 in f64) from the deviation, with an error of at most 4 units of rounding of
 * |(input - mean) inverse_std weight| + |bias|, in addition to the errors of the statistics, before they are rounded to
 * the output's type. The mean of TRAINING is not rounded to the type of the computation before it is subtracted.
 * oneDNN rounds inverse_std weight first, so that its results are infinite where this product is, or lose digits where
 * it is denormal; `batch_norm.enabled=native` excludes it.
 *
 * BACKWARD subtracts `mean` or running_mean as stored, before it multiplies. So the sums have an error of at most
 * M 2^-50 times the sum of the magnitudes of their terms, and input_gradient has one of at most 8 units of rounding of
 * |weight inverse_std| (|output_gradient| + |bias_gradient / M| + |x weight_gradient / M|), in addition to the errors
 * of the sums and before it is rounded. A mean that was rounded to the type of `mean` differs from the mean of the
 * values, which changes every x by (mean - stored mean) inverse_std: in f32, by up to 6 % if the mean is 10^6 times the
 * standard deviation.
 *
 * Layer, RMS and group normalization divide the input into rows, and normalize each row with its own statistics.
 *
 *     LAYER   a row is the last `row_ndim` dimensions; weight and bias have the shape of a row
 *     RMS     the same with a mean of 0, and without bias
 *     GROUP   the input is N x C x ...; a row has C / groups channels of one item. Weight and bias have C elements.
 *             With C groups this is instance normalization, with one group layer normalization of items
 *
 * With the mean of a row, 0 for RMS, and the mean square of the M deviations from it as variance, FORWARD computes
 *
 *     output[i] = (input[i] - mean) inverse_std weight[i] + bias[i]
 *     inverse_std = 1 / square root of (variance + eps)
 *
 * (Ba, Kiros and Hinton, "Layer Normalization", 2016; Zhang and Sennrich, "Root Mean Square Layer Normalization", 2019;
 * Wu and He, "Group Normalization", 2018). It writes `mean` and `inverse_std`, if they are given: they have the
 * shape of the leading dimensions, N x groups for GROUP. torch.nn.functional takes 1e-5 for eps, and for RMS the
 * machine epsilon of the type of the computation: 2^-52 for f64, otherwise 2^-23. BACKWARD computes the gradients from
 * `output_gradient`, with the statistics that FORWARD wrote, or without them with the statistics of
 * the input:
 *
 *     bias_gradient[i] = sum over rows of output_gradient
 *     weight_gradient[i] = sum over rows of output_gradient x
 *     input_gradient[i] = inverse_std (d[i] - mean of d - x[i] mean of d x)
 *
 * where d = output_gradient weight and x = (input - mean) inverse_std, without the mean of d for RMS. Sums for GROUP
 * are also over the elements of a channel.
 *
 * Means and variances are computed in f64 from the differences to the first element of the row (of RMS: to 0), in two
 * passes over each block of 8192 elements; in one pass if the elements have fewer bits than f64 and the mean square of
 * the differences is at most 8 times the variance; for GROUP with channels that are neighbours in memory, for each
 * channel in blocks of 64 positions, whose results are merged. So their errors do not grow with the mean. With the root
 * mean square Q of these differences, the standard deviation S and e = (M + 8) 2^-53, the error of the mean is at most
 * e Q, and the relative error of the variance at most e (1 + 4 Q / S), before they are rounded to the type of the
 * result. Elements are computed in f32 (f64 in f64) from the deviation, with an error of at most 8 units of rounding of
 * |(input - mean) inverse_std weight| + |bias|, in addition to the errors of the statistics. BACKWARD subtracts the
 * mean before it multiplies, the given one as stored. With E = e + 2^-50 + the relative error of the variance,
 * input_gradient has an error of at most (8 units of rounding + 2 E) inverse_std (|d| + mean of |d| + |x| mean of |d|
 * (|x| + Q / S)), and a term of weight_gradient one of E |output_gradient| (|x| + Q / S), before they are rounded; Q is
 * 0 for given statistics, and M in e is the number of terms of a sum.
 *
 * Element types: f16, bf16, f32 and f64, the same for input, output and the gradients by them. The other tensors have
 * that type too; for f16 and bf16, all of them may be f32 instead. Statistics and sums are computed in f64, elements in
 * f32 (f64 in f64) and rounded once. A device without f64 has sums of pairs of f32, and the roundings of f32 in means
 * and variances: e is (M + 16) 2^-42 + 2^-21 there. Tensors may have any strides; elements of rows that are no
 * neighbours in memory are copied to the workspace, a few rows at a time, but of GROUP with channels that are
 * neighbours. The written tensors must not overlap the others or themselves (BP_E_OVERLAP). Results do not depend on
 * the number of threads.
 *
 * All functions are thread-safe. Plans are kept in the plan cache.
 *
 * Errors of all functions: BP_E_ARGUMENT (NULL; a negative or non-finite eps, or one that is not used; a non-finite
 * momentum; a tensor that the pass does not have), BP_E_SHAPE (also: TRAINING with fewer than two values per channel),
 * BP_E_DTYPE, BP_E_DEVICE, BP_E_LAYOUT (an address that is not aligned for its type), BP_E_OVERLAP, BP_E_OVERFLOW,
 * BP_E_NO_CANDIDATE, BP_E_FALLBACK, BP_E_NO_MEMORY, BP_E_CANCELLED (interrupt.h).
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
    BP_BATCH_NORM_BACKWARD   /* {output_gradient, input, weight, mean, inverse_std, input_gradient, weight_gradient,
                              * bias_gradient}, or with running_mean and running_var in place of mean and inverse_std */
} bp_batch_norm_pass;

/* One call. Members that are 0 or NULL are absent. */
typedef struct bp_batch_norm_call {
    size_t struct_size; /* sizeof(bp_batch_norm_call) */
    bp_batch_norm_pass pass;
    int relu;        /* INFERENCE: negative elements of the output become 0 (NaN stays NaN) */
    double eps;      /* added to variances; 0: nothing. BACKWARD with mean and inverse_std: 0 */
    double momentum; /* TRAINING: share of the new statistics in the running ones; 0 without these */
    const DLTensor *input, *weight, *bias;
    DLTensor *output;
    DLTensor *running_mean, *running_var; /* TRAINING writes them, the other passes read them */
    DLTensor *mean, *inverse_std;         /* TRAINING writes them, BACKWARD reads them */
    const DLTensor *output_gradient;
    DLTensor *input_gradient, *weight_gradient, *bias_gradient;
} bp_batch_norm_call;

/* Run, plan or explain a call, with settings for this call (NULL: none). For planning and explaining, data pointers may
 * be NULL. Release a plan with bp_plan_release(), an explanation with bp_explanation_release(). */
BP_API bp_status bp_batch_norm_run(const bp_options *options, const bp_batch_norm_call *call);
BP_API bp_status bp_batch_norm_plan(bp_plan **plan, const bp_options *options, const bp_batch_norm_call *call);
BP_API bp_status bp_batch_norm_explain(bp_explanation **explanation, const bp_options *options,
                                       const bp_batch_norm_call *call);

/* Normalizes in one line, under the settings of the calling thread: INFERENCE. `weight` and `bias` may be NULL. */
BP_API bp_status bp_batch_norm(const DLTensor *input, const DLTensor *running_mean, const DLTensor *running_var,
                               const DLTensor *weight, const DLTensor *bias, double eps, DLTensor *output);

/* The rows of bp_layer_norm_call. */
typedef enum bp_layer_norm_kind { BP_LAYER_NORM, BP_RMS_NORM, BP_GROUP_NORM } bp_layer_norm_kind;

/* What a call computes, and the operands of its plan. */
typedef enum bp_layer_norm_pass {
    BP_LAYER_NORM_FORWARD, /* {input, weight, bias, output, mean, inverse_std} */
    BP_LAYER_NORM_BACKWARD /* {output_gradient, input, weight, mean, inverse_std, input_gradient, weight_gradient,
                            * bias_gradient} */
} bp_layer_norm_pass;

/* One call. Members that are 0 or NULL are absent. BACKWARD takes `mean` and `inverse_std`, or neither; for RMS there
 * is no mean. The input has up to 15 dimensions. */
typedef struct bp_layer_norm_call {
    size_t struct_size; /* sizeof(bp_layer_norm_call) */
    bp_layer_norm_pass pass;
    bp_layer_norm_kind kind;
    int row_ndim;   /* LAYER, RMS: number of dimensions of a row, at least 1 */
    int64_t groups; /* GROUP: at least 1 */
    double eps;     /* added to variances; 0: nothing. BACKWARD with inverse_std: 0 */
    const DLTensor *input, *weight, *bias;
    DLTensor *output;
    DLTensor *mean, *inverse_std; /* FORWARD writes them, BACKWARD reads them */
    const DLTensor *output_gradient;
    DLTensor *input_gradient, *weight_gradient, *bias_gradient;
} bp_layer_norm_call;

/* As the functions of batch normalization. */
BP_API bp_status bp_layer_norm_run(const bp_options *options, const bp_layer_norm_call *call);
BP_API bp_status bp_layer_norm_plan(bp_plan **plan, const bp_options *options, const bp_layer_norm_call *call);
BP_API bp_status bp_layer_norm_explain(bp_explanation **explanation, const bp_options *options,
                                       const bp_layer_norm_call *call);

/* Normalizes rows in one line, under the settings of the calling thread: FORWARD of BP_LAYER_NORM and BP_RMS_NORM,
 * without statistics. A row has the dimensions of the weight, without weight the dimensions of the bias, and without
 * both it is the last dimension. `weight` and `bias` may be NULL. */
BP_API bp_status bp_layer_norm(const DLTensor *input, const DLTensor *weight, const DLTensor *bias, double eps,
                               DLTensor *output);
BP_API bp_status bp_rms_norm(const DLTensor *input, const DLTensor *weight, double eps, DLTensor *output);

#ifdef __cplusplus
}
#endif

#endif
