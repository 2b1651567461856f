/* ldl.c - computes ldl_factor and ldl_solve: factors of symmetric and Hermitian matrices that are not positive
 * definite.
 *
 * The results are as with the letter L. The library sees row-major memory as the transposed matrix, whose factors with
 * the letter U are other ones, so that such operands are copied. */
#include "providers/lapack/factor.h"
#include "providers/lapack/operations.h"
#include "providers/lapack/workspace.h"

enum { LD_VIEW, SOLUTION_VIEW };

/* Returns whether L^H is on the right. For real matrices that is L^T, and there is one routine. */
static bool is_hermitian(const bp_problem *problem) {
    return problem->of.linalg.hermitian && (problem->dtype == BP_C64 || problem->dtype == BP_C128);
}

/* ---- ldl_factor ---- */

/* Calls sytrf or hetrf; with item NULL, a workspace query. */
static int64_t call_factor(const bp__lapack_plan *plan, const bp__lapack_item *item,
                           const bp__lapack_workspace *workspace) {
    const bp__lapack_view *ld = &plan->view[LD_VIEW];
    bp__lapack_int n = bp__lapack_integer(plan, ld->rows), lda = bp__lapack_integer(plan, ld->ld), result = {0};
    void *matrix = item ? bp__lapack_address(ld, item) : NULL;
    void *pivots = item ? item->scratch + plan->at[BP__LAPACK_AT_MORE] : NULL;
    if (is_hermitian(&plan->problem)) {
        BP__LAPACK_CALL(plan, hetrf)
        ("L", &n, matrix, &lda, pivots, workspace->work, &workspace->work_size, &result, 1);
    } else {
        BP__LAPACK_CALL(plan, sytrf)
        ("L", &n, matrix, &lda, pivots, workspace->work, &workspace->work_size, &result, 1);
    }
    return bp__lapack_value(plan, &result);
}

static bp_status prepare_factor(bp__lapack_plan *plan) {
    bp__lapack_needs needs = {.work = 1, .reals = 1, .integers = 1};
    bp__lapack_query_result result;
    bp__lapack_workspace query = bp__lapack_query_args(plan, &result);
    plan->view[LD_VIEW] = bp__lapack_place(plan, 1, false);
    call_factor(plan, NULL, &query);
    bp__lapack_apply_query(plan, &needs, &result);
    bp__lapack_reserve_workspace(plan, &needs);
    plan->at[BP__LAPACK_AT_MORE] = bp__lapack_reserve(plan, plan->problem.of.linalg.n, plan->integer);
    return BP_OK;
}

static bp_status run_factor(const bp__lapack_plan *plan, bp__lapack_item *item, int64_t *info) {
    const bp__lapack_view *ld = &plan->view[LD_VIEW];
    const bp__lapack_workspace workspace = bp__lapack_workspace_of(plan, item);
    if (!bp__lapack_load(plan, item, ld, 0, false, BP__LAPACK_LOWER)) {
        *info = BP__LAPACK_NON_FINITE;
        return BP_OK;
    }
    if (is_hermitian(&plan->problem)) {
        bp__lapack_make_diagonal_real(plan, item, ld);
    }
    *info = call_factor(plan, item, &workspace);
    if (*info >= 0) {
        bp__lapack_clear(plan, ld->rows, ld->columns, bp__lapack_address(ld, item), ld->ld, BP__LAPACK_STRICTLY_UPPER,
                         false);
        bp__lapack_store(plan, item, ld);
        bp__lapack_write_pivots(plan, item, item->scratch + plan->at[BP__LAPACK_AT_MORE]);
    }
    return BP_OK;
}

static double work_factor(const bp_linalg_problem *problem) {
    double n = (double)problem->n;
    return n * n * n / 3;
}

#define FACTOR(routine)                                                                                                \
    {                                                                                                                  \
        .algorithm = #routine, .routines = {BP__LAPACK_##routine}, .routine_count = 1, .efficiency = 0.30,             \
        .barriers = BP__LAPACK_COLUMN_BARRIERS, .prepare = prepare_factor, .run = run_factor, .work = work_factor,     \
    }

static const bp__lapack_operation factor_symmetric = FACTOR(sytrf), factor_hermitian = FACTOR(hetrf);

static const bp__lapack_operation *factor_variant(const bp_problem *problem) {
    return is_hermitian(problem) ? &factor_hermitian : &factor_symmetric;
}

const bp__lapack_operation bp__lapack_ldl_factor = {.variant = factor_variant};

/* ---- ldl_solve ---- */

static bp_status prepare_solve(bp__lapack_plan *plan) {
    plan->view[LD_VIEW] = bp__lapack_place(plan, 0, false);
    plan->view[SOLUTION_VIEW] = bp__lapack_place(plan, 3, false);
    plan->at[0] = bp__lapack_reserve(plan, plan->problem.of.linalg.n, plan->integer);
    return BP_OK;
}

static bp_status run_solve(const bp__lapack_plan *plan, bp__lapack_item *item, int64_t *info) {
    const bp__lapack_view *ld = &plan->view[LD_VIEW], *x = &plan->view[SOLUTION_VIEW];
    void *pivots = item->scratch + plan->at[0];
    if (!item->again[1]) {
        bp__lapack_read_pivots(plan, item, pivots);
    }
    const bool fine = (item->again[0] && !ld->in_place) || bp__lapack_load(plan, item, ld, 0, false, BP__LAPACK_LOWER);
    if (!fine || !bp__lapack_load(plan, item, x, 2, false, BP__LAPACK_WHOLE)) {
        *info = BP__LAPACK_NON_FINITE;
        return BP_OK;
    }
    bp__lapack_int n = bp__lapack_integer(plan, x->rows), k = bp__lapack_integer(plan, x->columns);
    bp__lapack_int lda = bp__lapack_integer(plan, ld->ld), ldb = bp__lapack_integer(plan, x->ld), result = {0};
    void *a = bp__lapack_address(ld, item), *b = bp__lapack_address(x, item);
    if (is_hermitian(&plan->problem)) {
        BP__LAPACK_CALL(plan, hetrs)("L", &n, &k, a, &lda, pivots, b, &ldb, &result, 1);
    } else {
        BP__LAPACK_CALL(plan, sytrs)("L", &n, &k, a, &lda, pivots, b, &ldb, &result, 1);
    }
    *info = bp__lapack_value(plan, &result);
    bp__lapack_store(plan, item, x);
    return BP_OK;
}

static double work_solve(const bp_linalg_problem *problem) {
    return 2 * (double)problem->n * (double)problem->n * (double)problem->k;
}

#define SOLVE(routine)                                                                                                 \
    {                                                                                                                  \
        .algorithm = #routine, .routines = {BP__LAPACK_##routine}, .routine_count = 1, .prepare = prepare_solve,       \
        .run = run_solve, .work = work_solve,                                                                          \
    }

static const bp__lapack_operation solve_symmetric = SOLVE(sytrs), solve_hermitian = SOLVE(hetrs);

static const bp__lapack_operation *solve_variant(const bp_problem *problem) {
    return is_hermitian(problem) ? &solve_hermitian : &solve_symmetric;
}

const bp__lapack_operation bp__lapack_ldl_solve = {.variant = solve_variant};
