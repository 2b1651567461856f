/* call.h - describes the call of a linear layer: its fields, and the operands of each pass. Its plans are plans of the
 * convolution that it is. */
#ifndef BP_OPS_LINEAR_CALL_H
#define BP_OPS_LINEAR_CALL_H

#include "backplane/linear.h"
#include "ops/call.h"

#define BP__CALL bp_linear_call
static const bp_call_field bp__linear_fields[] = {
    BP__WORD(pass, BP_LINEAR_WEIGHT, "forward,input,weight",
             "what is computed: the output, or a gradient by input, or by weight and bias"),
    BP__WORD(activation, BP_ACTIVATION_KINDS - 1, BP__WORDS(BP_ACTIVATION_MAP),
             "forward: a function of each element of the output"),
    BP__TENSOR(input, "... x I"),
    BP__TENSOR(weight, "O x I"),
    BP__TENSOR(bias, "O"),
    BP__TENSOR(output, "... x O"),
    BP__TENSOR(output_gradient, "gradient by output"),
    BP__TENSOR(input_gradient, "gradient by input"),
    BP__TENSOR(weight_gradient, "gradient by weight"),
    BP__TENSOR(bias_gradient, "gradient by bias"),
};

static const bp__pass bp__linear_passes[] = {
    [BP_LINEAR_FORWARD] = {{"FORWARD", BP_OP_CONV, 4, 3},
                           {BP__IN(input, true, 0), BP__IN(weight, true, 0), BP__IN(bias, false, 0),
                            BP__OUT(output, true, 0)}},
    [BP_LINEAR_INPUT] = {{"INPUT", BP_OP_CONV_INPUT, 4, 3},
                         {BP__IN(output_gradient, true, 0), BP__IN(weight, true, 0), BP__IN(bias, false, 0),
                          BP__OUT(input_gradient, true, 0)}},
    [BP_LINEAR_WEIGHT] = {{"WEIGHT", BP_OP_CONV_WEIGHT, 4, 2},
                          {BP__IN(input, true, 0), BP__IN(output_gradient, true, 0), BP__OUT(weight_gradient, true, 0),
                           BP__OUT(bias_gradient, false, 0)}},
};
#undef BP__CALL

#endif
