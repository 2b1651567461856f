/* linalg.h - computes linear algebra with the shapes and conventions of torch.linalg.
 *
 * A matrix is the last two dimensions of a tensor. The dimensions before them are a batch ("*" below); one element of
 * the batch is an item. Batches of two inputs broadcast. Element types are f32, f64, c64, c128, the same for all
 * floating operands of a call, except operands marked "real" (f32 for c64, f64 for c128) or "complex" (the reverse).
 * Any strides; matrices and batches may be empty. The caller provides the outputs, with the shapes of
 * bp_linalg_shape(). They must not overlap an input, each other or themselves (BP_E_OVERLAP). An optional output may be
 * NULL. All functions are thread-safe.
 *
 * Failing items. Without an `info` operand, the call fails with the status of the first failing item: BP_E_SINGULAR,
 * BP_E_NOT_POSITIVE_DEFINITE or BP_E_NOT_CONVERGED. The message has the item and LAPACK's index, and outputs may be
 * partly written. With `info` (int32, of shape *) the call succeeds: info is 0 for an item that succeeded, otherwise
 * LAPACK's positive index, and the item's outputs are as LAPACK left them. To get both, set fail_on_item_error in
 * bp_linalg_call. On a device a call without info returns before its items are computed: the next wait for the queue
 * fails in its place, with the same status and message.
 *
 * NaN and infinity in the input. Libraries treat them differently, and some never return, so no library gets them. If
 * an element that the operation reads is NaN or infinite, the item is not computed: its floating outputs are NaN, its
 * integer outputs 0, and its info is BP_INFO_NON_FINITE (-1). A call without info fails with BP_E_NON_FINITE.
 * Exception: the norms fro, 1, -1, inf and -inf, all vector norms, and products compute with them as in ordinary
 * arithmetic.
 *
 * Overflow. If a division by zero or a large value makes an intermediate value of a solution or an inverse infinite,
 * the elements that depend on it are infinite or NaN. Which of both depends on the order of the sums, and so on the
 * library and on the layout.
 *
 * Errors of all functions: those above, BP_E_ARGUMENT, BP_E_SHAPE, BP_E_DTYPE, BP_E_DEVICE, BP_E_LAYOUT, BP_E_OVERLAP,
 * BP_E_OVERFLOW, BP_E_NO_CANDIDATE, BP_E_FALLBACK, BP_E_NOT_FOUND, BP_E_NO_MEMORY, BP_E_CANCELLED (interrupt.h),
 * BP_E_INTERNAL (a library reported an illegal argument).
 *
 * Comments name LAPACK routines without the type letter: getrf is sgetrf, dgetrf, cgetrf or zgetrf.
 */
#ifndef BACKPLANE_LINALG_H
#define BACKPLANE_LINALG_H

#include "backplane/dispatch.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- General form: any operation, with settings for this call; run, plan or explain ---- */

/* The most inputs, and outputs, of one operation. */
#define BP_LINALG_INPUTS 3
#define BP_LINALG_OUTPUTS 4

/* One call. Zero the struct, set struct_size and op, then the fields of the operation. A field that the operation does
 * not use must be 0. Inputs are in the order of bp_op_inputs(), outputs in the order of bp_op_outputs(); NULL for an
 * absent one. */
typedef struct bp_linalg_call {
    size_t struct_size; /* sizeof(bp_linalg_call) */
    bp_op op;
    const DLTensor *input[BP_LINALG_INPUTS];
    DLTensor *output[BP_LINALG_OUTPUTS]; /* written by bp_linalg_run() only */
    bp_linalg_mode mode;                 /* BP_MODE_DEFAULT: reduced for QR and SVD, else as its function */
    int upper;                 /* as in bp_linalg_problem; PINV and MATRIX_RANK: with hermitian only; not LDL_FACTOR */
    int right;                 /* SOLVE, LU_SOLVE, SOLVE_TRIANGULAR: X op(A) = B */
    int adjoint;               /* LU_SOLVE */
    int unitriangular;         /* SOLVE_TRIANGULAR */
    int hermitian;             /* PINV, MATRIX_RANK, LDL_FACTOR, LDL_SOLVE */
    int fail_on_item_error;    /* with info: a failing item fails the call too */
    const double *rtol, *atol; /* PINV, MATRIX_RANK; rtol is rcond for LSTSQ (but not GELS). NULL: default */
    double order;              /* COND, MATRIX_NORM and VECTOR_NORM with BP_NORM_P */
    int axis_count;            /* VECTOR_NORM: number of axes; 0 if axes is NULL */
    const int *axes; /* VECTOR_NORM: the dimensions that make one vector, negative ones from the back; NULL: all */
    int keep;        /* VECTOR_NORM: the result keeps the axes, with size 1 */
} bp_linalg_call;

