/* layer_call.h - describes the call of layer, RMS and group normalization: its fields, and the operands of each pass.
 */
#ifndef BP_OPS_NORMALIZATION_LAYER_CALL_H
#define BP_OPS_NORMALIZATION_LAYER_CALL_H

#include "ops/normalization/layer.h"

#define BP__CALL bp_layer_norm_call
static const bp_call_field bp__layer_fields[] = {
    BP__WORD(pass, BP_LAYER_NORM_BACKWARD, "forward,backward", "what is computed"),
    BP__WORD(kind, BP_GROUP_NORM, "layer,rms,group", "which normalization"),
    BP__COUNT_UP_TO(row_ndim, BP_MAX_LAYER_NORM_NDIM, "layer, rms: number of dimensions of a row"),
    BP__NUMBER(groups, 0, "group: groups of channels"),
    BP__REAL(eps, 1e-05, "added to variances"),
    BP__TENSOR(input, "rows: the last row_ndim dimensions; group: N x C x sizes"),
    BP__TENSOR(weight, "shape of a row; group: C"),
    BP__TENSOR(bias, "shape of a row; group: C"),
    BP__TENSOR(output, "as input"),
    BP__TENSOR(mean, "mean of each row"),
    BP__TENSOR(inverse_std, "1 / square root of variance + eps of each row"),
    BP__TENSOR(output_gradient, "gradient by output"),
    BP__TENSOR(input_gradient, "gradient by input"),
    BP__TENSOR(weight_gradient, "gradient by weight"),
    BP__TENSOR(bias_gradient, "gradient by bias"),
};

static const bp__pass bp__layer_passes[] = {
    [BP_LAYER_NORM_FORWARD] = {{"FORWARD", BP_OP_LAYER_NORM, 6, 3},
                               {BP__IN(input, true, BP__LAYER_IMAGE), BP__IN(weight, false, BP__LAYER_WEIGHT),
                                BP__IN(bias, false, BP__LAYER_WEIGHT), BP__OUT(output, true, BP__LAYER_IMAGE),
                                BP__OUT(mean, false, BP__LAYER_ROWS), BP__OUT(inverse_std, false, BP__LAYER_ROWS)}},
    /* One of the statistics is required if the other one is there. */
    [BP_LAYER_NORM_BACKWARD] = {{"BACKWARD", BP_OP_LAYER_NORM_BACKWARD, 8, 5},
                                {BP__IN(output_gradient, true, BP__LAYER_IMAGE), BP__IN(input, true, BP__LAYER_IMAGE),
                                 BP__IN(weight, false, BP__LAYER_WEIGHT), BP__IN(mean, false, BP__LAYER_ROWS),
                                 BP__IN(inverse_std, false, BP__LAYER_ROWS),
                                 BP__OUT(input_gradient, false, BP__LAYER_IMAGE),
                                 BP__OUT(weight_gradient, false, BP__LAYER_WEIGHT),
                                 BP__OUT(bias_gradient, false, BP__LAYER_WEIGHT)}},
};
#undef BP__CALL

#endif
