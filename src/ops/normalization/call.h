/* call.h - describes the call of batch normalization: its fields, and the operands of each pass. */
#ifndef BP_OPS_NORMALIZATION_CALL_H
#define BP_OPS_NORMALIZATION_CALL_H

#include "ops/normalization/batch_norm.h"

#define BP__CALL bp_batch_norm_call
static const bp_call_field bp__batch_norm_fields[] = {
    BP__WORD(pass, BP_BATCH_NORM_BACKWARD, "inference,training,backward", "what is computed"),
    BP__FLAG(relu, "inference: negative elements of the output become 0"),
    BP__REAL(eps, 1e-05, "added to variances"),
    BP__REAL_OF("TRAINING", momentum, 0.1, "training: share of the new statistics in the running ones"),
    BP__TENSOR(input, "N x C x sizes"),
    BP__TENSOR(weight, "C"),
    BP__TENSOR(bias, "C"),
    BP__TENSOR(output, "as input"),
    BP__TENSOR(running_mean, "C"),
    BP__TENSOR(running_var, "C"),
    BP__TENSOR(mean, "means of the batch, C"),
    BP__TENSOR(inverse_std, "1 / square root of variance + eps of the batch, C"),
    BP__TENSOR(output_gradient, "gradient by output"),
    BP__TENSOR(input_gradient, "gradient by input"),
    BP__TENSOR(weight_gradient, "gradient by weight"),
    BP__TENSOR(bias_gradient, "gradient by bias"),
};

#define GRADIENTS                                                                                                      \
    BP__OUT(input_gradient, false, BP__NORM_IMAGE), BP__OUT(weight_gradient, false, BP__NORM_CHANNELS),                \
        BP__OUT(bias_gradient, false, BP__NORM_CHANNELS)

/* By bp_batch_norm_pass; the last one is the gradient with constant statistics. */
enum { BP__NORM_BACKWARD_CONSTANT = BP_BATCH_NORM_BACKWARD + 1, BP__NORM_PASSES };
static const bp__pass bp__batch_norm_passes[BP__NORM_PASSES] = {
    [BP_BATCH_NORM_INFERENCE] = {{"INFERENCE", BP_OP_BATCH_NORM, 6, 5},
                                 {BP__IN(input, true, BP__NORM_IMAGE), BP__IN(weight, false, BP__NORM_CHANNELS),
                                  BP__IN(bias, false, BP__NORM_CHANNELS), BP__IN(running_mean, true, BP__NORM_CHANNELS),
                                  BP__IN(running_var, true, BP__NORM_CHANNELS), BP__OUT(output, true, BP__NORM_IMAGE)}},
    [BP_BATCH_NORM_TRAINING] = {{"TRAINING", BP_OP_BATCH_NORM_TRAINING, 8, 3},
                                {BP__IN(input, true, BP__NORM_IMAGE), BP__IN(weight, false, BP__NORM_CHANNELS),
                                 BP__IN(bias, false, BP__NORM_CHANNELS), BP__OUT(output, true, BP__NORM_IMAGE),
                                 BP__OUT(mean, false, BP__NORM_CHANNELS),
                                 BP__OUT(inverse_std, false, BP__NORM_CHANNELS),
                                 BP__UPDATED(running_mean, false, BP__NORM_CHANNELS),
                                 BP__UPDATED(running_var, false, BP__NORM_CHANNELS)}},
    [BP_BATCH_NORM_BACKWARD] = {{"BACKWARD with mean and inverse_std", BP_OP_BATCH_NORM_BACKWARD, 8, 5},
                                {BP__IN(output_gradient, true, BP__NORM_IMAGE), BP__IN(input, true, BP__NORM_IMAGE),
                                 BP__IN(weight, false, BP__NORM_CHANNELS), BP__IN(mean, true, BP__NORM_CHANNELS),
                                 BP__IN(inverse_std, true, BP__NORM_CHANNELS), GRADIENTS}},
    [BP__NORM_BACKWARD_CONSTANT] = {{"BACKWARD with running_mean and running_var", BP_OP_BATCH_NORM_BACKWARD, 8, 5},
                                    {BP__IN(output_gradient, true, BP__NORM_IMAGE), BP__IN(input, true, BP__NORM_IMAGE),
                                     BP__IN(weight, false, BP__NORM_CHANNELS),
                                     BP__IN(running_mean, true, BP__NORM_CHANNELS),
                                     BP__IN(running_var, true, BP__NORM_CHANNELS), GRADIENTS}},
};
#undef BP__CALL
#undef GRADIENTS

#endif
