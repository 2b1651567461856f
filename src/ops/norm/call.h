/* call.h - describes the call of batch normalization: its fields, and the operands of each pass. */
#ifndef BP_OPS_NORM_CALL_H
#define BP_OPS_NORM_CALL_H

#include "ops/norm/norm.h"

#define FIELD(kind, field, most) BP__FIELD_OF(bp_batch_norm_call, kind, field, most)
static const bp__field bp__norm_fields[] = {
    FIELD(WORD, pass, BP_BATCH_NORM_BACKWARD),
    FIELD(FLAG, relu, 0),
    FIELD(REAL, eps, 0),
    FIELD(REAL, momentum, 0),
    FIELD(TENSOR, input, 0),
    FIELD(TENSOR, weight, 0),
    FIELD(TENSOR, bias, 0),
    FIELD(TENSOR, output, 0),
    FIELD(TENSOR, running_mean, 0),
    FIELD(TENSOR, running_var, 0),
    FIELD(TENSOR, mean, 0),
    FIELD(TENSOR, inverse_std, 0),
    FIELD(TENSOR, input_gradient, 0),
    FIELD(TENSOR, weight_gradient, 0),
    FIELD(TENSOR, bias_gradient, 0),
};
#undef FIELD

#define IN(field, required, shape) BP__OPERAND_OF(bp_batch_norm_call, field, false, required, BP__NORM_##shape)
#define OUT(field, required, shape) BP__OPERAND_OF(bp_batch_norm_call, field, true, required, BP__NORM_##shape)
#define GRADIENTS                                                                                                      \
    OUT(input_gradient, false, IMAGE), OUT(weight_gradient, false, CHANNELS), OUT(bias_gradient, false, CHANNELS)

/* By bp_batch_norm_pass; the last one is the gradient with constant statistics. */
enum { BP__NORM_BACKWARD_CONSTANT = BP_BATCH_NORM_BACKWARD + 1, BP__NORM_PASSES };
static const bp__pass bp__norm_passes[BP__NORM_PASSES] = {
    [BP_BATCH_NORM_INFERENCE] = {"INFERENCE",
                                 BP_OP_BATCH_NORM,
                                 6,
                                 5,
                                 {IN(input, true, IMAGE), IN(weight, false, CHANNELS), IN(bias, false, CHANNELS),
                                  IN(running_mean, true, CHANNELS), IN(running_var, true, CHANNELS),
                                  OUT(output, true, IMAGE)}},
    [BP_BATCH_NORM_TRAINING] = {"TRAINING",
                                BP_OP_BATCH_NORM_TRAINING,
                                8,
                                3,
                                {IN(input, true, IMAGE), IN(weight, false, CHANNELS), IN(bias, false, CHANNELS),
                                 OUT(output, true, IMAGE), OUT(mean, false, CHANNELS),
                                 OUT(inverse_std, false, CHANNELS), OUT(running_mean, false, CHANNELS),
                                 OUT(running_var, false, CHANNELS)}},
    [BP_BATCH_NORM_BACKWARD] = {"BACKWARD with mean and inverse_std",
                                BP_OP_BATCH_NORM_BACKWARD,
                                8,
                                5,
                                {IN(output, true, IMAGE), IN(input, true, IMAGE), IN(weight, false, CHANNELS),
                                 IN(mean, true, CHANNELS), IN(inverse_std, true, CHANNELS), GRADIENTS}},
    [BP__NORM_BACKWARD_CONSTANT] = {"BACKWARD with running_mean and running_var",
                                    BP_OP_BATCH_NORM_BACKWARD,
                                    8,
                                    5,
                                    {IN(output, true, IMAGE), IN(input, true, IMAGE), IN(weight, false, CHANNELS),
                                     IN(running_mean, true, CHANNELS), IN(running_var, true, CHANNELS), GRADIENTS}},
};
#undef IN
#undef OUT
#undef GRADIENTS

#endif
