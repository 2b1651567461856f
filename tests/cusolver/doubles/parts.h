/* parts.h - declares what the files of the double share. */
#ifndef BP_TESTS_CUSOLVER_PARTS_H
#define BP_TESTS_CUSOLVER_PARTS_H

#include "double.h"

#include "cuda/libraries/driver.h"
#include "providers/cusolver/api.h"

#include "backplane/version.h"

#include <complex.h>

BP_API extern cusolver_controls cusolver_double;

enum {
    ROUTINE_POTRF,
    ROUTINE_POTRS,
    ROUTINE_GETRF,
    ROUTINE_GETRS,
    ROUTINE_GEQRF,
    ROUTINE_ORGQR,
    ROUTINE_SYEVD,
    ROUTINE_GESVD
};

void double_violate(const char *what);
bool double_has(cusolver_fault fault);

/* Returns the bytes of an element of a cudaDataType; 0: an unknown type. */
size_t double_item(unsigned type);

/* Computes what a call was told (routines.c). */
void double_compute(const cusolver_told *told);

/* ---- Matrices (routines.c) ---- */

typedef long double complex number;

static inline number complex_of(long double re, long double im) { /* clang 14 has no CMPLXL */
    const union {
        long double parts[2];
        number whole;
    } made = {{re, im}};
    return made.whole;
}

/* A column-major matrix without gaps. */
typedef struct matrix {
    int64_t rows, columns;
    number *at;
} matrix;

static inline number *element(const matrix *m, int64_t i, int64_t j) {
    return &m->at[j * m->rows + i];
}

/* ---- Orthogonal matrices (spectra.c) ---- */

/* Replace A by R and the reflectors, whose scales are tau; and reflectors by the first columns of Q. */
void double_factor_qr(matrix *a, number *tau);
void double_form_q(matrix *a, const number *tau, int64_t reflectors);
/* Replaces the Hermitian matrix of a triangle by its eigenvectors, in the order of ascending eigenvalues w. */
void double_solve_eigen(matrix *a, bool upper, number *w);
/* A = U S Vh with descending S. U has rows of A and at least columns of A as columns. */
void double_solve_singular(const matrix *a, matrix *u, number *s, matrix *vh);

#endif
