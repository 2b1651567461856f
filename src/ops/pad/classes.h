/* classes.h - lists what calibration measures of padding. */
#ifndef BP_OPS_PAD_CLASSES_H
#define BP_OPS_PAD_CLASSES_H

#include "calibration/classes.h"

/* The sizes are the elements of a row and the rows. */
static const bp__lattice bp__pad_few = {
    .dimensions = 2,
    .count = {2, 2},
    .knot = {{64, 4096}, {1, 16}},
    .most = 1 << 18,
};

#define BP__CLASSES_OF_pad                                                                                             \
    {.name = "pad.f32", .op = BP_OP_PAD, .dtype = BP_F32, .lattice = &bp__pad_few},                                    \
        BP__CLASSES_OF_TYPES("pad", "", BP_OP_PAD, &bp__pad_few)

#endif
