/* call.h - lists the operations of linear algebra: for each its flags, and its operands with their shapes and types.
 * Both the descriptions of the calls and the table by which calls are checked are made from these lists.
 *
 * All calls take a bp_linalg_call; its `op` is known from the description. */
#ifndef BP_OPS_LINALG_CALL_H
#define BP_OPS_LINALG_CALL_H

#include "ops/linalg/linalg.h"

/* name, NAME, modes, what it computes; in the order of the numbers */
/* clang-format off */
#define BP__LINALG_MAP(X)                                                                                              \
    X(inv, INV, NO_MODE, "the inverse of a matrix")                                                                    \
    X(cholesky, CHOLESKY, NO_MODE, "the Cholesky factor of a matrix")                                                  \
    X(cholesky_solve, CHOLESKY_SOLVE, NO_MODE, "solutions of systems from the Cholesky factor")                        \
    X(cholesky_inverse, CHOLESKY_INVERSE, NO_MODE, "the inverse from the Cholesky factor")                             \
    X(lu_factor, LU_FACTOR, NO_MODE, "both factors of an LU decomposition in one matrix, and the pivots")              \
    X(lu, LU, NO_MODE, "an LU decomposition")                                                                          \
    X(lu_solve, LU_SOLVE, NO_MODE, "solutions of systems from the result of lu_factor")                                \
    X(solve, SOLVE, NO_MODE, "solutions of systems of linear equations")                                               \
    X(solve_triangular, SOLVE_TRIANGULAR, NO_MODE, "solutions of systems with a triangular matrix")                    \
    X(qr, QR, QR_MODE, "a QR decomposition")                                                                           \
    X(eigh, EIGH, NO_MODE, "eigenvalues and eigenvectors of a Hermitian matrix")                                       \
    X(eig, EIG, NO_MODE, "eigenvalues and eigenvectors of a matrix")                                                   \
    X(svd, SVD, SVD_MODE, "singular values and vectors")                                                               \
    X(lstsq, LSTSQ, LSTSQ_MODE, "solutions of least squares")                                                          \
    X(det, DET, NO_MODE, "the determinant")                                                                            \
    X(slogdet, SLOGDET, NO_MODE, "sign and logarithm of the determinant")                                              \
    X(pinv, PINV, NO_MODE, "the pseudoinverse")                                                                        \
    X(matrix_rank, MATRIX_RANK, NO_MODE, "the rank of a matrix")                                                       \
    X(cond, COND, COND_MODE, "the condition number of a matrix")                                                       \
    X(matrix_norm, MATRIX_NORM, NORM_MODE, "the norm of a matrix")                                                     \
    X(vector_norm, VECTOR_NORM, ORDER_MODE, "norms of vectors")                                                        \
    X(ldl_factor, LDL_FACTOR, NO_MODE, "both factors of an LDL decomposition in one matrix, and the pivots")           \
    X(ldl_solve, LDL_SOLVE, NO_MODE, "solutions of systems from the result of ldl_factor")

/* Shapes: a letter for each dimension (linalg.h), and the same as text; "*" is the batch. */
#define BP__ITEM "", "(*)"
#define BP__K "k", "(*, min(m, n))"
#define BP__KN "kn", "(*, min(m, n), n)"
#define BP__MK "mk", "(*, m, min(m, n))"
#define BP__MM "mm", "(*, m, m)"
#define BP__MN "mn", "(*, m, n)"
#define BP__MP "mp", "(*, m, min(m, n)), or (*, m, m) of whole matrices"
#define BP__MR "mr", "(*, m, k)"
#define BP__N "n", "(*, n)"
#define BP__NM "nm", "(*, n, m)"
#define BP__NN "nn", "(*, n, n)"
#define BP__NR "nr", "(*, n, k)"
#define BP__PN "pn", "(*, min(m, n), n), or (*, m, n) of whole matrices"
#define BP__QN "qn", "(*, min(m, n), n), or (*, n, n) of whole matrices"
#define BP__R "r", "(*, k)"

/* FLAG(flag) IN(input) OUT(output) MODAL(output that a mode may lack) MAY(output that may be absent); inputs and outputs
 * have index, name, shape and type. */
