/* classes.h - lists what calibration measures of contractions. */
#ifndef BP_OPS_EINSUM_CLASSES_H
#define BP_OPS_EINSUM_CLASSES_H

#include "calibration/classes.h"

/* The sizes are the rows and the columns of a matrix. */
static const bp__lattice bp__contract_sizes = {
    .dimensions = 2,
    .count = {4, 3},
    .knot = {{8, 32, 128, 512}, {8, 32, 128}},
    .most = 1 << 16,
};

static const bp__lattice bp__contract_few = {
    .dimensions = 2,
    .count = {2, 2},
    .knot = {{32, 512}, {8, 128}},
    .most = 1 << 16,
};

enum { BP__CONTRACT_COPIES, BP__CONTRACT_SUMS };

#define BP__CLASSES_OF_contract                                                                                        \
    {.name = "contract.f32.copies",                                                                                    \
     .op = BP_OP_CONTRACT,                                                                                             \
     .dtype = BP_F32,                                                                                                  \
     .variant = BP__CONTRACT_COPIES,                                                                                   \
     .lattice = &bp__contract_sizes},                                                                                  \
        {.name = "contract.f32.sums",                                                                                  \
         .op = BP_OP_CONTRACT,                                                                                         \
         .dtype = BP_F32,                                                                                              \
         .variant = BP__CONTRACT_SUMS,                                                                                 \
         .lattice = &bp__contract_sizes},                                                                              \
        BP__CLASSES_OF_TYPES("contract", ".copies", BP_OP_CONTRACT, &bp__contract_few, .variant = BP__CONTRACT_COPIES) \
            BP__CLASSES_OF_TYPES("contract", ".sums", BP_OP_CONTRACT, &bp__contract_few, .variant = BP__CONTRACT_SUMS)

#endif
