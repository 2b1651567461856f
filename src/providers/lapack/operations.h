/* operations.h - declares the implementations of all operations, by file. operations.c is their table. */
#ifndef BP_LAPACK_OPERATIONS_H
#define BP_LAPACK_OPERATIONS_H

#include "providers/lapack/lapack.h"

/* lu.c */
extern const bp__lapack_operation bp__lapack_lu_factor, bp__lapack_lu, bp__lapack_lu_solve;
/* ldl.c */
extern const bp__lapack_operation bp__lapack_ldl_factor, bp__lapack_ldl_solve;
/* solve.c */
extern const bp__lapack_operation bp__lapack_inv, bp__lapack_solve, bp__lapack_solve_triangular;
/* det.c */
extern const bp__lapack_operation bp__lapack_det, bp__lapack_slogdet;
/* cholesky.c */
extern const bp__lapack_operation bp__lapack_cholesky, bp__lapack_cholesky_solve, bp__lapack_cholesky_inverse;
/* qr.c */
extern const bp__lapack_operation bp__lapack_qr;
/* eigh.c, eig.c, svd.c */
extern const bp__lapack_operation bp__lapack_eigh, bp__lapack_eig, bp__lapack_svd;
/* lstsq.c */
extern const bp__lapack_operation bp__lapack_lstsq;
/* pinv.c, rank.c */
extern const bp__lapack_operation bp__lapack_pinv, bp__lapack_matrix_rank;
/* cond.c, norm.c */
extern const bp__lapack_operation bp__lapack_cond, bp__lapack_matrix_norm;

#endif
