/* linalg.h - linear algebra with the shapes and meanings of torch.linalg.
 *
 * Matrices are the last two dimensions of a tensor, those before are a batch ("*" below); where an operation has two
 * inputs, their batches broadcast. Element types f32, f64, c64, c128, the same for all floating operands of a call,
 * unless said otherwise: "real" is f32 beside f32 and c64, f64 beside f64 and c128; "complex" is the other way round.
 * Any strides; empty matrices and batches too. Outputs are the caller's memory, of the shapes that bp_linalg_shape()
 * tells; they must not overlap an input, each other or themselves (BP_E_OVERLAP). An output marked optional may be
 * NULL. All functions are thread-safe.
 *
 * Failures. Without an `info` operand, the first item of the batch that fails gives BP_E_SINGULAR,
 * BP_E_NOT_POSITIVE_DEFINITE or BP_E_NOT_CONVERGED, and bp_last_error() tells which item and LAPACK's index; the
 * outputs are then written in part. With `info` (int32, of shape *) the call succeeds, and info is 0 for items that
 * succeeded, else LAPACK's positive index; outputs of such items are as LAPACK left them. To have both, set `check` in
 * bp_linalg_call.
 *
 * NaN and infinity in the input: no library is trusted with them, since what libraries do differs and some never
 * return. An item that has one among the elements that the operation reads is not computed: its floating outputs are
 * NaN, its integer outputs 0, its info is BP_INFO_NON_FINITE (-1), and calls without info fail with BP_E_NON_FINITE.
 * The norms fro, 1, -1, inf and -inf, all vector norms, and products are plain arithmetic and let both through.
 *
 * Errors of all besides: BP_E_ARGUMENT, BP_E_SHAPE, BP_E_DTYPE, BP_E_DEVICE, BP_E_LAYOUT, BP_E_OVERLAP, BP_E_OVERFLOW,
 * BP_E_NO_CANDIDATE, BP_E_FALLBACK, BP_E_NOT_FOUND, BP_E_NO_MEMORY, BP_E_CANCELLED (interrupt.h), BP_E_INTERNAL (a
 * library found an argument illegal).
 *
 * LAPACK routines are named by their stem: getrf is sgetrf, dgetrf, cgetrf or zgetrf.
 */
#ifndef BACKPLANE_LINALG_H
#define BACKPLANE_LINALG_H

#include "backplane/dispatch.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- The general form: any operation, with settings for this call, planned or explained ---- */

/* One call. Zero it, set struct_size and op, then what the operation takes; fields that an operation does not take must
 * be 0. Operands are in the order of bp_op_inputs() and bp_op_outputs(), inputs first; NULL for those not wanted. */
typedef struct bp_linalg_call {
    size_t struct_size;
    bp_op op;
    const DLTensor *operand[BP_LINALG_OPERANDS]; /* outputs are written, but by planning and explaining */
    bp_linalg_mode mode;                         /* BP_MODE_DEFAULT: reduced for QR and SVD, else as its function */
    int upper;                                   /* as in bp_linalg_problem; PINV and MATRIX_RANK: if hermitian */
    int right;                                   /* SOLVE, LU_SOLVE, SOLVE_TRIANGULAR: X op(A) = B */
    int adjoint;                                 /* LU_SOLVE */
    int unitriangular;                           /* SOLVE_TRIANGULAR */
    int hermitian;                               /* PINV, MATRIX_RANK */
    int check;                                   /* fail on a failing item even though info is given */
    const double *rtol, *atol; /* PINV, MATRIX_RANK; rtol is rcond for LSTSQ. NULL: the default (see there) */
    double order;              /* COND, MATRIX_NORM and VECTOR_NORM with BP_NORM_P */
    const int *dims; /* VECTOR_NORM: the dimensions that make one vector, negative ones from the back; NULL: all */
    int ndim;        /* how many they are; 0 if dims is NULL */
    int keepdim;     /* VECTOR_NORM: the result keeps those dimensions, with size 1 */
} bp_linalg_call;

BP_API bp_status bp_linalg_run(const bp_options *options, const bp_linalg_call *call);

/* A plan for bp_execute() with the operands' addresses in the same order. Data pointers may be NULL. */
BP_API bp_status bp_linalg_plan(bp_plan **plan, const bp_options *options, const bp_linalg_call *call);
BP_API bp_status bp_linalg_explain(bp_explanation **explanation, const bp_options *options, const bp_linalg_call *call);

