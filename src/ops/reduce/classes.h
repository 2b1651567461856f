/* classes.h - lists what calibration measures of reductions and softmax. */
#ifndef BP_OPS_REDUCE_CLASSES_H
#define BP_OPS_REDUCE_CLASSES_H

#include "calibration/classes.h"

/* The sizes are the elements that are reduced and the results. */
static const bp__lattice bp__reduce_sizes = {
    .dimensions = 2,
    .count = {4, 3},
    .knot = {{8, 64, 512, 4096}, {1, 16, 128}},
    .most = 1 << 19,
};

#define BP__CLASSES_OF_REDUCE                                                                                          \
    {.name = "reduce.f32", .op = BP_OP_REDUCE, .dtype = BP_F32, .lattice = &bp__reduce_sizes},                         \
        {.name = "softmax.f32", .op = BP_OP_SOFTMAX, .dtype = BP_F32, .lattice = &bp__reduce_sizes},

#endif