/* Runs the call. `options` may be NULL, here and below. */
BP_API bp_status bp_linalg_run(const bp_options *options, const bp_linalg_call *call);

/* Create a plan for bp_execute(), with the inputs and then the outputs of the operation, or explain the choice. Data
 * pointers may be NULL. Release the result with bp_plan_release() or bp_explanation_release(). */
BP_API bp_status bp_linalg_plan(bp_plan **plan, const bp_options *options, const bp_linalg_call *call);
BP_API bp_status bp_linalg_explain(bp_explanation **explanation, const bp_options *options, const bp_linalg_call *call);

/* Returns the type and shape of output[index] for the call's inputs; the outputs are not read. `shape` is an array of
 * BP_MAX_NDIM elements. Errors: BP_E_ARGUMENT for an output that the call does not have (Q with BP_QR_R). */
BP_API bp_status bp_linalg_shape(const bp_linalg_call *call, int index, bp_dtype *dtype, int *ndim, int64_t *shape);

/* ---- Inverses and solutions ---- */

/* Computes the inverse (*,n,n) of A (*,n,n); getrf, getri. BP_E_SINGULAR: info is the index of the zero diagonal
 * element of U, from 1. In all ..._ex functions `info` may be NULL. */
BP_API bp_status bp_inv(const DLTensor *a, DLTensor *inverse);
BP_API bp_status bp_inv_ex(const DLTensor *a, DLTensor *inverse, DLTensor *info);

/* Solves A X = B, or X A = B if `right`. A is (*,n,n). B is (*,n,k) ((*,k,n) if `right`), or a vector: B of rank 1, or
 * of A's shape without the last dimension. X has the shape of B, broadcast. getrf, getrs. BP_E_SINGULAR as bp_inv(). */
BP_API bp_status bp_solve(const DLTensor *a, const DLTensor *b, int right, DLTensor *x);
BP_API bp_status bp_solve_ex(const DLTensor *a, const DLTensor *b, int right, DLTensor *x, DLTensor *info);

/* Solves A X = B, or X A = B if `right`, for a triangular A; BLAS trsm. Reads only the upper or lower triangle, without
 * the diagonal if `unitriangular`. B must not be a vector. A zero on the diagonal is not an error: see "Overflow", as
 * in PyTorch. */
BP_API bp_status bp_solve_triangular(const DLTensor *a, const DLTensor *b, int upper, int right, int unitriangular,
                                     DLTensor *x);

/* ---- Cholesky: A = L L^H, or A = U^H U if `upper` ---- */

/* Computes L (*,n,n) of a Hermitian A. Reads one triangle of A (`upper` selects it); the other triangle of L is zero.
 * potrf. BP_E_NOT_POSITIVE_DEFINITE: info is the order of the leading minor that is not positive definite. */
BP_API bp_status bp_cholesky(const DLTensor *a, int upper, DLTensor *l);
BP_API bp_status bp_cholesky_ex(const DLTensor *a, int upper, DLTensor *l, DLTensor *info);

/* Solves L L^H X = B for X (*,n,k), B (*,n,k). potrs. A zero on the diagonal is not an error. */
BP_API bp_status bp_cholesky_solve(const DLTensor *b, const DLTensor *l, int upper, DLTensor *x);

/* Computes the inverse (*,n,n) of L L^H. potri. BP_E_SINGULAR: info is the index of the zero diagonal element. */
BP_API bp_status bp_cholesky_inverse(const DLTensor *l, int upper, DLTensor *inverse);