/* The type and shape that operand number `index`, an output, needs for the call's inputs; other outputs are not looked
 * at. `shape` has room for BP_MAX_NDIM. BP_E_ARGUMENT for an output that the call does not have (Q with BP_QR_R). */
BP_API bp_status bp_linalg_shape(const bp_linalg_call *call, int index, bp_dtype *dtype, int *ndim, int64_t *shape);

/* ---- Inverses and solutions ---- */

/* inverse (*,n,n) of A (*,n,n); getrf, getri. BP_E_SINGULAR: info is the zero diagonal element of U,
 * counted from 1. inv_ex takes info, which may be NULL. */
BP_API bp_status bp_inv(const DLTensor *a, DLTensor *inverse);
BP_API bp_status bp_inv_ex(const DLTensor *a, DLTensor *inverse, DLTensor *info);

/* X with A X = B, or X A = B when `right`. A (*,n,n); B (*,n,k) (right: (*,k,n)), or a vector: B of rank 1, or of A's
 * shape without the last dimension. X has the shape of B, broadcast. getrf, getrs. BP_E_SINGULAR as bp_inv. */
BP_API bp_status bp_solve(const DLTensor *a, const DLTensor *b, int right, DLTensor *x);
BP_API bp_status bp_solve_ex(const DLTensor *a, const DLTensor *b, int right, DLTensor *x, DLTensor *info);

/* The same for a triangular A, of which only the upper or lower triangle is read; BLAS trsm. B is no vector. A zero on
 * the diagonal is not looked for, and gives infinity or NaN, as in PyTorch. */
BP_API bp_status bp_solve_triangular(const DLTensor *a, const DLTensor *b, int upper, int right, int unitriangular,
                                     DLTensor *x);

/* ---- Cholesky: A = L L^H, or U^H U when `upper` ---- */

/* L (*,n,n) of a Hermitian A, of which one triangle is read; the other triangle of L is zero. potrf.
 * BP_E_NOT_POSITIVE_DEFINITE: info is the order of the leading minor. */
BP_API bp_status bp_cholesky(const DLTensor *a, int upper, DLTensor *l);
BP_API bp_status bp_cholesky_ex(const DLTensor *a, int upper, DLTensor *l, DLTensor *info);

/* X (*,n,k) with L L^H X = B (*,n,k). potrs. A zero on the diagonal is not looked for. */
BP_API bp_status bp_cholesky_solve(const DLTensor *b, const DLTensor *l, int upper, DLTensor *x);

/* The inverse (*,n,n) of L L^H. potri. BP_E_SINGULAR: info is the zero diagonal element. */
BP_API bp_status bp_cholesky_inverse(const DLTensor *l, int upper, DLTensor *inverse);

/* ---- LU: A = P L U with partial pivoting ---- */

/* LU (*,m,n), both factors in one matrix without L's unit diagonal, and pivots (*,min(m,n)), int32, counted from 1: row
 * i was exchanged with row pivots[i]. getrf. BP_E_SINGULAR: info is the zero diagonal element of U. */
BP_API bp_status bp_lu_factor(const DLTensor *a, DLTensor *lu, DLTensor *pivots);
BP_API bp_status bp_lu_factor_ex(const DLTensor *a, DLTensor *lu, DLTensor *pivots, DLTensor *info);

/* P (*,m,m), a permutation matrix of A's type, L (*,m,k), U (*,k,n) with k = min(m,n). A singular A is no failure. */
BP_API bp_status bp_lu(const DLTensor *a, DLTensor *p, DLTensor *l, DLTensor *u);

/* X with A X = B (right: X A = B; adjoint: A^H), from what bp_lu_factor gave for A (*,n,n). getrs. Batches of LU,
 * pivots and B broadcast. A pivot outside 1..n is BP_E_ARGUMENT; a zero diagonal is not looked for. */
BP_API bp_status bp_lu_solve(const DLTensor *lu, const DLTensor *pivots, const DLTensor *b, int right, int adjoint,
                             DLTensor *x);

/* ---- QR, eigenvalues, singular values ---- */

/* A = Q R. mode: BP_QR_REDUCED (Q (*,m,k), R (*,k,n)), BP_QR_COMPLETE (Q (*,m,m), R (*,m,n)), or BP_QR_R (q is NULL).
 * geqrf, orgqr or ungqr. */
