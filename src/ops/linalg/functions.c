/* functions.c - the functions named after torch.linalg; each fills in a bp_linalg_call. */
#include "ops/linalg/linalg.h"

#define IN(...) .input = {__VA_ARGS__}
#define OUT(...) .output = {__VA_ARGS__}
#define CALL(operation, ...)                                                                                           \
    (&(const bp_linalg_call){.struct_size = sizeof(bp_linalg_call), .op = operation, __VA_ARGS__})

bp_status bp_inv(const DLTensor *a, DLTensor *inverse) {
    return bp__linalg_run(CALL(BP_OP_INV, IN(a), OUT(inverse)), false);
}

bp_status bp_inv_ex(const DLTensor *a, DLTensor *inverse, DLTensor *info) {
    return bp__linalg_run(CALL(BP_OP_INV, IN(a), OUT(inverse, info)), true);
}

bp_status bp_solve(const DLTensor *a, const DLTensor *b, int right, DLTensor *x) {
    return bp__linalg_run(CALL(BP_OP_SOLVE, IN(a, b), OUT(x), .right = right), false);
}

bp_status bp_solve_ex(const DLTensor *a, const DLTensor *b, int right, DLTensor *x, DLTensor *info) {
    return bp__linalg_run(CALL(BP_OP_SOLVE, IN(a, b), OUT(x, info), .right = right), true);
}

bp_status bp_solve_triangular(const DLTensor *a, const DLTensor *b, int upper, int right, int unitriangular,
                              DLTensor *x) {
    return bp__linalg_run(
        CALL(BP_OP_SOLVE_TRIANGULAR, IN(a, b), OUT(x), .upper = upper, .right = right, .unitriangular = unitriangular),
        false);
}

bp_status bp_cholesky(const DLTensor *a, int upper, DLTensor *l) {
    return bp__linalg_run(CALL(BP_OP_CHOLESKY, IN(a), OUT(l), .upper = upper), false);
}

bp_status bp_cholesky_ex(const DLTensor *a, int upper, DLTensor *l, DLTensor *info) {
    return bp__linalg_run(CALL(BP_OP_CHOLESKY, IN(a), OUT(l, info), .upper = upper), true);
}

bp_status bp_cholesky_solve(const DLTensor *b, const DLTensor *l, int upper, DLTensor *x) {
    return bp__linalg_run(CALL(BP_OP_CHOLESKY_SOLVE, IN(b, l), OUT(x), .upper = upper), false);
}

bp_status bp_cholesky_inverse(const DLTensor *l, int upper, DLTensor *inverse) {
    return bp__linalg_run(CALL(BP_OP_CHOLESKY_INVERSE, IN(l), OUT(inverse), .upper = upper), false);
}

bp_status bp_lu_factor(const DLTensor *a, DLTensor *lu, DLTensor *pivots) {
    return bp__linalg_run(CALL(BP_OP_LU_FACTOR, IN(a), OUT(lu, pivots)), false);
}

bp_status bp_lu_factor_ex(const DLTensor *a, DLTensor *lu, DLTensor *pivots, DLTensor *info) {
    return bp__linalg_run(CALL(BP_OP_LU_FACTOR, IN(a), OUT(lu, pivots, info)), true);
}

bp_status bp_lu(const DLTensor *a, DLTensor *p, DLTensor *l, DLTensor *u) {
    return bp__linalg_run(CALL(BP_OP_LU, IN(a), OUT(p, l, u)), false);
}

bp_status bp_lu_solve(const DLTensor *lu, const DLTensor *pivots, const DLTensor *b, int right, int adjoint,
                      DLTensor *x) {
    return bp__linalg_run(CALL(BP_OP_LU_SOLVE, IN(lu, pivots, b), OUT(x), .right = right, .adjoint = adjoint), false);
}

bp_status bp_ldl_factor(const DLTensor *a, int hermitian, DLTensor *ld, DLTensor *pivots) {
    return bp__linalg_run(CALL(BP_OP_LDL_FACTOR, IN(a), OUT(ld, pivots), .hermitian = hermitian), false);
}

bp_status bp_ldl_factor_ex(const DLTensor *a, int hermitian, DLTensor *ld, DLTensor *pivots, DLTensor *info) {
    return bp__linalg_run(CALL(BP_OP_LDL_FACTOR, IN(a), OUT(ld, pivots, info), .hermitian = hermitian), true);
}

bp_status bp_ldl_solve(const DLTensor *ld, const DLTensor *pivots, const DLTensor *b, int hermitian, DLTensor *x) {
    return bp__linalg_run(CALL(BP_OP_LDL_SOLVE, IN(ld, pivots, b), OUT(x), .hermitian = hermitian), false);
}

