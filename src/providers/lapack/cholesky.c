/* cholesky.c - computes cholesky, cholesky_solve and cholesky_inverse.
 *
 * The library sees row-major memory as the transposed matrix. For a Hermitian A that is conj(A), whose upper factor is
 * the transpose of A's lower one. So the other UPLO letter writes the factor, or the inverse, in place without a copy.
 */
#include "providers/lapack/lapack.h"
#include "providers/lapack/operations.h"

enum { FACTOR_VIEW, SOLUTION_VIEW };

static bp__lapack_region region_of(char uplo) {
    return uplo == 'U' ? BP__LAPACK_UPPER : BP__LAPACK_LOWER;
}

/* Prepares an output that is computed in place, for cholesky and cholesky_inverse. */
static bp_status prepare_in_place(bp__lapack_plan *plan) {
    bool by_rows = !bp__lapack_fits(plan, 1, false) && bp__lapack_fits(plan, 1, true);
    plan->letter[0] = (plan->problem.of.linalg.upper != 0) == by_rows ? 'L' : 'U';
    plan->letter[1] = by_rows;
    plan->view[FACTOR_VIEW] = bp__lapack_place(plan, 1, by_rows);
    return BP_OK;
}

/* Loads the output from A and calls potrf, or from L and calls potri. */
static void *load_and_call(const bp__lapack_plan *plan, const bp__lapack_item *item, int64_t *info) {
    const bp__lapack_view *view = &plan->view[FACTOR_VIEW];
    const char *uplo = &plan->letter[0];
    void *memory = bp__lapack_address(view, item);
    if (!bp__lapack_load(plan, item, view, 0, plan->letter[1], region_of(*uplo))) {
        *info = BP__LAPACK_NON_FINITE;
        return memory;
    }
    bp__lapack_int n = bp__lapack_integer(plan, view->rows), ld = bp__lapack_integer(plan, view->ld), result = {0};
    if (plan->problem.op == BP_OP_CHOLESKY) {
        BP__LAPACK_CALL(plan, potrf)(uplo, &n, memory, &ld, &result, 1);
    } else {
        BP__LAPACK_CALL(plan, potri)(uplo, &n, memory, &ld, &result, 1);
    }
    *info = bp__lapack_value(plan, &result);
    return memory;
}

/* ---- cholesky ---- */

static bp_status run_cholesky(const bp__lapack_plan *plan, bp__lapack_item *item, int64_t *info) {
    const bp__lapack_view *view = &plan->view[FACTOR_VIEW];
    void *memory = load_and_call(plan, item, info);
    if (*info >= 0) {
        bool upper = plan->letter[0] == 'U';
        bp__lapack_clear(plan, view->rows, view->columns, memory, view->ld,
                         upper ? BP__LAPACK_STRICTLY_LOWER : BP__LAPACK_STRICTLY_UPPER, false);
        bp__lapack_store(plan, item, view);
    }
    return BP_OK;
}

static double work_cholesky(const bp_linalg_problem *problem) {
    double n = (double)problem->n;
    return n * n * n / 3;
}

const bp__lapack_operation bp__lapack_cholesky = {
    .algorithm = "potrf",
    .routines = {BP__LAPACK_potrf},
    .routine_count = 1,
    .prepare = prepare_in_place,
    .run = run_cholesky,
    .work = work_cholesky,
};

/* ---- cholesky_inverse ---- */

/* Copies one triangle to the other, in tiles, because one of the two is accessed across its columns. */
static void mirror(const bp__lapack_plan *plan, char *memory, int64_t n, int64_t ld, bool from_upper) {
    enum { TILE = 32 };
    int64_t size = (int64_t)plan->size, row = from_upper ? 1 : ld, column = from_upper ? ld : 1;
    for (int64_t i = 0; i < n; i += TILE) {
        int64_t rows = n - i < TILE ? n - i : TILE;
        for (int64_t r = 0; r < rows; r++) { /* the tile on the diagonal, in terms of an upper triangle */
            char *corner = memory + (i + r) * (ld + 1) * size;
            plan->driver->host->copy_matrix(plan->dtype, 1, rows - r - 1, corner + row * size, 0, row,
                                            corner + column * size, 0, column, 1);
        }
        int64_t rest = n - i - rows;
        if (rest > 0) {
            char *block = memory + i * (ld + 1) * size;
            plan->driver->host->copy_matrix(plan->dtype, rows, rest, block + rows * row * size, column, row,
                                            block + rows * column * size, row, column, 1);
        }
    }
}

static bp_status run_inverse(const bp__lapack_plan *plan, bp__lapack_item *item, int64_t *info) {
    const bp__lapack_view *view = &plan->view[FACTOR_VIEW];
    void *memory = load_and_call(plan, item, info);
    if (*info >= 0) {
        mirror(plan, memory, view->rows, view->ld, plan->letter[0] == 'U');
        bp__lapack_store(plan, item, view);
    }
    return BP_OK;
}

static double work_inverse(const bp_linalg_problem *problem) {
    return 2 * work_cholesky(problem);
}

const bp__lapack_operation bp__lapack_cholesky_inverse = {
    .algorithm = "potri",
    .routines = {BP__LAPACK_potri},
    .routine_count = 1,
    .prepare = prepare_in_place,
    .run = run_inverse,
    .work = work_inverse,
};

/* ---- cholesky_solve ---- */

/* Prepares operands B and L. The library would see a row-major complex L as its conjugate, so that L is copied. */
static bp_status prepare_solve(bp__lapack_plan *plan) {
    bool by_rows = !plan->complex && !bp__lapack_fits(plan, 1, false) && bp__lapack_fits(plan, 1, true);
    plan->letter[0] = (plan->problem.of.linalg.upper != 0) == by_rows ? 'L' : 'U';
    plan->letter[1] = by_rows;
    plan->view[FACTOR_VIEW] = bp__lapack_place(plan, 1, by_rows);
    plan->view[SOLUTION_VIEW] = bp__lapack_place(plan, 2, false);
    return BP_OK;
}

static bp_status run_solve(const bp__lapack_plan *plan, bp__lapack_item *item, int64_t *info) {
    const bp__lapack_view *l = &plan->view[FACTOR_VIEW], *x = &plan->view[SOLUTION_VIEW];
    const char *uplo = &plan->letter[0];
    if ((!item->again[1] && !bp__lapack_load(plan, item, l, 1, plan->letter[1], region_of(*uplo))) ||
        !bp__lapack_load(plan, item, x, 0, false, BP__LAPACK_WHOLE)) {
        *info = BP__LAPACK_NON_FINITE;
        return BP_OK;
    }
    bp__lapack_int n = bp__lapack_integer(plan, x->rows), k = bp__lapack_integer(plan, x->columns);
    bp__lapack_int lda = bp__lapack_integer(plan, l->ld), ldb = bp__lapack_integer(plan, x->ld), result = {0};
    BP__LAPACK_CALL(plan, potrs)
    (uplo, &n, &k, bp__lapack_address(l, item), &lda, bp__lapack_address(x, item), &ldb, &result, 1);
    *info = bp__lapack_value(plan, &result);
    bp__lapack_store(plan, item, x);
    return BP_OK;
}

static double work_solve(const bp_linalg_problem *problem) {
    return 2 * (double)problem->n * (double)problem->n * (double)problem->k;
}

const bp__lapack_operation bp__lapack_cholesky_solve = {
    .algorithm = "potrs",
    .routines = {BP__LAPACK_potrs},
    .routine_count = 1,
    .prepare = prepare_solve,
    .run = run_solve,
    .work = work_solve,
};