/* ---- LU: A = P L U with partial pivoting ---- */

/* Computes LU (*,m,n), both factors in one matrix without L's unit diagonal, and pivots (*,min(m,n)), int32, from 1:
 * row i was exchanged with row pivots[i]. getrf. BP_E_SINGULAR: info is the index of the zero diagonal element of U. */
BP_API bp_status bp_lu_factor(const DLTensor *a, DLTensor *lu, DLTensor *pivots);
BP_API bp_status bp_lu_factor_ex(const DLTensor *a, DLTensor *lu, DLTensor *pivots, DLTensor *info);

/* Computes P (*,m,m), a permutation matrix of A's type, L (*,m,k) and U (*,k,n), k = min(m,n). getrf. A singular A is
 * not an error. */
BP_API bp_status bp_lu(const DLTensor *a, DLTensor *p, DLTensor *l, DLTensor *u);

/* Solves A X = B (X A = B if `right`; A^H instead of A if `adjoint`) from the results of bp_lu_factor() for A (*,n,n).
 * getrs. Batches of LU, pivots and B broadcast. A zero on the diagonal is not an error. BP_E_ARGUMENT: a pivot is not
 * in 1..n. */
BP_API bp_status bp_lu_solve(const DLTensor *lu, const DLTensor *pivots, const DLTensor *b, int right, int adjoint,
                             DLTensor *x);

/* ---- LDL: A = L D L^T, or A = L D L^H if `hermitian`, which need not be positive definite ---- */

/* Computes LD (*,n,n) and pivots (*,n), int32, from the lower triangle of A (*,n,n), as LAPACK's routine sytrf with the
 * letter L (hetrf if `hermitian` and complex) does. Blocks of D of 1x1 and 2x2 elements are on and below the diagonal
 * of LD, the factors of L below; the upper triangle of LD is zero. A positive pivot i: the block is 1x1, and the row
 * and column were exchanged with number i, from 1. Two negative ones, which are equal: the block is 2x2, and its second
 * row and column were exchanged with number -i. For `hermitian` the imaginary parts of the diagonal count as 0.
 * BP_E_SINGULAR: info is the index of a zero block of D. */
BP_API bp_status bp_ldl_factor(const DLTensor *a, int hermitian, DLTensor *ld, DLTensor *pivots);
BP_API bp_status bp_ldl_factor_ex(const DLTensor *a, int hermitian, DLTensor *ld, DLTensor *pivots, DLTensor *info);

/* Solves A X = B, B (*,n,k), from the results of bp_ldl_factor() with the same `hermitian`. Reads the lower triangle of
 * LD. sytrs, hetrs. Batches of LD, pivots and B broadcast. A zero block of D is not an error. BP_E_ARGUMENT: a pivot is
 * not in 1..n or -n..-1, or a negative one is not one of two equal ones. */
BP_API bp_status bp_ldl_solve(const DLTensor *ld, const DLTensor *pivots, const DLTensor *b, int hermitian,
                              DLTensor *x);

/* ---- QR, eigenvalues, singular values ---- */

/* Computes A = Q R for A (*,m,n), k = min(m,n). mode: BP_QR_REDUCED (Q (*,m,k), R (*,k,n)), BP_QR_COMPLETE (Q (*,m,m),
 * R (*,m,n)), or BP_QR_R (R (*,k,n), q is NULL). geqrf, orgqr or ungqr. */
BP_API bp_status bp_qr(const DLTensor *a, bp_linalg_mode mode, DLTensor *q, DLTensor *r);

/* Computes the eigenvalues w (*,n), real, ascending, and the eigenvectors, the columns of V (*,n,n), of a Hermitian A.
 * Reads one triangle of A. syevd or heevd. BP_E_NOT_CONVERGED. */
BP_API bp_status bp_eigh(const DLTensor *a, int upper, DLTensor *w, DLTensor *v);
BP_API bp_status bp_eigvalsh(const DLTensor *a, int upper, DLTensor *w);

/* Computes the eigenvalues w (*,n), complex, in no defined order, and the right eigenvectors, the columns of V (*,n,n),
 * complex, of norm 1. geev. BP_E_NOT_CONVERGED. */
