/* classes.h - lists what calibration measures of pooling. */
#ifndef BP_OPS_POOL_CLASSES_H
#define BP_OPS_POOL_CLASSES_H

#include "calibration/classes.h"

/* The sizes are the channels and the side of a square image. */
static const bp__lattice bp__pool_images = {
    .dimensions = 2,
    .count = {4, 4},
    .knot = {{4, 16, 64, 256}, {8, 16, 32, 64}},
    .most = 1 << 13,
};

/* A preferred library must offer the first: oneDNN has averages only. */
#define BP__CLASSES_OF_POOL                                                                                            \
    {.name = "avg_pool.f32", .op = BP_OP_AVG_POOL, .dtype = BP_F32, .lattice = &bp__pool_images},                      \
        {.name = "max_pool.f32", .op = BP_OP_MAX_POOL, .dtype = BP_F32, .lattice = &bp__pool_images},

#endif
