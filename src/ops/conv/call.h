/* call.h - describes the call of a convolution: its fields, and the operands of each pass. */
#ifndef BP_OPS_CONV_CALL_H
#define BP_OPS_CONV_CALL_H

#include "ops/conv/conv.h"

#define BP__CALL bp_conv_call
static const bp__field bp__conv_fields[] = {
    BP__WORD(pass, BP_CONV_WEIGHT),
    BP__WORD(ndim, BP_CONV_NDIM),
    BP__FLAG(transposed),
    BP__NUMBER(groups),
    BP__SIZES(stride),
    BP__SIZES(dilation),
    BP__SIZES(padding),
    BP__SIZES(padding_end),
    BP__SIZES(output_padding),
    BP__WORD(mode, BP_CONV_SAME),
    BP__WORD(activation, BP_UNARY_KINDS - 1),
    BP__TENSOR(input),
    BP__TENSOR(weight),
    BP__TENSOR(bias),
    BP__TENSOR(output),
};

static const bp__pass bp__conv_passes[] = {
    [BP_CONV_FORWARD] = {"FORWARD",
                         BP_OP_CONV,
                         4,
                         3,
                         {BP__IN(input, true, 0), BP__IN(weight, true, 0), BP__IN(bias, false, 0),
                          BP__OUT(output, true, 0)}},
    [BP_CONV_INPUT] = {"INPUT",
                       BP_OP_CONV_INPUT,
                       4,
                       3,
                       {BP__IN(output, true, 0), BP__IN(weight, true, 0), BP__IN(bias, false, 0),
                        BP__OUT(input, true, 0)}},
    [BP_CONV_WEIGHT] = {"WEIGHT",
                        BP_OP_CONV_WEIGHT,
                        4,
                        2,
                        {BP__IN(input, true, 0), BP__IN(output, true, 0), BP__OUT(weight, true, 0),
                         BP__OUT(bias, false, 0)}},
};
#undef BP__CALL

#endif