BP_API bp_status bp_eig(const DLTensor *a, DLTensor *w, DLTensor *v);
BP_API bp_status bp_eigvals(const DLTensor *a, DLTensor *w);

/* Computes A = U diag(S) Vh for A (*,m,n), k = min(m,n). S (*,k) is real, descending. U is (*,m,k) and Vh (*,k,n), or
 * (*,m,m) and (*,n,n) if full_matrices. gesdd. BP_E_NOT_CONVERGED. */
BP_API bp_status bp_svd(const DLTensor *a, int full_matrices, DLTensor *u, DLTensor *s, DLTensor *vh);
BP_API bp_status bp_svdvals(const DLTensor *a, DLTensor *s);

/* ---- Least squares ---- */

/* Computes X (*,n,k) that minimises |A X - B| for A (*,m,n), B (*,m,k) (or a vector, as in bp_solve()). X is the
 * minimum-norm solution, except with gels, which assumes that A has full rank. driver: BP_LSTSQ_GELSY (default), _GELS,
 * _GELSD, _GELSS. rcond: singular values up to rcond times the largest are treated as zero; NULL: epsilon of the type
 * times max(m,n); negative: LAPACK's machine precision, half of epsilon; NULL with gels. Optional outputs: residuals
 * (*,k), real, the squared norms of the columns of A X - B if m > n and A has full rank, otherwise NaN; rank (*),
 * int64, not with gels; s (*,min(m,n)), real, the singular values, with gelsd and gelss only. rank and s describe A
 * for any k, including 0. BP_E_ARGUMENT: an output that the driver does not compute. */
BP_API bp_status bp_lstsq(const DLTensor *a, const DLTensor *b, const double *rcond, bp_linalg_mode driver, DLTensor *x,
                          DLTensor *residuals, DLTensor *rank, DLTensor *s);

/* ---- Determinant, pseudoinverse, rank, condition number, norm ---- */

/* Computes det (*) of A (*,n,n); 0 for a singular matrix. */
BP_API bp_status bp_det(const DLTensor *a, DLTensor *det);

/* Computes det = sign exp(logabsdet): sign (*) of A's type, logabsdet (*) real; 0 and -inf for a singular matrix. */
BP_API bp_status bp_slogdet(const DLTensor *a, DLTensor *sign, DLTensor *logabsdet);

/* Computes the Moore-Penrose inverse (*,n,m) of A (*,m,n) from singular values, or from eigenvalues if hermitian (only
 * the lower triangle is read). Values up to max(atol, rtol * largest) are treated as zero. Default (NULL): atol 0; rtol
 * epsilon of the type times max(m,n), or 0 if atol is given and not 0. */
BP_API bp_status bp_pinv(const DLTensor *a, const double *rtol, const double *atol, int hermitian, DLTensor *inverse);

/* Computes rank (*), int64: the number of singular values above max(atol, rtol * largest); defaults as bp_pinv(). */
BP_API bp_status bp_matrix_rank(const DLTensor *a, const double *rtol, const double *atol, int hermitian,
                                DLTensor *rank);

/* Computes cond (*), real. BP_NORM_FRO, BP_NORM_NUC and BP_NORM_P with order 1, -1, inf or -inf: norm(A) norm(inverse
 * of A) of a square A, infinity if A is singular. BP_NORM_P with order 2 (the default): largest over smallest singular
 * value; with order -2: smallest over largest. A may then be rectangular. The result for a zero matrix is infinity. */
BP_API bp_status bp_cond(const DLTensor *a, bp_linalg_mode kind, double order, DLTensor *cond);

/* Computes norm (*), real, of A (*,m,n): BP_NORM_FRO, BP_NORM_NUC, or BP_NORM_P with order 1 or -1 (largest or smallest
 * column sum of absolute values), inf or -inf (largest or smallest row sum), 2 or -2 (largest or smallest singular
 * value). */
BP_API bp_status bp_matrix_norm(const DLTensor *a, bp_linalg_mode kind, double order, DLTensor *norm);

