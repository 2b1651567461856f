/* operations.c - makes the route of each operation.
 *
 * A matrix is loaded in the order that the routine needs, so that no identity of layouts is used. Inverses are
 * solutions for the identity, and triangular systems are solved as LU factors without exchanges whose other factor is
 * the identity. */
#include "providers/cusolver/operations.h"

#include <string.h>

static bool is_complex(const bp_problem *problem) {
    return problem->dtype == BP_C64 || problem->dtype == BP_C128;
}

static uint32_t fill_mode(bool upper) {
    return upper ? BP__CUBLAS_FILL_MODE_UPPER : BP__CUBLAS_FILL_MODE_LOWER;
}

static bp__cusolver_region triangle(bool upper) {
    return upper ? BP__CUSOLVER_UPPER : BP__CUSOLVER_LOWER;
}

/* Adds a matrix for the identity, in which a routine leaves the inverse. */
static int add_identity(bp__cusolver_builder *b, int64_t n) {
    const int buffer = bp__cusolver_add_matrix(b, n, n);
    bp__cusolver_set_unit_diagonal(b, bp__cusolver_add_load(b, -1, false, buffer, BP__CUSOLVER_NOTHING));
    return buffer;
}

/* ---- Cholesky ---- */

static void route_cholesky(bp__cusolver_builder *b) {
    const bp_linalg_problem *l = &b->problem->of.linalg;
    const int a = bp__cusolver_add_matrix(b, l->n, l->n);
    bp__cusolver_add_load(b, 0, false, a, triangle(l->upper))->walk.diagonal_im = 0;
    bp__cusolver_add_call(b, BP__CUSOLVER_POTRF, a)->letter = fill_mode(l->upper);
    bp__cusolver_add_store(b, 1, false, a, triangle(l->upper));
    bp__cusolver_add_report(b, 2, true);
}

static void route_cholesky_solve(bp__cusolver_builder *b) {
    const bp_linalg_problem *l = &b->problem->of.linalg;
    const int factor = bp__cusolver_add_matrix(b, l->n, l->n), x = bp__cusolver_add_matrix(b, l->n, l->k);
    bp__cusolver_add_load(b, 1, false, factor, triangle(l->upper));
    bp__cusolver_add_load(b, 0, false, x, BP__CUSOLVER_WHOLE);
    bp__cusolver_step *solve = bp__cusolver_add_call(b, BP__CUSOLVER_POTRS, factor);
    solve->buffers[1] = (uint8_t)x;
    solve->k = l->k;
    solve->letter = fill_mode(l->upper);
    bp__cusolver_add_store(b, 2, false, x, BP__CUSOLVER_WHOLE);
    bp__cusolver_add_report(b, -1, false);
}

static void route_cholesky_inverse(bp__cusolver_builder *b) {
    const bp_linalg_problem *l = &b->problem->of.linalg;
    const int factor = bp__cusolver_add_matrix(b, l->n, l->n);
    bp__cusolver_add_load(b, 0, false, factor, triangle(l->upper));
    bp__cusolver_add_find_zero(b, factor);
    const int x = add_identity(b, l->n);
    bp__cusolver_step *solve = bp__cusolver_add_call(b, BP__CUSOLVER_POTRS, factor);
    solve->buffers[1] = (uint8_t)x;
    solve->k = l->n;
    solve->letter = fill_mode(l->upper);
    bp__cusolver_add_store(b, 1, false, x, BP__CUSOLVER_WHOLE);
    bp__cusolver_add_report(b, 2, true);
}

/* ---- LU ---- */

/* Adds the factorization of operand 0. */
static void add_factors(bp__cusolver_builder *b, int *lu, int *pivots) {
    const bp_linalg_problem *l = &b->problem->of.linalg;
    *lu = bp__cusolver_add_matrix(b, l->m, l->n);
    *pivots = bp__cusolver_add_pivots(b, l->m < l->n ? l->m : l->n);
    bp__cusolver_add_load(b, 0, false, *lu, BP__CUSOLVER_WHOLE);
    bp__cusolver_add_call(b, BP__CUSOLVER_GETRF, *lu)->buffers[2] = (uint8_t)*pivots;
    bp__cusolver_add_pivot_repair(b, *pivots, l->m);
}

