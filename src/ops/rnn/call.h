/* call.h - describes the call of a recurrent layer: its fields, and the operands of each pass. */
#ifndef BP_OPS_RNN_CALL_H
#define BP_OPS_RNN_CALL_H

#include "ops/rnn/rnn.h"

#define BP__CALL bp_rnn_call
static const bp_call_field bp__rnn_fields[] = {
    BP__WORD(pass, BP_RNN_BACKWARD, "inference,training,backward", "what is computed"),
    BP__WORD(mode, BP_RNN_GRU, "rnn_tanh,rnn_relu,lstm,gru", "the cell"),
    BP__COUNT_UP_TO(directions, 2, "1 or 2; 0: 1"),
    BP__FLAG(reverse, "the one direction takes the steps in descending order"),
    BP__FLAG(reset_before, "gru: the reset gate is applied before the product"),
    BP__TENSOR(input, "T x N x I"),
    BP__TENSOR(weight_ih, "D x G*H x I"),
    BP__TENSOR(weight_hh, "D x G*H x P"),
    BP__TENSOR(weight_hr, "lstm: projection, D x P x H"),
    BP__TENSOR(bias_ih, "D x G*H"),
    BP__TENSOR(bias_hh, "D x G*H"),
    BP__TENSOR(initial_hidden, "D x N x P; 0 if absent"),
    BP__TENSOR(initial_cell, "lstm: D x N x H; 0 if absent"),
    BP__TENSOR(lengths, "number of steps of each item; T if absent"),
    BP__TENSOR(output, "T x N x D*P"),
    BP__TENSOR(final_hidden, "D x N x P"),
    BP__TENSOR(final_cell, "lstm: D x N x H"),
    BP__TENSOR(reserve, "what backward needs of training"),
    BP__TENSOR(output_gradient, "gradient by output; 0 if absent"),
    BP__TENSOR(final_hidden_gradient, "gradient by final_hidden; 0 if absent"),
    BP__TENSOR(final_cell_gradient, "gradient by final_cell; 0 if absent"),
    BP__TENSOR(input_gradient, "gradient by input"),
    BP__TENSOR(initial_hidden_gradient, "gradient by initial_hidden"),
    BP__TENSOR(initial_cell_gradient, "gradient by initial_cell"),
    BP__TENSOR(weight_ih_gradient, "gradient by weight_ih"),
    BP__TENSOR(weight_hh_gradient, "gradient by weight_hh"),
    BP__TENSOR(weight_hr_gradient, "gradient by weight_hr"),
    BP__TENSOR(bias_ih_gradient, "gradient by bias_ih"),
    BP__TENSOR(bias_hh_gradient, "gradient by bias_hh"),
};

/* The number of an operand's shape is its bp_rnn_tensor. The pass of inference has the reserve as an operand, but no
 * call gives it. */
#define FORWARD(name)                                                                                                  \
    {                                                                                                                  \
        {name, BP_OP_RNN, 13, 9}, {                                                                                    \
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
    [BP_RNN_BACKWARD] = {{"BACKWARD", BP_OP_RNN_BACKWARD, 20, 12},
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