BP_API bp_status bp_qr(const DLTensor *a, bp_linalg_mode mode, DLTensor *q, DLTensor *r);

/* Eigenvalues w (*,n), real and ascending, and eigenvectors, the columns of V (*,n,n), of a Hermitian A, of which one
 * triangle is read. syevd or heevd. BP_E_NOT_CONVERGED. */
BP_API bp_status bp_eigh(const DLTensor *a, int upper, DLTensor *w, DLTensor *v);
BP_API bp_status bp_eigvalsh(const DLTensor *a, int upper, DLTensor *w);

/* Eigenvalues w (*,n), complex, in no order, and right eigenvectors V (*,n,n), complex, columns of norm 1. geev.
 * BP_E_NOT_CONVERGED. */
BP_API bp_status bp_eig(const DLTensor *a, DLTensor *w, DLTensor *v);
BP_API bp_status bp_eigvals(const DLTensor *a, DLTensor *w);

/* A = U diag(S) Vh with S (*,k) real, descending, k = min(m,n): U (*,m,k), Vh (*,k,n), or U (*,m,m), Vh (*,n,n) when
 * full_matrices. gesdd. BP_E_NOT_CONVERGED. */
BP_API bp_status bp_svd(const DLTensor *a, int full_matrices, DLTensor *u, DLTensor *s, DLTensor *vh);
BP_API bp_status bp_svdvals(const DLTensor *a, DLTensor *s);

/* ---- Least squares ---- */

/* X (*,n,k) that minimises |A X - B| for A (*,m,n), B (*,m,k) (or a vector, as bp_solve); of all such X the shortest,
 * but by gels. driver: BP_LSTSQ_GELSY (default), _GELS, _GELSD, _GELSS. rcond: singular values up to rcond times the
 * largest count as zero; NULL: epsilon of the type times max(m,n); negative: LAPACK's machine precision, half of
 * epsilon. Optional outputs: residuals (*,k), real: the squared norms of the columns of A X - B, computed where m > n
 * and A has full rank, NaN elsewhere; rank (*), int64, not of gels; s (*,min(m,n)), real, of gelsd and gelss. rank and
 * s are those of A for any k, 0 included. BP_E_ARGUMENT for an output that the driver does not give. */
BP_API bp_status bp_lstsq(const DLTensor *a, const DLTensor *b, const double *rcond, bp_linalg_mode driver, DLTensor *x,
                          DLTensor *residuals, DLTensor *rank, DLTensor *s);

/* ---- Numbers ---- */

/* det (*) of A (*,n,n); a singular matrix has 0. */
BP_API bp_status bp_det(const DLTensor *a, DLTensor *det);

/* det = sign exp(logabsdet): sign (*) of A's type, logabsdet (*) real; 0 and -inf for a singular matrix. */
BP_API bp_status bp_slogdet(const DLTensor *a, DLTensor *sign, DLTensor *logabsdet);

/* The Moore-Penrose inverse (*,n,m) of A (*,m,n), by singular values, or by eigenvalues when hermitian (the lower
 * triangle is read). Values up to max(atol, rtol * largest) count as zero. Default: atol 0; rtol epsilon of the type
 * times max(m,n), or 0 where atol is given and not 0. */
BP_API bp_status bp_pinv(const DLTensor *a, const double *rtol, const double *atol, int hermitian, DLTensor *inverse);

/* rank (*), int64: the singular values above max(atol, rtol * largest), with the defaults of bp_pinv. */
BP_API bp_status bp_matrix_rank(const DLTensor *a, const double *rtol, const double *atol, int hermitian,
                                DLTensor *rank);

/* cond (*), real: norm(A) norm(inverse of A) for BP_NORM_FRO, BP_NORM_NUC and BP_NORM_P with order 1, -1, inf or -inf,
 * of square matrices, infinity where A is singular; largest over smallest singular value for BP_NORM_P with order 2
 * (the default), and the other way round for -2, of any matrix. A matrix of zeros has infinity in all of them. */
BP_API bp_status bp_cond(const DLTensor *a, bp_linalg_mode kind, double order, DLTensor *cond);

/* norm (*), real, of A (*,m,n): BP_NORM_FRO, BP_NORM_NUC, or BP_NORM_P with order 1 (largest column sum of absolute
 * values), -1 (smallest), inf, -inf (the same of rows), 2, -2 (largest, smallest singular value). */