/* Adds the solution of systems with factors: op(A) X = B, in the memory of B. */
static void add_getrs(bp__cusolver_builder *b, int lu, int pivots, uint32_t op, int x) {
    bp__cusolver_step *solve = bp__cusolver_add_call(b, BP__CUSOLVER_GETRS, lu);
    solve->buffers[1] = (uint8_t)x;
    solve->buffers[2] = (uint8_t)pivots;
    solve->k = b->route->buffers[x].columns;
    solve->letter = op;
}

static void route_lu_factor(bp__cusolver_builder *b) {
    int lu, pivots;
    add_factors(b, &lu, &pivots);
    bp__cusolver_add_store(b, 1, false, lu, BP__CUSOLVER_WHOLE);
    bp__cusolver_add_pivots_out(b, 2, pivots);
    bp__cusolver_add_report(b, 3, true);
}

static void route_lu(bp__cusolver_builder *b) {
    int lu, pivots;
    add_factors(b, &lu, &pivots);
    bp__cusolver_add_store(b, 1, false, -1, BP__CUSOLVER_NOTHING);
    bp__cusolver_add_permutation(b, 1, pivots);
    bp__cusolver_set_unit_diagonal(b, bp__cusolver_add_store(b, 2, false, lu, BP__CUSOLVER_STRICTLY_LOWER));
    bp__cusolver_add_store(b, 3, false, lu, BP__CUSOLVER_UPPER);
    bp__cusolver_add_report(b, -1, false);
}

static void route_det(bp__cusolver_builder *b) {
    int lu, pivots;
    add_factors(b, &lu, &pivots);
    bp__cusolver_add_det(b, 1, lu, pivots, -1);
    bp__cusolver_add_report(b, -1, false);
}

static void route_slogdet(bp__cusolver_builder *b) {
    int lu, pivots;
    add_factors(b, &lu, &pivots);
    const int logs = bp__cusolver_add_reals(b, 1);
    bp__cusolver_add_det(b, 1, lu, pivots, logs);
    bp__cusolver_add_store(b, 2, false, logs, BP__CUSOLVER_WHOLE);
    bp__cusolver_add_report(b, -1, false);
}

static void route_inv(bp__cusolver_builder *b) {
    int lu, pivots;
    add_factors(b, &lu, &pivots);
    const int x = add_identity(b, b->problem->of.linalg.n);
    add_getrs(b, lu, pivots, BP__CUBLAS_OP_N, x);
    bp__cusolver_add_store(b, 1, false, x, BP__CUSOLVER_WHOLE);
    bp__cusolver_add_report(b, 2, true);
}

/* Solves X A = B as A^T X^T = B^T. */
static void route_solve(bp__cusolver_builder *b) {
    const bp_linalg_problem *l = &b->problem->of.linalg;
    const bool right = !l->a_on_left;
    int lu, pivots;
    add_factors(b, &lu, &pivots);
    const int x = bp__cusolver_add_matrix(b, l->n, l->k);
    bp__cusolver_add_load(b, 1, right, x, BP__CUSOLVER_WHOLE);
    add_getrs(b, lu, pivots, right ? BP__CUBLAS_OP_T : BP__CUBLAS_OP_N, x);
    bp__cusolver_add_store(b, 2, right, x, BP__CUSOLVER_WHOLE);
    bp__cusolver_add_report(b, 3, true);
}

/* The transpose of A^H is the conjugate of A, for which there is no letter. So the right side and the solution are
 * conjugated instead. */
