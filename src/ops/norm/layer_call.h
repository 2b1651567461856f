/* layer_call.h - describes the call of layer, RMS and group normalization: its fields, and the operands of each pass.
 */
#ifndef BP_OPS_NORM_LAYER_CALL_H
#define BP_OPS_NORM_LAYER_CALL_H

#include "ops/norm/layer.h"

#define FIELD(kind, field, most) BP__FIELD_OF(bp_layer_norm_call, kind, field, most)
static const bp__field bp__layer_fields[] = {
    FIELD(WORD, pass, BP_LAYER_NORM_BACKWARD),
    FIELD(WORD, kind, BP_GROUP_NORM),
    FIELD(WORD, dims, BP_MAX_LAYER_NORM_NDIM),
    FIELD(NUMBER, groups, 0),
    FIELD(REAL, eps, 0),
    FIELD(TENSOR, input, 0),
    FIELD(TENSOR, weight, 0),
    FIELD(TENSOR, bias, 0),
    FIELD(TENSOR, output, 0),
    FIELD(TENSOR, mean, 0),
    FIELD(TENSOR, inverse_std, 0),
    FIELD(TENSOR, input_gradient, 0),
    FIELD(TENSOR, weight_gradient, 0),
    FIELD(TENSOR, bias_gradient, 0),
};
#undef FIELD

#define IN(field, required, shape) BP__OPERAND_OF(bp_layer_norm_call, field, false, required, BP__LAYER_##shape)
#define OUT(field, required, shape) BP__OPERAND_OF(bp_layer_norm_call, field, true, required, BP__LAYER_##shape)
static const bp__pass bp__layer_passes[] = {
    [BP_LAYER_NORM_FORWARD] = {"FORWARD",
                               BP_OP_LAYER_NORM,
                               6,
                               3,
                               {IN(input, true, IMAGE), IN(weight, false, WEIGHT), IN(bias, false, WEIGHT),
                                OUT(output, true, IMAGE), OUT(mean, false, ROWS), OUT(inverse_std, false, ROWS)}},
    /* One of the statistics is required if the other one is there. */
    [BP_LAYER_NORM_BACKWARD] = {"BACKWARD",
                                BP_OP_LAYER_NORM_BACKWARD,
                                8,
                                5,
                                {IN(output, true, IMAGE), IN(input, true, IMAGE), IN(weight, false, WEIGHT),
                                 IN(mean, false, ROWS), IN(inverse_std, false, ROWS), OUT(input_gradient, false, IMAGE),
                                 OUT(weight_gradient, false, WEIGHT), OUT(bias_gradient, false, WEIGHT)}},
};
#undef IN
#undef OUT

#endif
