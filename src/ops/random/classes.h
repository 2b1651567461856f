/* classes.h - lists what calibration measures of random numbers. */
#ifndef BP_OPS_RANDOM_CLASSES_H
#define BP_OPS_RANDOM_CLASSES_H

#include "calibration/classes.h"

/* The sizes are the elements of a row and the rows. */
static const bp__lattice bp__random_sizes = {
    .dimensions = 2,
    .count = {4, 2},
    .knot = {{16, 256, 4096, 65536}, {1, 4}},
    .most = 1 << 18,
};

static const bp__lattice bp__random_few = {
    .dimensions = 2,
    .count = {2, 2},
    .knot = {{256, 65536}, {1, 4}},
    .most = 1 << 18,
};

#define BP__CLASSES_OF_random                                                                                          \
    {.name = "random.f32", .op = BP_OP_RANDOM, .dtype = BP_F32, .lattice = &bp__random_sizes},                         \
        BP__CLASSES_OF_TYPES("random", "", BP_OP_RANDOM, &bp__random_few)

#endif
