/* classes.h - lists what calibration measures of normalization. */
#ifndef BP_OPS_NORMALIZATION_CLASSES_H
#define BP_OPS_NORMALIZATION_CLASSES_H

#include "calibration/classes.h"

/* The sizes are the channels and the side of a square image. */
static const bp__lattice bp__batch_norm_images = {
    .dimensions = 2,
    .count = {4, 4},
    .knot = {{4, 16, 64, 256}, {4, 16, 32, 64}},
    .most = 1 << 13,
};

/* The sizes are the elements of a row and the rows. */
static const bp__lattice bp__batch_norm_rows = {
    .dimensions = 2,
    .count = {4, 4},
    .knot = {{16, 64, 512, 4096}, {1, 8, 64, 512}},
    .most = 1 << 19,
};

static const bp__lattice bp__batch_norm_few_images = {
    .dimensions = 2,
    .count = {2, 2},
    .knot = {{16, 256}, {4, 32}},
    .most = 1 << 13,
};
static const bp__lattice bp__batch_norm_few_rows = {
    .dimensions = 2,
    .count = {2, 2},
    .knot = {{64, 4096}, {1, 64}},
    .most = 1 << 18,
};

#define BP__CLASSES_OF_batch_norm                                                                                      \
    {.name = "batch_norm.f32", .op = BP_OP_BATCH_NORM, .dtype = BP_F32, .lattice = &bp__batch_norm_images},            \
        {.name = "batch_norm_training.f32",                                                                            \
         .op = BP_OP_BATCH_NORM_TRAINING,                                                                              \
         .dtype = BP_F32,                                                                                              \
         .lattice = &bp__batch_norm_images},                                                                           \
        BP__CLASSES_OF_TYPES("batch_norm", "", BP_OP_BATCH_NORM, &bp__batch_norm_few_images)                           \
            BP__CLASSES_OF_TYPES("batch_norm_training", "", BP_OP_BATCH_NORM_TRAINING, &bp__batch_norm_few_images)     \
                BP__CLASS_OF_TYPE("batch_norm_backward.f32", BP_OP_BATCH_NORM_BACKWARD, BP_F32,                        \
                                  &bp__batch_norm_few_images)

#define BP__CLASSES_OF_layer_norm                                                                                      \
    {.name = "layer_norm.f32", .op = BP_OP_LAYER_NORM, .dtype = BP_F32, .lattice = &bp__batch_norm_rows},              \
        BP__CLASSES_OF_TYPES("layer_norm", "", BP_OP_LAYER_NORM, &bp__batch_norm_few_rows)                             \
            BP__CLASS_OF_TYPE("layer_norm_backward.f32", BP_OP_LAYER_NORM_BACKWARD, BP_F32, &bp__batch_norm_few_rows)

#endif
