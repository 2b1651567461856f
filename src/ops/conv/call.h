/* call.h - describes the call of a convolution: its fields, and the operands of each pass. */
#ifndef BP_OPS_CONV_CALL_H
#define BP_OPS_CONV_CALL_H

#include "ops/conv/conv.h"

#define BP__CALL bp_conv_call
static const bp_call_field bp__conv_fields[] = {
    BP__WORD(pass, BP_CONV_WEIGHT, "forward,input,weight",
             "what is computed: the output, or a gradient by input, or by weight and bias"),
    BP__COUNT_UP_TO(ndim, BP_CONV_NDIM, "number of dimensions of the kernel"),
    BP__FLAG(transposed, "a transposed convolution"),
    BP__NUMBER(groups, 1, "groups of channels"),
    BP__SIZES(stride, "steps of the kernel; 1 if absent"),
    BP__SIZES(dilation, "distance between the elements of the kernel; 1 if absent"),
    BP__SIZES(padding, "rows of zeros at the beginning, and at the end without padding_end; 0 if absent"),
    BP__SIZES(padding_end, "rows of zeros at the end"),
    BP__SIZES(output_padding, "transposed: rows added to the end of the output"),
    BP__WORD(mode, BP_CONV_SAME, "explicit,valid,same", "how padding is given"),
    BP__WORD(activation, BP_ACTIVATION_KINDS - 1, BP__WORDS(BP_ACTIVATION_MAP),
             "forward: a function of each element of the output"),
    BP__TENSOR(input, "N x C x sizes"),
    BP__TENSOR(weight, "M x C/groups x sizes of the kernel; transposed: C x M/groups x sizes"),
    BP__TENSOR(bias, "M"),
    BP__TENSOR(output, "N x M x sizes"),
    BP__TENSOR(output_gradient, "gradient by output"),
    BP__TENSOR(input_gradient, "gradient by input"),
    BP__TENSOR(weight_gradient, "gradient by weight"),
    BP__TENSOR(bias_gradient, "gradient by bias"),
};

static const bp__pass bp__conv_passes[] = {
    [BP_CONV_FORWARD] = {{"FORWARD", BP_OP_CONV, 4, 3},
                         {BP__IN(input, true, 0), BP__IN(weight, true, 0), BP__IN(bias, false, 0),
                          BP__OUT(output, true, 0)}},
    [BP_CONV_INPUT] = {{"INPUT", BP_OP_CONV_INPUT, 4, 3},
                       {BP__IN(output_gradient, true, 0), BP__IN(weight, true, 0), BP__IN(bias, false, 0),
                        BP__OUT(input_gradient, true, 0)}},
    [BP_CONV_WEIGHT] = {{"WEIGHT", BP_OP_CONV_WEIGHT, 4, 2},
                        {BP__IN(input, true, 0), BP__IN(output_gradient, true, 0), BP__OUT(weight_gradient, true, 0),
                         BP__OUT(bias_gradient, false, 0)}},
};
#undef BP__CALL

#endif
