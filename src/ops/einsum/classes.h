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

/* The sizes are the elements of the result, which are a square, and the products of each. Large ones are no powers of
 * 2, whose strides fall on the same lines of a cache. */
static const bp__lattice bp__contract_matrices = {
    .dimensions = 2,
    .count = {4, 4},
    .knot = {{16, 576, 3136, 61504}, {4, 15, 60, 250}},
    .most = 1 << 22,
};
static const bp__lattice bp__contract_matrices_few = {
    .dimensions = 2,
    .count = {2, 2},
    .knot = {{64, 3136}, {8, 60}},
    .most = 1 << 20,
};

/* Kinds of contractions whose times differ by more than their estimates do. */
typedef enum bp__contract_variant {
    BP__CONTRACT_TRANSPOSED,  /* a copy with whole tiles that are transposed */
    BP__CONTRACT_COPIED_ROWS, /* a copy of contiguous rows */
    BP__CONTRACT_GATHERED,    /* a copy element by element */
    BP__CONTRACT_SUMS,        /* sums of rows */
    BP__CONTRACT_ROW_SUMS,    /* the sum of rows */
    BP__CONTRACT_DOTS,        /* products of rows and a vector */
    BP__CONTRACT_SCALED_ROWS, /* the sum of rows times numbers */
    BP__CONTRACT_PRODUCTS,    /* products of elements, without a sum */
    /* Products of two matrices, by where summed elements are adjacent: */
    BP__CONTRACT_MATRICES,     /* in neither */
    BP__CONTRACT_MATRICES_ONE, /* in one */
    BP__CONTRACT_MATRICES_BOTH,
    BP__CONTRACT_MATRICES_ITEMS /* elements of several products are adjacent, in one or both */
} bp__contract_variant;

#define BP__CONTRACTIONS_OF(what, kind)                                                                                \
    BP__CLASS_OF_TYPE("contract.f32." what, BP_OP_CONTRACT, BP_F32, &bp__contract_sizes, .variant = kind)              \
    BP__CLASSES_OF_TYPES("contract", "." what, BP_OP_CONTRACT, &bp__contract_few, .variant = kind)

#define BP__MATRIX_CONTRACTIONS_OF(what, kind)                                                                         \
    BP__CLASS_OF_TYPE("contract.f32." what, BP_OP_CONTRACT, BP_F32, &bp__contract_matrices, .variant = kind)           \
    BP__CLASSES_OF_TYPES("contract", "." what, BP_OP_CONTRACT, &bp__contract_matrices_few, .variant = kind)

#define BP__CLASSES_OF_contract                                                                                        \
    BP__CONTRACTIONS_OF("transposed", BP__CONTRACT_TRANSPOSED)                                                         \
    BP__CONTRACTIONS_OF("copied-rows", BP__CONTRACT_COPIED_ROWS)                                                       \
    BP__CONTRACTIONS_OF("gathered", BP__CONTRACT_GATHERED)                                                             \
    BP__CONTRACTIONS_OF("sums", BP__CONTRACT_SUMS)                                                                     \
    BP__CONTRACTIONS_OF("row-sums", BP__CONTRACT_ROW_SUMS)                                                             \
    BP__CONTRACTIONS_OF("dots", BP__CONTRACT_DOTS)                                                                     \
    BP__CONTRACTIONS_OF("scaled-rows", BP__CONTRACT_SCALED_ROWS)                                                       \
    BP__CONTRACTIONS_OF("products", BP__CONTRACT_PRODUCTS)                                                             \
    BP__MATRIX_CONTRACTIONS_OF("matrices", BP__CONTRACT_MATRICES)                                                      \
    BP__MATRIX_CONTRACTIONS_OF("matrices-one", BP__CONTRACT_MATRICES_ONE)                                              \
    BP__MATRIX_CONTRACTIONS_OF("matrices-both", BP__CONTRACT_MATRICES_BOTH)                                            \
    BP__MATRIX_CONTRACTIONS_OF("matrices-items", BP__CONTRACT_MATRICES_ITEMS)

#endif
