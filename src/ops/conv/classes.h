/* classes.h - lists what calibration measures of convolutions. */
#ifndef BP_OPS_CONV_CLASSES_H
#define BP_OPS_CONV_CLASSES_H

#include "calibration/classes.h"

enum {
    BP__CONV_POINTS,    /* kernels of one element */
    BP__CONV_DENSE,     /* larger kernels; measured with 3x3 */
    BP__CONV_DEPTHWISE, /* one channel in each group; measured with 3x3 */
    BP__CONV_WINOGRAD   /* Winograd's algorithm */
};

/* The sizes are the channels and the side of a square image. The largest dense ones take about 10 ms. */
static const bp__lattice bp__conv_images = {
    .dimensions = 2,
    .count = {4, 5},
    .knot = {{8, 32, 128, 512}, {7, 14, 28, 56, 112}},
    .most = 1 << 13,
};
static const bp__lattice bp__conv_many_channels = {
    .dimensions = 2,
    .count = {4, 5},
    .knot = {{16, 64, 256, 1024}, {7, 14, 28, 56, 112}},
    .most = 1 << 17,
};

static const bp__lattice bp__conv_few = {
    .dimensions = 2,
    .count = {2, 2},
    .knot = {{32, 512}, {7, 28}},
    .most = 1 << 12,
};

/* Networks use a weight again and again, so it is packed. */
#define BP__IN_IEEE "dispatch.packed=second,conv.fp32_precision=ieee"
#define BP__IN_ANY "dispatch.packed=second,conv.fp32_precision=none"
/* clang-format off */
#define BP__CLASSES_OF_conv \
    {"conv.f32.points", BP_OP_CONV, BP_F32, BP__CONV_POINTS, &bp__conv_images, .settings = BP__IN_IEEE}, \
    {"conv.f32.dense", BP_OP_CONV, BP_F32, BP__CONV_DENSE, &bp__conv_images, .settings = BP__IN_IEEE}, \
    {"conv.f32.depthwise", BP_OP_CONV, BP_F32, BP__CONV_DEPTHWISE, &bp__conv_many_channels, .settings = BP__IN_IEEE}, \
    {"conv.f32.winograd", BP_OP_CONV, BP_F32, BP__CONV_WINOGRAD, &bp__conv_images, .algorithm = "winograd", \
     .settings = BP__IN_ANY}, \
    BP__CLASSES_OF_TYPES("conv", ".points", BP_OP_CONV, &bp__conv_few, .variant = BP__CONV_POINTS) \
    BP__CLASSES_OF_TYPES("conv", ".dense", BP_OP_CONV, &bp__conv_few, .variant = BP__CONV_DENSE) \
    BP__CLASS_OF_TYPE("conv_input.f32.points", BP_OP_CONV_INPUT, BP_F32, &bp__conv_few, .variant = BP__CONV_POINTS) \
    BP__CLASS_OF_TYPE("conv_input.f32.dense", BP_OP_CONV_INPUT, BP_F32, &bp__conv_few, .variant = BP__CONV_DENSE) \
    BP__CLASS_OF_TYPE("conv_weight.f32.points", BP_OP_CONV_WEIGHT, BP_F32, &bp__conv_few, .variant = BP__CONV_POINTS) \
    BP__CLASS_OF_TYPE("conv_weight.f32.dense", BP_OP_CONV_WEIGHT, BP_F32, &bp__conv_few, .variant = BP__CONV_DENSE)
/* clang-format on */

#endif
