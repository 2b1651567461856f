/* classes.h - lists what calibration measures of linear algebra. */
#ifndef BP_OPS_LINALG_CLASSES_H
#define BP_OPS_LINALG_CLASSES_H

#include "calibration/classes.h"

static const bp__lattice bp__linalg_matrices = {
    .dimensions = 2,
    .count = {8, 2},
    .knot = {{2, 4, 8, 16, 32, 64, 128, 256}, {1, 64}},
    .most = 1 << 11,
};

#define BP__MATRICES_OF(op_, text, type) {.name = text, .op = op_, .dtype = type, .lattice = &bp__linalg_matrices},
#define BP__MATRICES(op, text) BP__MATRICES_OF(op, text ".f32", BP_F32) BP__MATRICES_OF(op, text ".f64", BP_F64)
/* clang-format off */
#define BP__CLASSES_OF_linalg                   \
    BP__MATRICES(BP_OP_INV, "inv")              \
    BP__MATRICES(BP_OP_CHOLESKY, "cholesky")    \
    BP__MATRICES(BP_OP_LU_FACTOR, "lu_factor")  \
    BP__MATRICES(BP_OP_SOLVE, "solve")          \
    BP__MATRICES(BP_OP_QR, "qr")                \
    BP__MATRICES(BP_OP_EIGH, "eigh")            \
    BP__MATRICES(BP_OP_EIG, "eig")              \
    BP__MATRICES(BP_OP_SVD, "svd")              \
    BP__MATRICES(BP_OP_LSTSQ, "lstsq")          \
    BP__MATRICES(BP_OP_DET, "det")
/* clang-format on */

#endif