static void route_lu_solve(bp__cusolver_builder *b) {
    const bp_linalg_problem *l = &b->problem->of.linalg;
    const bool right = !l->a_on_left, transposes = right != (l->adjoint != 0);
    const bool conjugates = right && l->adjoint;
    const int lu = bp__cusolver_add_matrix(b, l->n, l->n), x = bp__cusolver_add_matrix(b, l->n, l->k);
    const int pivots = bp__cusolver_add_pivots(b, l->n);
    bp__cusolver_add_load(b, 0, false, lu, BP__CUSOLVER_WHOLE);
    bp__cusolver_add_pivots_in(b, 1, pivots);
    bp__cusolver_step *load = bp__cusolver_add_load(b, 2, right, x, BP__CUSOLVER_WHOLE);
    add_getrs(b, lu, pivots,
              !transposes                        ? BP__CUBLAS_OP_N
              : is_complex(b->problem) && !right ? BP__CUBLAS_OP_C
                                                 : BP__CUBLAS_OP_T,
              x);
    bp__cusolver_step *store = bp__cusolver_add_store(b, 3, right, x, BP__CUSOLVER_WHOLE);
    if (conjugates) {
        bp__cusolver_set_conjugate(b, load);
        bp__cusolver_set_conjugate(b, store);
    }
    bp__cusolver_add_report(b, -1, false);
}

/* ---- Triangular systems ---- */

/* A system with an upper triangle U is one with the factors I and U; a lower triangle is the transpose of one. */
static void route_triangular(bp__cusolver_builder *b) {
    const bp_linalg_problem *l = &b->problem->of.linalg;
    const bool right = !l->a_on_left, transposed = !l->upper;
    const int a = bp__cusolver_add_matrix(b, l->n, l->n), x = bp__cusolver_add_matrix(b, l->n, l->k);
    const int pivots = bp__cusolver_add_pivots(b, l->n);
    bp__cusolver_step *load =
        bp__cusolver_add_load(b, 0, transposed, a, l->unit_diagonal ? BP__CUSOLVER_STRICTLY_UPPER : BP__CUSOLVER_UPPER);
    if (l->unit_diagonal) {
        bp__cusolver_set_unit_diagonal(b, load);
    }
    bp__cusolver_add_pivots_in(b, -1, pivots);
    bp__cusolver_add_load(b, 1, right, x, BP__CUSOLVER_WHOLE);
    add_getrs(b, a, pivots, transposed != right ? BP__CUBLAS_OP_T : BP__CUBLAS_OP_N, x);
    bp__cusolver_add_store(b, 2, right, x, BP__CUSOLVER_WHOLE);
    bp__cusolver_add_report(b, -1, false);
}

/* ---- The table ---- */

static double cube(const bp_linalg_problem *l) {
    return (double)l->n * (double)l->n * (double)l->n;
}

static double sides(const bp_linalg_problem *l) {
    return (double)l->n * (double)l->n * (double)l->k;
}

static double work_cholesky(const bp_linalg_problem *l) {
    return cube(l) / 3;
}

static double work_lu(const bp_linalg_problem *l) {
    const double m = (double)l->m, n = (double)l->n, k = m < n ? m : n;
    return 2 * m * n * k - (m + n) * k * k + 2 * k * k * k / 3;
}

static double work_of_two(const bp_linalg_problem *l) {
    return 2 * sides(l);
}

static double work_inv(const bp_linalg_problem *l) {
    return 8 * cube(l) / 3;
}

static double work_cholesky_inverse(const bp_linalg_problem *l) {
    return 2 * cube(l);
}

static double work_solve(const bp_linalg_problem *l) {
    return 2 * cube(l) / 3 + 2 * sides(l);
}

typedef struct operation {
    const char *algorithm;
    void (*route)(bp__cusolver_builder *b);
    double (*work)(const bp_linalg_problem *l); /* multiplications and additions of an item */
} operation;

