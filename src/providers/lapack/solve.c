/* solve.c - computes inv, solve and solve_triangular. */
#include "providers/lapack/factor.h"
#include "providers/lapack/operations.h"

enum { FACTOR_VIEW, SOLUTION_VIEW };

/* ---- inv ---- */

/* Inverts in the output's memory. The library sees a row-major output as the transpose, and the inverse of A^T is the
 * transpose of A's. getri needs a quarter less arithmetic than getrs with the identity, and is faster on one thread. */
static bp_status prepare_inv(bp__lapack_plan *plan) {
    bool by_rows = !bp__lapack_fits(plan, 1, false) && bp__lapack_fits(plan, 1, true);
    bp__lapack_view *x = &plan->view[SOLUTION_VIEW];
    double queried[2] = {0};
    *x = bp__lapack_place(plan, 1, by_rows);
    plan->letter[0] = by_rows;
    plan->at[0] = bp__lapack_reserve(plan, x->rows, plan->integer);
    bp__lapack_int n = bp__lapack_integer(plan, x->rows), ld = bp__lapack_integer(plan, x->ld), result = {0};
    bp__lapack_int query = bp__lapack_integer(plan, -1), pivots = {0};
    BP__LAPACK_CALL(plan, getri)(&n, queried, &ld, &pivots, queried, &query, &result);
    int64_t best = bp__lapack_queried(plan, queried);
    plan->workspace[0] = best > x->rows ? best : x->rows;
    plan->at[1] = bp__lapack_reserve(plan, plan->workspace[0], plan->size);
    return BP_OK;
}

/* Factors the matrix. If A^T is singular, factors A, so that info refers to A's columns. */
static void factor_for_inverse(const bp__lapack_plan *plan, const bp__lapack_item *item, int64_t *info) {
    const bp__lapack_view *x = &plan->view[SOLUTION_VIEW];
    void *pivots = item->scratch + plan->at[0];
    int64_t of_a = 0;
    bp__lapack_factor(plan, item, x, plan->letter[0], pivots, info);
    if (*info > 0 && plan->letter[0]) {
        bp__lapack_factor(plan, item, x, false, pivots, &of_a);
        *info = of_a > 0 ? of_a : *info;
    }
}

static bp_status run_inv(const bp__lapack_plan *plan, bp__lapack_item *item, int64_t *info) {
    const bp__lapack_view *x = &plan->view[SOLUTION_VIEW];
    factor_for_inverse(plan, item, info);
    if (bp__lapack_stops(plan, item)) {
        return BP_E_CANCELLED;
    }
    if (*info == 0) {
        bp__lapack_int n = bp__lapack_integer(plan, x->rows), ld = bp__lapack_integer(plan, x->ld), result = {0};
        bp__lapack_int size = bp__lapack_integer(plan, plan->workspace[0]);
        BP__LAPACK_CALL(plan, getri)
        (&n, bp__lapack_address(x, item), &ld, (const void *)(item->scratch + plan->at[0]), item->scratch + plan->at[1],
         &size, &result);
        *info = bp__lapack_value(plan, &result);
    }
    if (*info >= 0) {
        bp__lapack_store(plan, item, x);
    }
    return BP_OK;
}

static double work_inv(const bp_linalg_problem *problem) {
    double n = (double)problem->n;
    return 2 * n * n * n;
}

static double workspace_of_inv(const bp_problem *problem) {
    return 256 * (double)problem->of.linalg.n; /* more columns at a time than any library uses */
}

const bp__lapack_operation bp__lapack_inv = {
    .algorithm = "getrf, getri",
    .routines = {BP__LAPACK_getrf, BP__LAPACK_getri},
    .routine_count = 2,
    .efficiency = 0.4,
    .barriers = 2,
    .prepare = prepare_inv,
    .run = run_inv,
    .work = work_inv,
    .largest = workspace_of_inv,
};

/* ---- solve ---- */

/* Factors a matrix once that several items share. */
static void factor_once(const bp__lapack_plan *plan, bp__lapack_item *item, int64_t *info) {
    if (!item->again[0]) {
        bp__lapack_factor_either(plan, item, &plan->view[FACTOR_VIEW], item->scratch + plan->at[0], info);
    }
}

/* Solves with the factors. info stays as the factorization wrote it, because with a zero on the diagonal the solution
 * is infinite or NaN. An illegal argument is reported. */
static void solve_with(const bp__lapack_plan *plan, const bp__lapack_item *item, int64_t *info) {
    const bp__lapack_view *a = &plan->view[FACTOR_VIEW], *x = &plan->view[SOLUTION_VIEW];
    int64_t result = 0;
    char trans = (plan->letter[0] == 'T') == item->transposed ? 'N' : 'T';
    bp__lapack_getrs(plan, trans, a, item->scratch + a->at, item->scratch + plan->at[0], x, bp__lapack_address(x, item),
                     &result);
    *info = result < 0 ? result : *info;
}

