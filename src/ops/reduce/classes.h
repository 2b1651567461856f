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

static const bp__lattice bp__reduce_few = {
    .dimensions = 2,
    .count = {2, 2},
    .knot = {{64, 4096}, {1, 16}},
    .most = 1 << 18,
};

#define BP__CLASSES_OF_reduce                                                                                          \
    {.name = "reduce.f32", .op = BP_OP_REDUCE, .dtype = BP_F32, .lattice = &bp__reduce_sizes},                         \
        {.name = "softmax.f32", .op = BP_OP_SOFTMAX, .dtype = BP_F32, .lattice = &bp__reduce_sizes},                   \
        BP__CLASSES_OF_TYPES("reduce", "", BP_OP_REDUCE, &bp__reduce_few)                                              \
            BP__CLASSES_OF_TYPES("softmax", "", BP_OP_SOFTMAX, &bp__reduce_few)                                        \
                BP__CLASS_OF_TYPE("softmax_backward.f32", BP_OP_SOFTMAX_BACKWARD, BP_F32, &bp__reduce_few)

#endif