bp_status bp_qr(const DLTensor *a, bp_linalg_mode mode, DLTensor *q, DLTensor *r) {
    return bp__linalg_run(CALL(BP_OP_QR, IN(a), OUT(q, r), .mode = mode), false);
}

/* Requires the output of eigenvectors, which the function with both outputs must have. */
static bp_status with_vectors(const bp_linalg_call *call, const char *name, const DLTensor *vectors) {
    if (!vectors) {
        return bp__fail(BP_E_ARGUMENT, "tensor '%s' is NULL", name);
    }
    return bp__linalg_run(call, false);
}

bp_status bp_eigh(const DLTensor *a, int upper, DLTensor *w, DLTensor *v) {
    return with_vectors(CALL(BP_OP_EIGH, IN(a), OUT(w, v), .upper = upper), "V", v);
}

bp_status bp_eigvalsh(const DLTensor *a, int upper, DLTensor *w) {
    return bp__linalg_run(CALL(BP_OP_EIGH, IN(a), OUT(w), .upper = upper), false);
}

bp_status bp_eig(const DLTensor *a, DLTensor *w, DLTensor *v) {
    return with_vectors(CALL(BP_OP_EIG, IN(a), OUT(w, v)), "V", v);
}

bp_status bp_eigvals(const DLTensor *a, DLTensor *w) {
    return bp__linalg_run(CALL(BP_OP_EIG, IN(a), OUT(w)), false);
}

bp_status bp_svd(const DLTensor *a, int full_matrices, DLTensor *u, DLTensor *s, DLTensor *vh) {
    bp_linalg_mode mode = full_matrices ? BP_SVD_FULL : BP_SVD_REDUCED;
    return with_vectors(CALL(BP_OP_SVD, IN(a), OUT(u, s, vh), .mode = mode), u ? "Vh" : "U", u ? vh : u);
}

bp_status bp_svdvals(const DLTensor *a, DLTensor *s) {
    return bp__linalg_run(CALL(BP_OP_SVD, IN(a), OUT(NULL, s)), false);
}

bp_status bp_lstsq(const DLTensor *a, const DLTensor *b, const double *rcond, bp_linalg_mode driver, DLTensor *x,
                   DLTensor *residuals, DLTensor *rank, DLTensor *s) {
    return bp__linalg_run(CALL(BP_OP_LSTSQ, IN(a, b), OUT(x, residuals, rank, s), .mode = driver, .rtol = rcond),
                          false);
}

bp_status bp_det(const DLTensor *a, DLTensor *det) {
    return bp__linalg_run(CALL(BP_OP_DET, IN(a), OUT(det)), false);
}

bp_status bp_slogdet(const DLTensor *a, DLTensor *sign, DLTensor *logabsdet) {
    return bp__linalg_run(CALL(BP_OP_SLOGDET, IN(a), OUT(sign, logabsdet)), false);
}

bp_status bp_pinv(const DLTensor *a, const double *rtol, const double *atol, int hermitian, DLTensor *inverse) {
    return bp__linalg_run(CALL(BP_OP_PINV, IN(a), OUT(inverse), .hermitian = hermitian, .rtol = rtol, .atol = atol),
                          false);
}

bp_status bp_matrix_rank(const DLTensor *a, const double *rtol, const double *atol, int hermitian, DLTensor *rank) {
    return bp__linalg_run(CALL(BP_OP_MATRIX_RANK, IN(a), OUT(rank), .hermitian = hermitian, .rtol = rtol, .atol = atol),
                          false);
}

bp_status bp_cond(const DLTensor *a, bp_linalg_mode kind, double order, DLTensor *cond) {
    return bp__linalg_run(CALL(BP_OP_COND, IN(a), OUT(cond), .mode = kind, .order = order), false);
}

bp_status bp_vector_norm(const DLTensor *a, double order, int axis_count, const int *axes, int keep, DLTensor *norm) {
    return bp__linalg_run(CALL(BP_OP_VECTOR_NORM, IN(a), OUT(norm), .mode = BP_NORM_P, .order = order, .axes = axes,
                               .axis_count = axis_count, .keep = keep),
                          false);
}

bp_status bp_matrix_norm(const DLTensor *a, bp_linalg_mode kind, double order, DLTensor *norm) {
    return bp__linalg_run(CALL(BP_OP_MATRIX_NORM, IN(a), OUT(norm), .mode = kind, .order = order), false);
}