/* Solves X A = B as A^T X^T = B^T. */
static bp_status prepare_solve(bp__lapack_plan *plan) {
    bool left = plan->problem.of.linalg.a_on_left;
    plan->letter[0] = left ? 'N' : 'T';
    plan->view[SOLUTION_VIEW] = bp__lapack_place(plan, 2, !left);
    plan->view[FACTOR_VIEW] = bp__lapack_place_in_scratch(plan, 0, false, false);
    plan->at[0] = bp__lapack_reserve(plan, plan->problem.of.linalg.n, plan->integer);
    return BP_OK;
}

static bp_status run_solve(const bp__lapack_plan *plan, bp__lapack_item *item, int64_t *info) {
    const bp__lapack_view *x = &plan->view[SOLUTION_VIEW];
    if (!bp__lapack_load(plan, item, x, 1, !plan->problem.of.linalg.a_on_left, BP__LAPACK_WHOLE)) {
        *info = BP__LAPACK_NON_FINITE;
        return BP_OK;
    }
    factor_once(plan, item, info);
    if (bp__lapack_stops(plan, item)) {
        return BP_E_CANCELLED;
    }
    if (*info >= 0) {
        solve_with(plan, item, info);
        bp__lapack_store(plan, item, x);
    }
    return BP_OK;
}

static double work_solve(const bp_linalg_problem *problem) {
    double n = (double)problem->n;
    return 2 * n * n * n / 3 + 2 * n * n * (double)problem->k;
}

const bp__lapack_operation bp__lapack_solve = {
    .algorithm = "getrf, getrs",
    .routines = {BP__LAPACK_getrf, BP__LAPACK_getrs},
    .routine_count = 2,
    .prepare = prepare_solve,
    .run = run_solve,
    .work = work_solve,
};

/* ---- solve_triangular ---- */

enum { SIDE, UPLO, TRANS, DIAG };

/* trsm handles row-major A and X without copies: a row-major X is X^T, solved from the other side; a row-major A is
 * A^T. */
static bp_status prepare_triangular(bp__lapack_plan *plan) {
    const bp_linalg_problem *l = &plan->problem.of.linalg;
    bool a_by_rows = !bp__lapack_fits(plan, 0, false) && bp__lapack_fits(plan, 0, true);
    bool x_by_rows = !bp__lapack_fits(plan, 2, false) && bp__lapack_fits(plan, 2, true);
    plan->view[FACTOR_VIEW] = bp__lapack_place(plan, 0, a_by_rows);
    plan->view[SOLUTION_VIEW] = bp__lapack_place(plan, 2, x_by_rows);
    plan->letter[SIDE] = (l->a_on_left != 0) == x_by_rows ? 'R' : 'L';
    plan->letter[UPLO] = (l->upper != 0) == a_by_rows ? 'L' : 'U';
    plan->letter[TRANS] = a_by_rows == x_by_rows ? 'N' : 'T';
    plan->letter[DIAG] = l->unit_diagonal ? 'U' : 'N';
    return BP_OK;
}

static bp__lapack_region region_read(const bp__lapack_plan *plan) {
    bool unit = plan->letter[DIAG] == 'U';
    if (plan->letter[UPLO] == 'U') {
        return unit ? BP__LAPACK_STRICTLY_UPPER : BP__LAPACK_UPPER;
    }
    return unit ? BP__LAPACK_STRICTLY_LOWER : BP__LAPACK_LOWER;
}

static bp_status run_triangular(const bp__lapack_plan *plan, bp__lapack_item *item, int64_t *info) {
    static const double one64[2] = {1, 0};
    static const float one32[2] = {1, 0};
    const bp__lapack_view *a = &plan->view[FACTOR_VIEW], *x = &plan->view[SOLUTION_VIEW];
    bool x_by_rows = (plan->letter[SIDE] == 'R') == (plan->problem.of.linalg.a_on_left != 0);
    bool a_by_rows = (plan->letter[TRANS] == 'N') == x_by_rows;
    if ((!item->again[0] && !bp__lapack_load(plan, item, a, 0, a_by_rows, region_read(plan))) ||
        !bp__lapack_load(plan, item, x, 1, x_by_rows, BP__LAPACK_WHOLE)) {
        *info = BP__LAPACK_NON_FINITE;
        return BP_OK;
    }
    bp__lapack_int m = bp__lapack_integer(plan, x->rows), n = bp__lapack_integer(plan, x->columns);
    bp__lapack_int lda = bp__lapack_integer(plan, a->ld), ldb = bp__lapack_integer(plan, x->ld);
    BP__LAPACK_CALL(plan, trsm)
    (&plan->letter[SIDE], &plan->letter[UPLO], &plan->letter[TRANS], &plan->letter[DIAG], &m, &n,
     plan->real_type == BP_F64 ? (const void *)one64 : (const void *)one32, bp__lapack_address(a, item), &lda,
     bp__lapack_address(x, item), &ldb, 1, 1, 1, 1);
    bp__lapack_store(plan, item, x);
    return BP_OK;
}

static double work_triangular(const bp_linalg_problem *problem) {
    return (double)problem->n * (double)problem->n * (double)problem->k;
}

const bp__lapack_operation bp__lapack_solve_triangular = {
    .algorithm = "trsm",
    .routines = {BP__LAPACK_trsm},
    .routine_count = 1,
    .prepare = prepare_triangular,
    .run = run_triangular,
    .work = work_triangular,
};
