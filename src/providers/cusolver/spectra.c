/* spectra.c - makes the routes of QR factorizations, eigenvalues and singular values. */
#include "providers/cusolver/operations.h"

static int64_t lesser(const bp_linalg_problem *l) {
    return l->m < l->n ? l->m : l->n;
}

/* ---- QR ---- */

/* Columns of a complete Q that the factorization does not have are filled, because the workspace may have NaN there. */
static int add_matrix_for_q(bp__cusolver_builder *b, int64_t columns) {
    const int a = bp__cusolver_add_matrix(b, b->problem->of.linalg.m, columns);
    if (columns > b->problem->of.linalg.n) {
        bp__cusolver_add_load(b, -1, false, a, BP__CUSOLVER_NOTHING);
    }
    bp__cusolver_add_load(b, 0, false, a, BP__CUSOLVER_WHOLE);
    return a;
}

void bp__cusolver_route_qr(bp__cusolver_builder *b) {
    const bp_linalg_problem *l = &b->problem->of.linalg;
    const bool has_q = l->operand[1].dtype != 0, is_complete = l->mode == BP_QR_COMPLETE;
    const int64_t k = lesser(l), of_q = is_complete ? l->m : k;
    const int a = add_matrix_for_q(b, has_q && of_q > l->n ? of_q : l->n), tau = bp__cusolver_add_matrix(b, k, 1);
    bp__cusolver_step *factor = bp__cusolver_add_call(b, BP__CUSOLVER_GEQRF, a);
    factor->n = l->n;
    factor->buffers[2] = (uint8_t)tau;
    bp__cusolver_add_store(b, 2, false, a, BP__CUSOLVER_UPPER);
    if (has_q) {
        bp__cusolver_step *form = bp__cusolver_add_call(b, BP__CUSOLVER_ORGQR, a);
        form->n = of_q;
        form->k = k;
        form->buffers[2] = (uint8_t)tau;
        bp__cusolver_add_store(b, 1, false, a, BP__CUSOLVER_WHOLE);
        b->why = l->m > INT32_MAX || of_q > INT32_MAX ? "a size exceeds the integers of cusolverDn<t>orgqr" : b->why;
    }
    bp__cusolver_add_report(b, -1, false);
}

/* ---- Eigenvalues ---- */

void bp__cusolver_route_eigh(bp__cusolver_builder *b) {
    const bp_linalg_problem *l = &b->problem->of.linalg;
    const bool has_vectors = l->operand[2].dtype != 0;
    const int a = bp__cusolver_add_matrix(b, l->n, l->n), w = bp__cusolver_add_reals(b, l->n);
    bp__cusolver_add_load(b, 0, false, a, l->upper ? BP__CUSOLVER_UPPER : BP__CUSOLVER_LOWER)->walk.diagonal_im = 0;
    bp__cusolver_step *solve = bp__cusolver_add_call(b, BP__CUSOLVER_SYEVD, a);
    solve->buffers[1] = (uint8_t)w;
    solve->letter = l->upper ? BP__CUBLAS_FILL_MODE_UPPER : BP__CUBLAS_FILL_MODE_LOWER;
    solve->job = has_vectors ? BP__CUSOLVER_EIG_MODE_VECTOR : BP__CUSOLVER_EIG_MODE_NOVECTOR;
    b->route->waits = true;
    bp__cusolver_add_store(b, 1, false, w, BP__CUSOLVER_WHOLE);
    if (has_vectors) {
        bp__cusolver_add_store(b, 2, false, a, BP__CUSOLVER_WHOLE);
    }
    bp__cusolver_add_report(b, -1, true);
}

/* ---- Singular values ---- */

/* The routine needs at least as many rows as columns. A wide A is decomposed as A^T = V* S U^T. */
void bp__cusolver_route_svd(bp__cusolver_builder *b) {
    const bp_linalg_problem *l = &b->problem->of.linalg;
    const bool has_vectors = l->operand[1].dtype != 0, is_wide = l->m < l->n;
    const int64_t rows = is_wide ? l->n : l->m, columns = lesser(l);
    const int a = bp__cusolver_add_matrix(b, rows, columns), s = bp__cusolver_add_reals(b, columns);
    bp__cusolver_add_load(b, 0, is_wide, a, BP__CUSOLVER_WHOLE);
    bp__cusolver_step *solve = bp__cusolver_add_call(b, BP__CUSOLVER_GESVD, a);
    solve->buffers[2] = (uint8_t)s;
    solve->job = !has_vectors ? 'N' : l->mode == BP_SVD_FULL ? 'A' : 'S';
    b->route->waits = true;
    bp__cusolver_add_store(b, 2, false, s, BP__CUSOLVER_WHOLE);
    if (has_vectors) {
        const int u = bp__cusolver_add_matrix(b, rows, l->mode == BP_SVD_FULL ? rows : columns);
        const int v = bp__cusolver_add_matrix(b, columns, columns);
        solve->buffers[1] = (uint8_t)u;
        solve->buffers[3] = (uint8_t)v;
        bp__cusolver_add_store(b, is_wide ? 3 : 1, is_wide, u, BP__CUSOLVER_WHOLE);
        bp__cusolver_add_store(b, is_wide ? 1 : 3, is_wide, v, BP__CUSOLVER_WHOLE);
    }
    bp__cusolver_add_report(b, -1, true);
}

/* ---- Work ---- */

double bp__cusolver_work_qr(const bp_linalg_problem *l) {
    const double m = (double)l->m, n = (double)l->n, k = m < n ? m : n;
    return 4 * m * n * k - 4 * k * k * k / 3;
}

double bp__cusolver_work_eigh(const bp_linalg_problem *l) {
    return 9 * (double)l->n * (double)l->n * (double)l->n;
}

double bp__cusolver_work_svd(const bp_linalg_problem *l) {
    return 20 * (double)l->m * (double)l->n * (double)lesser(l);
}
