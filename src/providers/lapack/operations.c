/* operations.c - the table of operations and their implementations, each in the file of its family. */
#include "providers/lapack/operations.h"

static const bp__lapack_operation *const operations[] = {
    [BP_OP_INV] = &bp__lapack_inv,
    [BP_OP_CHOLESKY] = &bp__lapack_cholesky,
    [BP_OP_CHOLESKY_SOLVE] = &bp__lapack_cholesky_solve,
    [BP_OP_CHOLESKY_INVERSE] = &bp__lapack_cholesky_inverse,
    [BP_OP_LU_FACTOR] = &bp__lapack_lu_factor,
    [BP_OP_LU] = &bp__lapack_lu,
    [BP_OP_LU_SOLVE] = &bp__lapack_lu_solve,
    [BP_OP_SOLVE] = &bp__lapack_solve,
    [BP_OP_SOLVE_TRIANGULAR] = &bp__lapack_solve_triangular,
    [BP_OP_DET] = &bp__lapack_det,
    [BP_OP_SLOGDET] = &bp__lapack_slogdet,
    [BP_OP_QR] = &bp__lapack_qr,
    [BP_OP_EIGH] = &bp__lapack_eigh,
    [BP_OP_EIG] = &bp__lapack_eig,
    [BP_OP_SVD] = &bp__lapack_svd,
    [BP_OP_LSTSQ] = &bp__lapack_lstsq,
    [BP_OP_PINV] = &bp__lapack_pinv,
    [BP_OP_MATRIX_RANK] = &bp__lapack_matrix_rank,
    [BP_OP_COND] = &bp__lapack_cond,
    [BP_OP_MATRIX_NORM] = &bp__lapack_matrix_norm,
    [BP_OP_LDL_FACTOR] = &bp__lapack_ldl_factor,
    [BP_OP_LDL_SOLVE] = &bp__lapack_ldl_solve,
};

const bp__lapack_operation *bp__lapack_operation_of(const bp_problem *problem) {
    const bp__lapack_operation *operation =
        problem->op < sizeof operations / sizeof operations[0] ? operations[problem->op] : NULL;
    return operation && operation->variant ? operation->variant(problem) : operation;
}
