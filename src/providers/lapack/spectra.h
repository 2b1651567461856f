/* spectra.h - declares singular values, eigenvalues of Hermitian matrices and sum norms as steps of several operations.
 */
#ifndef BP_LAPACK_SPECTRA_H
#define BP_LAPACK_SPECTRA_H

#include "providers/lapack/workspace.h"

/* ---- Singular values (svd.c); routines gesdd_real and gesdd_complex ---- */

/* Reserves the memory of gesdd for a matrix like `a`, including the singular values. Computes U and Vh of the problem's
 * mode, or none if `u` and `vh` are NULL. */
void bp__lapack_prepare_gesdd(bp__lapack_plan *plan, const bp__lapack_view *a, const bp__lapack_view *u,
                              const bp__lapack_view *vh);
/* Computes the decomposition of the matrix in `a`, which is overwritten, with the same arguments as in prepare. Returns
 * info. */
int64_t bp__lapack_gesdd(const bp__lapack_plan *plan, const bp__lapack_item *item, const bp__lapack_view *a,
                         const bp__lapack_view *u, const bp__lapack_view *vh);
/* Return the largest size in the computations of gesdd. */
double bp__lapack_largest_values(const bp_problem *problem);  /* singular values only */
double bp__lapack_largest_vectors(const bp_problem *problem); /* with vectors */
double bp__lapack_work_values(const bp_linalg_problem *problem);
double bp__lapack_work_vectors(const bp_linalg_problem *problem);

/* ---- Eigenvalues (eigh.c); routines syevd and heevd ---- */

/* Reserves the memory of syevd or heevd for a matrix like `a`, including the eigenvalues. */
void bp__lapack_prepare_eigh(bp__lapack_plan *plan, const bp__lapack_view *a, bool vectors, bool upper);
/* Loads one triangle of operand 0 (the other one of its transpose) into `a` and computes. Eigenvectors overwrite it.
 * Returns info. */
int64_t bp__lapack_eigh_of(const bp__lapack_plan *plan, const bp__lapack_item *item, const bp__lapack_view *a,
                           bool transposed);
double bp__lapack_largest_eigh(const bp_problem *problem);
double bp__lapack_work_eigenvalues(const bp_linalg_problem *problem);

/* ---- Norms that are sums of elements (norm.c) ---- */

typedef struct bp__lapack_matrix {
    bp_dtype dtype;
    int64_t rows, columns, row, column; /* strides in elements */
    const void *at;
} bp__lapack_matrix;

/* Returns whether the problem's mode and order select such a norm. */
bool bp__lapack_norm_is_sum(const bp_linalg_problem *problem);
/* Returns the norm by plain arithmetic: NaN and infinity propagate, and no intermediate result overflows or underflows.
 * `sums` needs as many elements as the matrix has rows or columns. */
double bp__lapack_norm_of(const bp_linalg_problem *problem, const bp__lapack_matrix *a, double *sums);

#endif