#define BP__INFO(MAY, index) MAY(index, info, BP__ITEM, 'i')
#define BP__OF_INV(FLAG, IN, OUT, MODAL, MAY) FLAG(CHECK) IN(0, A, BP__NN, 's') OUT(0, inverse, BP__NN, 's') BP__INFO(MAY, 1)
#define BP__OF_CHOLESKY(FLAG, IN, OUT, MODAL, MAY) \
    FLAG(CHECK) FLAG(UPPER) IN(0, A, BP__NN, 's') OUT(0, L, BP__NN, 's') BP__INFO(MAY, 1)
#define BP__OF_CHOLESKY_SOLVE(FLAG, IN, OUT, MODAL, MAY) \
    FLAG(UPPER) IN(0, B, BP__NR, 's') IN(1, L, BP__NN, 's') OUT(0, X, BP__NR, 's')
#define BP__OF_CHOLESKY_INVERSE(FLAG, IN, OUT, MODAL, MAY) \
    FLAG(CHECK) FLAG(UPPER) IN(0, L, BP__NN, 's') OUT(0, inverse, BP__NN, 's') BP__INFO(MAY, 1)
#define BP__OF_LU_FACTOR(FLAG, IN, OUT, MODAL, MAY) \
    FLAG(CHECK) IN(0, A, BP__MN, 's') OUT(0, LU, BP__MN, 's') OUT(1, pivots, BP__K, 'i') BP__INFO(MAY, 2)
#define BP__OF_LU(FLAG, IN, OUT, MODAL, MAY) \
    IN(0, A, BP__MN, 's') OUT(0, P, BP__MM, 's') OUT(1, L, BP__MK, 's') OUT(2, U, BP__KN, 's')
#define BP__OF_LU_SOLVE(FLAG, IN, OUT, MODAL, MAY) \
    FLAG(RIGHT) FLAG(ADJOINT) IN(0, LU, BP__NN, 's') IN(1, pivots, BP__N, 'i') IN(2, B, BP__NR, 's') OUT(0, X, BP__NR, 's')
#define BP__OF_SOLVE(FLAG, IN, OUT, MODAL, MAY) \
    FLAG(CHECK) FLAG(RIGHT) IN(0, A, BP__NN, 's') IN(1, B, BP__NR, 's') OUT(0, X, BP__NR, 's') BP__INFO(MAY, 1)
#define BP__OF_SOLVE_TRIANGULAR(FLAG, IN, OUT, MODAL, MAY) \
    FLAG(UPPER) FLAG(RIGHT) FLAG(UNIT) IN(0, A, BP__NN, 's') IN(1, B, BP__NR, 's') OUT(0, X, BP__NR, 's')
#define BP__OF_QR(FLAG, IN, OUT, MODAL, MAY) \
    FLAG(QR_MODE) IN(0, A, BP__MN, 's') MODAL(0, Q, BP__MP, 's') OUT(1, R, BP__PN, 's')
#define BP__OF_EIGH(FLAG, IN, OUT, MODAL, MAY) FLAG(UPPER) IN(0, A, BP__NN, 's') OUT(0, w, BP__N, 'r') MAY(1, V, BP__NN, 's')
#define BP__OF_EIG(FLAG, IN, OUT, MODAL, MAY) IN(0, A, BP__NN, 's') OUT(0, w, BP__N, 'c') MAY(1, V, BP__NN, 'c')
#define BP__OF_SVD(FLAG, IN, OUT, MODAL, MAY) \
    FLAG(SVD_MODE) IN(0, A, BP__MN, 's') MAY(0, U, BP__MP, 's') OUT(1, S, BP__K, 'r') MAY(2, Vh, BP__QN, 's')
#define BP__OF_LSTSQ(FLAG, IN, OUT, MODAL, MAY) \
    FLAG(LSTSQ_MODE) FLAG(RTOL) IN(0, A, BP__MN, 's') IN(1, B, BP__MR, 's') OUT(0, X, BP__NR, 's') \
    MAY(1, residuals, BP__R, 'r') MAY(2, rank, BP__ITEM, 'l') MAY(3, S, BP__K, 'r')
#define BP__OF_DET(FLAG, IN, OUT, MODAL, MAY) IN(0, A, BP__NN, 's') OUT(0, det, BP__ITEM, 's')
#define BP__OF_SLOGDET(FLAG, IN, OUT, MODAL, MAY) IN(0, A, BP__NN, 's') OUT(0, sign, BP__ITEM, 's') OUT(1, logabsdet, BP__ITEM, 'r')
#define BP__OF_PINV(FLAG, IN, OUT, MODAL, MAY) \
    FLAG(HERMITIAN) FLAG(UPPER) FLAG(RTOL) FLAG(ATOL) IN(0, A, BP__MN, 's') OUT(0, inverse, BP__NM, 's')
