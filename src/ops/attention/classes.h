/* classes.h - lists what calibration measures of attention. */
#ifndef BP_OPS_ATTENTION_CLASSES_H
#define BP_OPS_ATTENTION_CLASSES_H

#include "calibration/classes.h"

/* The sizes are the queries, which are as many as the keys, and the items. */
static const bp__lattice bp__attention_sizes = {
    .dimensions = 2,
    .count = {4, 2},
    .knot = {{16, 64, 256, 512}, {1, 8}},
    .most = 1 << 11,
};

static const bp__lattice bp__attention_few = {
    .dimensions = 2,
    .count = {2, 2},
    .knot = {{64, 512}, {1, 8}},
    .most = 1 << 11,
};

/* Kernels of native are measured by themselves; they are in the order of their variants. */
#define BP__ATTENTION_CLASS(text, number)                                                                              \
    {.name = "attention.f32." text,                                                                                    \
     .op = BP_OP_ATTENTION,                                                                                            \
     .dtype = BP_F32,                                                                                                  \
     .variant = number,                                                                                                \
     .lattice = &bp__attention_sizes,                                                                                  \
     .algorithm = text},
#define BP__ATTENTION_CLASSES(text, number)                                                                            \
    BP__CLASSES_OF_TYPES("attention", "." text, BP_OP_ATTENTION, &bp__attention_few, .variant = number,                \
                         .algorithm = text)                                                                            \
    BP__CLASS_OF_TYPE("attention_backward.f32." text, BP_OP_ATTENTION_BACKWARD, BP_F32, &bp__attention_few,            \
                      .variant = number, .algorithm = text)
#define BP__CLASSES_OF_attention                                                                                       \
    BP__ATTENTION_CLASS("flash", 0)                                                                                    \
    BP__ATTENTION_CLASS("mem_efficient", 1)                                                                            \
    BP__ATTENTION_CLASS("math", 2)                                                                                     \
    BP__ATTENTION_CLASSES("flash", 0) BP__ATTENTION_CLASSES("mem_efficient", 1) BP__ATTENTION_CLASSES("math", 2)

#endif
