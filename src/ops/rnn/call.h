/* call.h - describes the call of a recurrent layer: its fields, and the operands of each pass. */
#ifndef BP_OPS_RNN_CALL_H
#define BP_OPS_RNN_CALL_H

#include "ops/rnn/rnn.h"

#define BP__CALL bp_rnn_call
static const bp__field bp__rnn_fields[] = {
    BP__WORD(pass, BP_RNN_BACKWARD),
    BP__WORD(mode, BP_RNN_GRU),
    BP__WORD(directions, 2),
    BP__FLAG(reverse),
    BP__TENSOR(input),
    BP__TENSOR(weight_ih),
    BP__TENSOR(weight_hh),
    BP__TENSOR(weight_hr),
    BP__TENSOR(bias_ih),
    BP__TENSOR(bias_hh),
    BP__TENSOR(initial_hidden),
    BP__TENSOR(initial_cell),
    BP__TENSOR(lengths),
    BP__TENSOR(output),
    BP__TENSOR(final_hidden),
    BP__TENSOR(final_cell),
    BP__TENSOR(reserve),
    BP__TENSOR(output_gradient),
    BP__TENSOR(final_hidden_gradient),
    BP__TENSOR(final_cell_gradient),
    BP__TENSOR(input_gradient),
    BP__TENSOR(initial_hidden_gradient),
    BP__TENSOR(initial_cell_gradient),
    BP__TENSOR(weight_ih_gradient),
    BP__TENSOR(weight_hh_gradient),
    BP__TENSOR(weight_hr_gradient),
    BP__TENSOR(bias_ih_gradient),
    BP__TENSOR(bias_hh_gradient),
};

/* The shape of an operand is that of its bp_rnn_tensor. The pass of inference has the reserve as an operand, but no
 * call gives it. */
#define FORWARD(name)                                                                                                  \
    {                                                                                                                  \
        name, BP_OP_RNN, 13, 9, {                                                                                      \
            BP__IN(input, true, BP_RNN_INPUT), BP__IN(weight_ih, true, BP_RNN_WEIGHT_IH),                              \
                BP__IN(weight_hh, true, BP_RNN_WEIGHT_HH), BP__IN(weight_hr, false, BP_RNN_WEIGHT_HR),                 \
                BP__IN(bias_ih, false, BP_RNN_BIAS_IH), BP__IN(bias_hh, false, BP_RNN_BIAS_HH),                        \
                BP__IN(initial_hidden, false, BP_RNN_INITIAL_HIDDEN),                                                  \
                BP__IN(initial_cell, false, BP_RNN_INITIAL_CELL), BP__IN(lengths, false, BP_RNN_LENGTHS),              \
                BP__OUT(output, true, BP_RNN_OUTPUT), BP__OUT(final_hidden, false, BP_RNN_FINAL_HIDDEN),               \
                BP__OUT(final_cell, false, BP_RNN_FINAL_CELL), BP__OUT(reserve, false, BP_RNN_RESERVE)                 \
        }                                                                                                              \
    }
static const bp__pass bp__rnn_passes[] = {
    [BP_RNN_INFERENCE] = FORWARD("INFERENCE"),
    [BP_RNN_TRAINING] = FORWARD("TRAINING"),
    [BP_RNN_BACKWARD] = {"BACKWARD",
                         BP_OP_RNN_BACKWARD,
                         20,
                         12,
                         {BP__IN(output_gradient, false, BP_RNN_OUTPUT_GRADIENT),
                          BP__IN(final_hidden_gradient, false, BP_RNN_FINAL_HIDDEN_GRADIENT),
                          BP__IN(final_cell_gradient, false, BP_RNN_FINAL_CELL_GRADIENT),
                          BP__IN(input, true, BP_RNN_INPUT),
                          BP__IN(weight_ih, true, BP_RNN_WEIGHT_IH),
                          BP__IN(weight_hh, true, BP_RNN_WEIGHT_HH),
                          BP__IN(weight_hr, false, BP_RNN_WEIGHT_HR),
                          BP__IN(initial_hidden, false, BP_RNN_INITIAL_HIDDEN),
                          BP__IN(initial_cell, false, BP_RNN_INITIAL_CELL),
                          BP__IN(lengths, false, BP_RNN_LENGTHS),
                          BP__IN(output, true, BP_RNN_OUTPUT),
                          BP__IN(reserve, false, BP_RNN_RESERVE),
                          BP__OUT(input_gradient, false, BP_RNN_INPUT_GRADIENT),
                          BP__OUT(initial_hidden_gradient, false, BP_RNN_INITIAL_HIDDEN_GRADIENT),
                          BP__OUT(initial_cell_gradient, false, BP_RNN_INITIAL_CELL_GRADIENT),
                          BP__OUT(weight_ih_gradient, false, BP_RNN_WEIGHT_IH_GRADIENT),
                          BP__OUT(weight_hh_gradient, false, BP_RNN_WEIGHT_HH_GRADIENT),
                          BP__OUT(weight_hr_gradient, false, BP_RNN_WEIGHT_HR_GRADIENT),
                          BP__OUT(bias_ih_gradient, false, BP_RNN_BIAS_IH_GRADIENT),
                          BP__OUT(bias_hh_gradient, false, BP_RNN_BIAS_HH_GRADIENT)}},
};
#undef BP__CALL
#undef FORWARD

#endif