#define BP__OF_MATRIX_RANK(FLAG, IN, OUT, MODAL, MAY) \
    FLAG(HERMITIAN) FLAG(UPPER) FLAG(RTOL) FLAG(ATOL) IN(0, A, BP__MN, 's') OUT(0, rank, BP__ITEM, 'l')
#define BP__OF_COND(FLAG, IN, OUT, MODAL, MAY) FLAG(COND_MODE) FLAG(ORDER) IN(0, A, BP__MN, 's') OUT(0, cond, BP__ITEM, 'r')
#define BP__OF_MATRIX_NORM(FLAG, IN, OUT, MODAL, MAY) FLAG(NORM_MODE) FLAG(ORDER) IN(0, A, BP__MN, 's') OUT(0, norm, BP__ITEM, 'r')
#define BP__OF_VECTOR_NORM(FLAG, IN, OUT, MODAL, MAY) \
    FLAG(ORDER_MODE) FLAG(ORDER) FLAG(NDIM) FLAG(KEEP) FLAG(DIMS) IN(0, A, BP__MN, 's') OUT(0, norm, BP__ITEM, 'r')
#define BP__OF_LDL_FACTOR(FLAG, IN, OUT, MODAL, MAY) \
    FLAG(CHECK) FLAG(HERMITIAN) IN(0, A, BP__NN, 's') OUT(0, LD, BP__NN, 's') OUT(1, pivots, BP__N, 'i') BP__INFO(MAY, 2)
#define BP__OF_LDL_SOLVE(FLAG, IN, OUT, MODAL, MAY) \
    FLAG(HERMITIAN) IN(0, LD, BP__NN, 's') IN(1, pivots, BP__N, 'i') IN(2, B, BP__NR, 's') OUT(0, X, BP__NR, 's')
/* clang-format on */

/* The fields of the flags. A word without letters is no value of the operation. */
#define BP__CALL bp_linalg_call
#define BP__MODE_FIELD(most, words) BP__WORD(mode, most, words, "the variant")
#define BP__FIELD_OF_QR_MODE BP__MODE_FIELD(BP_QR_R, "default,reduced,complete,r")
#define BP__FIELD_OF_SVD_MODE BP__MODE_FIELD(BP_SVD_FULL, "default,,,,reduced,full")
#define BP__FIELD_OF_LSTSQ_MODE BP__MODE_FIELD(BP_LSTSQ_GELSS, "default,,,,,,gelsy,gels,gelsd,gelss")
#define BP__FIELD_OF_COND_MODE BP__MODE_FIELD(BP_NORM_P, "default,,,,,,,,,,fro,nuc,p")
#define BP__FIELD_OF_NORM_MODE BP__FIELD_OF_COND_MODE
#define BP__FIELD_OF_ORDER_MODE BP__MODE_FIELD(BP_NORM_P, "default,,,,,,,,,,,,p")
#define BP__FIELD_OF_UPPER BP__FLAG(upper, "the upper triangle is read")
#define BP__FIELD_OF_RIGHT BP__FLAG(right, "the unknown is on the left: X A = B")
#define BP__FIELD_OF_ADJOINT BP__FLAG(adjoint, "the adjoint in place of the matrix")
#define BP__FIELD_OF_UNIT BP__FLAG(unitriangular, "the diagonal is not read; its elements count as 1")
#define BP__FIELD_OF_HERMITIAN BP__FLAG(hermitian, "the matrix is Hermitian")
#define BP__FIELD_OF_CHECK BP__FLAG(fail_on_item_error, "an item that fails makes the call fail, also with info")
#define BP__FIELD_OF_RTOL BP__TOLERANCE(rtol, "what counts as zero, relative to the largest value")
#define BP__FIELD_OF_ATOL BP__TOLERANCE(atol, "what counts as zero")
#define BP__FIELD_OF_ORDER BP__REAL(order, 0, "the order of mode p")
#define BP__FIELD_OF_DIMS BP__AXES(axes, "the dimensions of a vector; all if absent")
#define BP__FIELD_OF_NDIM BP__COUNT_UP_TO(axis_count, BP_MAX_NDIM, "number of axes; 0 if they are absent")
#define BP__FIELD_OF_KEEP BP__FLAG(keep, "the result keeps these dimensions, with size 1")

#endif
