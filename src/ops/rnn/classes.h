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

#define BP__RNN_CLASS(text, mode)                                                                                      \
    {.name = "rnn.f32." text, .op = BP_OP_RNN, .dtype = BP_F32, .variant = mode, .lattice = &bp__rnn_sizes},
#define BP__CLASSES_OF_RNN                                                                                             \
    BP__RNN_CLASS("tanh", BP_RNN_TANH) BP__RNN_CLASS("lstm", BP_RNN_LSTM) BP__RNN_CLASS("gru", BP_RNN_GRU)

#endif
