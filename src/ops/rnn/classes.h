/* classes.h - lists what calibration measures of recurrent layers. */
#ifndef BP_OPS_RNN_CLASSES_H
#define BP_OPS_RNN_CLASSES_H

#include "calibration/classes.h"

/* The sizes are the hidden units, which are as many as the columns of the input, and the items. */
static const bp__lattice bp__rnn_sizes = {
    .dimensions = 2,
    .count = {4, 3},
    .knot = {{8, 32, 128, 256}, {1, 8, 32}},
    .most = 1 << 12,
};

static const bp__lattice bp__rnn_few = {
    .dimensions = 2,
    .count = {2, 2},
    .knot = {{32, 256}, {1, 32}},
    .most = 1 << 12,
};

/* The variant of a class is a bp_rnn_mode, or a GRU whose reset gate comes before the product. Only in f32 a library
 * other than `native` takes that, so that the other types have no classes of it. */
enum { BP__RNN_GRU_BEFORE = BP_RNN_GRU + 1 };

#define BP__RNN_CLASS(text, mode)                                                                                      \
    {.name = "rnn.f32." text, .op = BP_OP_RNN, .dtype = BP_F32, .variant = mode, .lattice = &bp__rnn_sizes},
#define BP__CLASSES_OF_rnn                                                                                             \
    BP__RNN_CLASS("tanh", BP_RNN_TANH)                                                                                 \
    BP__RNN_CLASS("lstm", BP_RNN_LSTM)                                                                                 \
    BP__RNN_CLASS("gru", BP_RNN_GRU)                                                                                   \
    BP__RNN_CLASS("gru_before", BP__RNN_GRU_BEFORE)                                                                    \
    BP__CLASSES_OF_TYPES("rnn", ".tanh", BP_OP_RNN, &bp__rnn_few, .variant = BP_RNN_TANH)                              \
    BP__CLASSES_OF_TYPES("rnn", ".lstm", BP_OP_RNN, &bp__rnn_few, .variant = BP_RNN_LSTM)                              \
    BP__CLASSES_OF_TYPES("rnn", ".gru", BP_OP_RNN, &bp__rnn_few, .variant = BP_RNN_GRU)                                \
    BP__CLASS_OF_TYPE("rnn_backward.f32.tanh", BP_OP_RNN_BACKWARD, BP_F32, &bp__rnn_few, .variant = BP_RNN_TANH)       \
        BP__CLASS_OF_TYPE("rnn_backward.f32.lstm", BP_OP_RNN_BACKWARD, BP_F32, &bp__rnn_few, .variant = BP_RNN_LSTM)   \
            BP__CLASS_OF_TYPE("rnn_backward.f32.gru", BP_OP_RNN_BACKWARD, BP_F32, &bp__rnn_few, .variant = BP_RNN_GRU) \
                BP__CLASS_OF_TYPE("rnn_backward.f32.gru_before", BP_OP_RNN_BACKWARD, BP_F32, &bp__rnn_few,             \
                                  .variant = BP__RNN_GRU_BEFORE)

#endif
