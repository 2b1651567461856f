/* call.h - describes the call of a recurrent layer: its fields, and the operands of each pass. */
#ifndef BP_OPS_RNN_CALL_H
#define BP_OPS_RNN_CALL_H

#include "ops/rnn/rnn.h"

#define FIELD(kind, field, most) BP__FIELD_OF(bp_rnn_call, kind, field, most)
static const bp__field bp__rnn_fields[] = {
    FIELD(WORD, pass, BP_RNN_BACKWARD),
    FIELD(WORD, mode, BP_RNN_GRU),
    FIELD(WORD, directions, 2),
    FIELD(FLAG, reverse, 0),
    FIELD(TENSOR, input, 0),
    FIELD(TENSOR, weight_ih, 0),
    FIELD(TENSOR, weight_hh, 0),
    FIELD(TENSOR, weight_hr, 0),
    FIELD(TENSOR, bias_ih, 0),
    FIELD(TENSOR, bias_hh, 0),
    FIELD(TENSOR, initial_hidden, 0),
    FIELD(TENSOR, initial_cell, 0),
    FIELD(TENSOR, lengths, 0),
    FIELD(TENSOR, output, 0),
    FIELD(TENSOR, final_hidden, 0),
    FIELD(TENSOR, final_cell, 0),
    FIELD(TENSOR, reserve, 0),
    FIELD(TENSOR, output_gradient, 0),
    FIELD(TENSOR, final_hidden_gradient, 0),
    FIELD(TENSOR, final_cell_gradient, 0),
    FIELD(TENSOR, input_gradient, 0),
    FIELD(TENSOR, initial_hidden_gradient, 0),
    FIELD(TENSOR, initial_cell_gradient, 0),
    FIELD(TENSOR, weight_ih_gradient, 0),
    FIELD(TENSOR, weight_hh_gradient, 0),
    FIELD(TENSOR, weight_hr_gradient, 0),
    FIELD(TENSOR, bias_ih_gradient, 0),
    FIELD(TENSOR, bias_hh_gradient, 0),
};
#undef FIELD

/* The shape of an operand is that of its bp_rnn_tensor. The pass of inference has the reserve as an operand, but no
 * call gives it. */
#define IN(field, required, shape) BP__OPERAND_OF(bp_rnn_call, field, false, required, BP_RNN_##shape)
#define OUT(field, required, shape) BP__OPERAND_OF(bp_rnn_call, field, true, required, BP_RNN_##shape)
#define FORWARD(name)                                                                                                  \
    {                                                                                                                  \
        name, BP_OP_RNN, 13, 9, {                                                                                      \
            IN(input, true, INPUT), IN(weight_ih, true, WEIGHT_IH), IN(weight_hh, true, WEIGHT_HH),                    \
                IN(weight_hr, false, WEIGHT_HR), IN(bias_ih, false, BIAS_IH), IN(bias_hh, false, BIAS_HH),             \
                IN(initial_hidden, false, INITIAL_HIDDEN), IN(initial_cell, false, INITIAL_CELL),                      \
                IN(lengths, false, LENGTHS), OUT(output, true, OUTPUT), OUT(final_hidden, false, FINAL_HIDDEN),        \
                OUT(final_cell, false, FINAL_CELL), OUT(reserve, false, RESERVE)                                       \
        }                                                                                                              \
    }
static const bp__pass bp__rnn_passes[] = {
    [BP_RNN_INFERENCE] = FORWARD("INFERENCE"),
    [BP_RNN_TRAINING] = FORWARD("TRAINING"),
    [BP_RNN_BACKWARD] = {"BACKWARD",
                         BP_OP_RNN_BACKWARD,
                         20,
                         12,
                         {IN(output_gradient, false, OUTPUT_GRADIENT),
                          IN(final_hidden_gradient, false, FINAL_HIDDEN_GRADIENT),
                          IN(final_cell_gradient, false, FINAL_CELL_GRADIENT),
                          IN(input, true, INPUT),
                          IN(weight_ih, true, WEIGHT_IH),
                          IN(weight_hh, true, WEIGHT_HH),
                          IN(weight_hr, false, WEIGHT_HR),
                          IN(initial_hidden, false, INITIAL_HIDDEN),
                          IN(initial_cell, false, INITIAL_CELL),
                          IN(lengths, false, LENGTHS),
                          IN(output, true, OUTPUT),
                          IN(reserve, false, RESERVE),
                          OUT(input_gradient, false, INPUT_GRADIENT),
                          OUT(initial_hidden_gradient, false, INITIAL_HIDDEN_GRADIENT),
                          OUT(initial_cell_gradient, false, INITIAL_CELL_GRADIENT),
                          OUT(weight_ih_gradient, false, WEIGHT_IH_GRADIENT),
                          OUT(weight_hh_gradient, false, WEIGHT_HH_GRADIENT),
                          OUT(weight_hr_gradient, false, WEIGHT_HR_GRADIENT),
                          OUT(bias_ih_gradient, false, BIAS_IH_GRADIENT),
                          OUT(bias_hh_gradient, false, BIAS_HH_GRADIENT)}},
};
#undef IN
#undef OUT
#undef FORWARD

#endif
