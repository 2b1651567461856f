/* call.h - describes the call of a convolution: its fields, and the operands of each pass. */
#ifndef BP_OPS_CONV_CALL_H
#define BP_OPS_CONV_CALL_H

#include "ops/conv/conv.h"

#define FIELD(kind, field, most) BP__FIELD_OF(bp_conv_call, kind, field, most)
static const bp__field bp__conv_fields[] = {
    FIELD(WORD, pass, BP_CONV_WEIGHT),
    FIELD(WORD, ndim, BP_CONV_NDIM),
    FIELD(FLAG, transposed, 0),
    FIELD(NUMBER, groups, 0),
    FIELD(SIZES, stride, 0),
    FIELD(SIZES, dilation, 0),
    FIELD(SIZES, padding, 0),
    FIELD(SIZES, padding_end, 0),
    FIELD(SIZES, output_padding, 0),
    FIELD(WORD, mode, BP_CONV_SAME),
    FIELD(WORD, activation, BP_UNARY_KINDS - 1),
    FIELD(TENSOR, input, 0),
    FIELD(TENSOR, weight, 0),
    FIELD(TENSOR, bias, 0),
    FIELD(TENSOR, output, 0),
};
#undef FIELD

#define IN(field, required) BP__OPERAND_OF(bp_conv_call, field, false, required, 0)
#define OUT(field, required) BP__OPERAND_OF(bp_conv_call, field, true, required, 0)
static const bp__pass bp__conv_passes[] = {
    [BP_CONV_FORWARD] =
        {"FORWARD", BP_OP_CONV, 4, 3, {IN(input, true), IN(weight, true), IN(bias, false), OUT(output, true)}},
    [BP_CONV_INPUT] =
        {"INPUT", BP_OP_CONV_INPUT, 4, 3, {IN(output, true), IN(weight, true), IN(bias, false), OUT(input, true)}},
    [BP_CONV_WEIGHT] =
        {"WEIGHT", BP_OP_CONV_WEIGHT, 4, 2, {IN(input, true), IN(output, true), OUT(weight, true), OUT(bias, false)}},
};
#undef IN
#undef OUT

#endif