BP_API bp_status bp_matrix_norm(const DLTensor *a, bp_linalg_mode kind, double order, DLTensor *norm);

/* norm of A's elements along the given dimensions, real: (sum of |a|^order)^(1/order). An order of inf or -inf gives
 * the largest or smallest absolute value, 0 the number of elements that are not 0. Other orders may be any number.
 * dims: `ndim` dimensions, negative ones from the back; NULL (ndim 0): all. The result lacks these dimensions, or has
 * them with size 1 if `keepdim`. No intermediate value overflows or underflows. Without elements the norm is 0 for an
 * order of 0 or more, and infinity below; order -inf is refused (BP_E_SHAPE). Dimensions that are more than
 * two after merging are copied; plans and explanations refuse them (BP_E_LAYOUT). The native provider computes all of
 * these norms. In the general form:
 * BP_OP_VECTOR_NORM with mode BP_NORM_P; BP_MODE_DEFAULT has order 2. */
BP_API bp_status bp_vector_norm(const DLTensor *a, double order, int ndim, const int *dims, int keepdim,
                                DLTensor *norm);

/* ---- Products ----
 *
 * Element types of these: f16, bf16, f32, f64, c64, c128. They are made of matrix products and follow the settings of
 * those (blas.preferred, ...). `options` may be NULL. */

/* out = the sum of conj(a) * b along one dimension of both, which has the same size in a and b; all other dimensions
 * broadcast. `dim` below 0 counts from the back of a and of b, else from the front of the broadcast shape. The shape of
 * out is the broadcast shape without that dimension. Plans take {a, b, out} and are those of bp_gemm. */
BP_API bp_status bp_vecdot(const DLTensor *a, const DLTensor *b, int dim, DLTensor *out);
BP_API bp_status bp_vecdot_run(const bp_options *options, const DLTensor *a, const DLTensor *b, int dim, DLTensor *out);
BP_API bp_status bp_vecdot_plan(bp_plan **plan, const bp_options *options, const DLTensor *a, const DLTensor *b,
                                int dim, const DLTensor *out);
BP_API bp_status bp_vecdot_explain(bp_explanation **explanation, const bp_options *options, const DLTensor *a,
                                   const DLTensor *b, int dim, const DLTensor *out);
BP_API bp_status bp_vecdot_shape(const DLTensor *a, const DLTensor *b, int dim, int *ndim, int64_t *shape);

/* out = the product of two or more matrices, in the order that costs the fewest operations. The first and the last
 * operand may be a vector (rank 1), which is a row or a column; out lacks that dimension. Plans take the operands, then
 * out, and are those of bp_einsum. An order is found by dynamic programming and kept (einsum.path_cache.max_size). */
BP_API bp_status bp_multi_dot(int count, const DLTensor *const *operands, DLTensor *out);
BP_API bp_status bp_multi_dot_run(const bp_options *options, int count, const DLTensor *const *operands, DLTensor *out);
BP_API bp_status bp_multi_dot_plan(bp_plan **plan, const bp_options *options, int count,
                                   const DLTensor *const *operands, const DLTensor *out);
BP_API bp_status bp_multi_dot_explain(bp_explanation **explanation, const bp_options *options, int count,
                                      const DLTensor *const *operands, const DLTensor *out);
BP_API bp_status bp_multi_dot_shape(int count, const DLTensor *const *operands, int *ndim, int64_t *shape);

/* out (*,n,n) = A (*,n,n) to the power `n`, by repeated squaring: about log2(n) to 2 log2(n) products. 0 gives the
 * identity. A negative power is that of the inverse (f32, f64, c64 and c128 only; BP_E_SINGULAR and BP_E_NON_FINITE as
 * bp_inv). The explanation has a part for each step (bp_explanation_part). There is no plan: the steps have plans of
 * their own in the plan cache. */
BP_API bp_status bp_matrix_power(const DLTensor *a, int64_t n, DLTensor *out);
BP_API bp_status bp_matrix_power_run(const bp_options *options, const DLTensor *a, int64_t n, DLTensor *out);
BP_API bp_status bp_matrix_power_explain(bp_explanation **explanation, const bp_options *options, const DLTensor *a,
                                         int64_t n, const DLTensor *out);

#ifdef __cplusplus
}
#endif
#endif
