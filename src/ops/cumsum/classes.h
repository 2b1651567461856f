/* classes.h - lists what calibration measures of cumulative sums. */
#ifndef BP_OPS_CUMSUM_CLASSES_H
#define BP_OPS_CUMSUM_CLASSES_H

#include "calibration/classes.h"

/* The sizes are the elements of a row and the rows. */
static const bp__lattice bp__cumsum_sizes = {
    .dimensions = 2,
    .count = {4, 3},
    .knot = {{8, 64, 512, 4096}, {1, 16, 128}},
    .most = 1 << 19,
};

static const bp__lattice bp__cumsum_few = {
    .dimensions = 2,
    .count = {2, 2},
    .knot = {{64, 4096}, {1, 16}},
    .most = 1 << 18,
};

#define BP__CLASSES_OF_cumsum                                                                                          \
    {.name = "cumsum.f32", .op = BP_OP_CUMSUM, .dtype = BP_F32, .lattice = &bp__cumsum_sizes},                         \
        BP__CLASSES_OF_TYPES("cumsum", "", BP_OP_CUMSUM, &bp__cumsum_few)

#endif