/* norm of A's elements along the given dimensions, real: (sum of |a|^order)^(1/order). An order of inf or -inf gives
 * the largest or smallest absolute value, 0 the number of elements that are not 0. Other orders may be any number.
 * axes: `axis_count` dimensions, negative ones from the back; NULL (axis_count 0): all. The result lacks them, or has
 * them with size 1 if `keep`. No intermediate value overflows or underflows. Without elements the norm is 0 for an
 * order of 0 or more, and infinity below; order -inf is refused (BP_E_SHAPE). Dimensions that are more than
 * two after merging are copied; plans and explanations refuse them (BP_E_LAYOUT). The native provider computes all of
 * these norms. In the general form:
 * BP_OP_VECTOR_NORM with mode BP_NORM_P; BP_MODE_DEFAULT has order 2. */
BP_API bp_status bp_vector_norm(const DLTensor *a, double order, int axis_count, const int *axes, int keep,
                                DLTensor *norm);

/* ---- Products ----
 *
 * Element types of these: f16, bf16, f32, f64, c64, c128. They are made of matrix products and follow the settings of
 * those (blas.preferred, ...). `options` may be NULL. */

/* output = the sum of conj(a) * b along one dimension of both, which has the same size in a and b; all other dimensions
 * broadcast. `axis` below 0 counts from the back of a and of b, else from the front of the broadcast shape. The shape
 * of output is the broadcast shape without that dimension. Plans take {a, b, output} and are plans of bp_gemm. */
BP_API bp_status bp_vecdot(const DLTensor *a, const DLTensor *b, int axis, DLTensor *output);
BP_API bp_status bp_vecdot_run(const bp_options *options, const DLTensor *a, const DLTensor *b, int axis,
                               DLTensor *output);
BP_API bp_status bp_vecdot_plan(bp_plan **plan, const bp_options *options, const DLTensor *a, const DLTensor *b,
                                int axis, const DLTensor *output);
BP_API bp_status bp_vecdot_explain(bp_explanation **explanation, const bp_options *options, const DLTensor *a,
                                   const DLTensor *b, int axis, const DLTensor *output);
BP_API bp_status bp_vecdot_shape(const DLTensor *a, const DLTensor *b, int axis, int *ndim, int64_t *shape);

/* output = the product of two or more matrices, in the order that costs the fewest operations. The first and the last
 * operand may be a vector (rank 1), which is a row or a column; output lacks that dimension. Plans take the operands,
 * then output, and are plans of bp_einsum. An order is found by dynamic programming and kept
 * (einsum.path_cache.max_size). */
BP_API bp_status bp_multi_dot(int count, const DLTensor *const *operands, DLTensor *output);
BP_API bp_status bp_multi_dot_run(const bp_options *options, int count, const DLTensor *const *operands,
                                  DLTensor *output);
BP_API bp_status bp_multi_dot_plan(bp_plan **plan, const bp_options *options, int count,
                                   const DLTensor *const *operands, const DLTensor *output);
BP_API bp_status bp_multi_dot_explain(bp_explanation **explanation, const bp_options *options, int count,
                                      const DLTensor *const *operands, const DLTensor *output);
BP_API bp_status bp_multi_dot_shape(int count, const DLTensor *const *operands, int *ndim, int64_t *shape);

/* output (*,n,n) = A (*,n,n) to the power `n`, by repeated squaring: about log2(n) to 2 log2(n) products. 0 gives the
 * identity. A negative power is a power of the inverse (f32, f64, c64 and c128 only; BP_E_SINGULAR and BP_E_NON_FINITE
 * as bp_inv). The explanation has a part for each step (bp_explanation_part). There is no plan: the steps have plans of
 * their own in the plan cache. */
BP_API bp_status bp_matrix_power(const DLTensor *a, int64_t n, DLTensor *output);
BP_API bp_status bp_matrix_power_run(const bp_options *options, const DLTensor *a, int64_t n, DLTensor *output);
BP_API bp_status bp_matrix_power_explain(bp_explanation **explanation, const bp_options *options, const DLTensor *a,
                                         int64_t n, const DLTensor *output);

#ifdef __cplusplus
}
#endif
#endif
