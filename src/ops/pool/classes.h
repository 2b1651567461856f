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

static const bp__lattice bp__pool_few = {
    .dimensions = 2,
    .count = {2, 2},
    .knot = {{16, 256}, {8, 32}},
    .most = 1 << 13,
};

/* A preferred library must offer the first: oneDNN has averages only. */
#define BP__CLASSES_OF_pool                                                                                            \
    {.name = "avg_pool.f32", .op = BP_OP_AVG_POOL, .dtype = BP_F32, .lattice = &bp__pool_images},                      \
        {.name = "max_pool.f32", .op = BP_OP_MAX_POOL, .dtype = BP_F32, .lattice = &bp__pool_images},                  \
        BP__CLASSES_OF_TYPES("avg_pool", "", BP_OP_AVG_POOL, &bp__pool_few)                                            \
            BP__CLASSES_OF_TYPES("max_pool", "", BP_OP_MAX_POOL, &bp__pool_few)                                        \
                BP__CLASS_OF_TYPE("avg_pool_backward.f32", BP_OP_AVG_POOL_BACKWARD, BP_F32, &bp__pool_few)             \
                    BP__CLASS_OF_TYPE("max_pool_backward.f32", BP_OP_MAX_POOL_BACKWARD, BP_F32, &bp__pool_few)

#endif