static const operation operations[] = {
    [BP_OP_INV] = {"getrf, getrs", route_inv, work_inv},
    [BP_OP_CHOLESKY] = {"potrf", route_cholesky, work_cholesky},
    [BP_OP_CHOLESKY_SOLVE] = {"potrs", route_cholesky_solve, work_of_two},
    [BP_OP_CHOLESKY_INVERSE] = {"potrs", route_cholesky_inverse, work_cholesky_inverse},
    [BP_OP_LU] = {"getrf", route_lu, work_lu},
    [BP_OP_DET] = {"getrf", route_det, work_lu},
    [BP_OP_SLOGDET] = {"getrf", route_slogdet, work_lu},
    [BP_OP_QR] = {"geqrf, orgqr", bp__cusolver_route_qr, bp__cusolver_work_qr},
    [BP_OP_EIGH] = {"syevd", bp__cusolver_route_eigh, bp__cusolver_work_eigh},
    [BP_OP_SVD] = {"gesvd", bp__cusolver_route_svd, bp__cusolver_work_svd},
    [BP_OP_LU_FACTOR] = {"getrf", route_lu_factor, work_lu},
    [BP_OP_LU_SOLVE] = {"getrs", route_lu_solve, work_of_two},
    [BP_OP_SOLVE] = {"getrf, getrs", route_solve, work_solve},
    [BP_OP_SOLVE_TRIANGULAR] = {"getrs", route_triangular, work_of_two},
};

static const operation *operation_of(const bp_problem *problem) {
    const operation *found =
        problem->op < sizeof operations / sizeof operations[0] ? &operations[problem->op] : &operations[0];
    return found->route ? found : NULL;
}

const char *bp__cusolver_algorithm_of(const bp_problem *problem, double *work) {
    const operation *found = operation_of(problem);
    *work = found ? found->work(&problem->of.linalg) : 0;
    return found ? found->algorithm : NULL;
}

/* ---- Routes ---- */

static int inputs_of(uint32_t op) {
    return op == BP_OP_LU_SOLVE                                                              ? 3
           : op == BP_OP_CHOLESKY_SOLVE || op == BP_OP_SOLVE || op == BP_OP_SOLVE_TRIANGULAR ? 2
                                                                                             : 1;
}

/* Returns whether an output is the identity if the matrix is empty: a basis of the whole space, or a determinant. */
static bool is_identity(uint32_t op, int operand) {
    return (operand == 1 &&
            (op == BP_OP_LU || op == BP_OP_QR || op == BP_OP_SVD || op == BP_OP_DET || op == BP_OP_SLOGDET)) ||
           (operand == 3 && op == BP_OP_SVD);
}

/* Nothing is computed for empty matrices, but outputs may have elements. */
static void route_empty(bp__cusolver_builder *b) {
    const bp_linalg_problem *l = &b->problem->of.linalg;
    for (int i = inputs_of(b->problem->op); i < BP_LINALG_OPERANDS; i++) {
        const bp_linalg_operand *x = &l->operand[i];
        if (x->dtype == BP_I32 && x->rows == 1) { /* there are no pivots */
            bp__cusolver_add_report(b, i, false);
        } else if (x->dtype && x->dtype != BP_I32) {
            bp__cusolver_step *step = bp__cusolver_add_store(b, i, false, -1, BP__CUSOLVER_NOTHING);
            if (is_identity(b->problem->op, i)) {
                bp__cusolver_set_unit_diagonal(b, step);
            }
        }
    }
    b->route->reports = false; /* no item fails */
}

const char *bp__cusolver_route_of(const bp_problem *problem, bp__cusolver_route *route) {
    bp__cusolver_builder b = {.problem = problem, .route = route};
    const bp_linalg_problem *l = &problem->of.linalg;
    memset(route, 0, sizeof *route);
    if ((double)l->batch * (double)(l->n > 0 ? l->n : 1) > UINT32_MAX) { /* numbers in a report have 32 bits */
        return "the matrices of the batch have more than 2^32 columns";
    }
    if (l->empty) {
        route_empty(&b);
    } else {
        operation_of(problem)->route(&b);
    }
    return b.why;
}
