/* spectra.h - singular values, eigenvalues of Hermitian matrices and inverses of matrices as steps of several
 * operations, and norms that are sums. */
#ifndef BP_LAPACK_SPECTRA_H
#define BP_LAPACK_SPECTRA_H

#include "providers/lapack/workspace.h"

/* ---- Singular values (svd.c); routines gesdd_real and gesdd_complex ---- */

/* Reserves what gesdd needs for a matrix like `a`, and the singular values. U and Vh of the problem's mode, or none
 * where `u` and `vh` are NULL. */
void bp__lapack_prepare_gesdd(bp__lapack_plan *plan, const bp__lapack_view *a, const bp__lapack_view *u,
                              const bp__lapack_view *vh);
/* Of what was loaded into `a`, which is lost, with the same arguments as before. */
int64_t bp__lapack_gesdd(const bp__lapack_plan *plan, const bp__lapack_item *item, const bp__lapack_view *a,
                         const bp__lapack_view *u, const bp__lapack_view *vh);
/* The largest size that gesdd computes with inside. */
double bp__lapack_largest_values(const bp_problem *problem);  /* singular values alone */
double bp__lapack_largest_vectors(const bp_problem *problem); /* vectors too */
double bp__lapack_work_values(const bp_linalg_problem *problem);
double bp__lapack_work_vectors(const bp_linalg_problem *problem);

/* ---- Eigenvalues (eigh.c); routines syevd and heevd ---- */

/* Reserves what syevd or heevd needs for a matrix like `a`, and the eigenvalues. */
void bp__lapack_prepare_eigh(bp__lapack_plan *plan, const bp__lapack_view *a, bool vectors, bool upper);
/* Loads one triangle of operand 0 (the other one of its transpose) into `a`, and computes; eigenvectors replace it. */
int64_t bp__lapack_eigh_of(const bp__lapack_plan *plan, const bp__lapack_item *item, const bp__lapack_view *a,
                           bool transposed);
double bp__lapack_largest_eigh(const bp_problem *problem);
double bp__lapack_work_eigenvalues(const bp_linalg_problem *problem);

/* ---- Norms that are sums (norm.c) ---- */

typedef struct bp__lapack_matrix {
    bp_dtype dtype;
    int64_t rows, columns, row, column; /* strides in elements */
    const void *at;
} bp__lapack_matrix;

/* Whether the norm of the problem's mode and order is one of these. */
bool bp__lapack_norm_is_sum(const bp_linalg_problem *problem);
/* The norm as arithmetic gives it: NaN and infinity go through, nothing overflows or underflows on the way. `sums` has
 * workspace for as many numbers as the matrix has rows or columns. */
double bp__lapack_norm_of(const bp_linalg_problem *problem, const bp__lapack_matrix *a, double *sums);

#endif
