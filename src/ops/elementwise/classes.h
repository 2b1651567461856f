/* classes.h - lists what calibration measures of functions of single elements. */
#ifndef BP_OPS_ELEMENTWISE_CLASSES_H
#define BP_OPS_ELEMENTWISE_CLASSES_H

#include "calibration/classes.h"

/* The sizes are the elements of a row and the rows. */
static const bp__lattice bp__elementwise_sizes = {
    .dimensions = 2,
    .count = {4, 3},
    .knot = {{8, 64, 512, 4096}, {1, 16, 128}},
    .most = 1 << 19,
};

static const bp__lattice bp__elementwise_few = {
    .dimensions = 2,
    .count = {2, 2},
    .knot = {{64, 4096}, {1, 16}},
    .most = 1 << 18,
};

#define BP__CLASSES_OF_elementwise                                                                                     \
    {.name = "unary.f32", .op = BP_OP_UNARY, .dtype = BP_F32, .lattice = &bp__elementwise_sizes},                      \
        {.name = "binary.f32", .op = BP_OP_BINARY, .dtype = BP_F32, .lattice = &bp__elementwise_sizes},                \
        {.name = "take.f32", .op = BP_OP_TAKE, .dtype = BP_F32, .lattice = &bp__elementwise_sizes},                    \
        BP__CLASSES_OF_TYPES("unary", "", BP_OP_UNARY, &bp__elementwise_few)                                           \
            BP__CLASSES_OF_TYPES("binary", "", BP_OP_BINARY, &bp__elementwise_few)                                     \
                BP__CLASSES_OF_TYPES("take", "", BP_OP_TAKE, &bp__elementwise_few)

#endif
