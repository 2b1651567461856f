/* qr.c - computes qr: factors in scratch memory, then forms Q in separate memory, because both factors are stored in A.
 */
#include "providers/lapack/operations.h"
#include "providers/lapack/workspace.h"

enum { A_VIEW, Q_VIEW };

static int64_t count_of(const bp__lapack_plan *plan) {
    return bp__least(plan->problem.of.linalg.m, plan->problem.of.linalg.n);
}

/* ---- The routines; with item NULL, a workspace query ---- */

static int64_t call_geqrf(const bp__lapack_plan *plan, const bp__lapack_item *item,
                          const bp__lapack_workspace *workspace) {
    const bp__lapack_view *a = &plan->view[A_VIEW];
    bp__lapack_int m = bp__lapack_integer(plan, a->rows), n = bp__lapack_integer(plan, a->columns);
    bp__lapack_int ld = bp__lapack_integer(plan, a->ld), result = {0};
    BP__LAPACK_CALL(plan, geqrf)
    (&m, &n, item ? bp__lapack_address(a, item) : NULL, &ld, item ? bp__lapack_values(plan, item) : NULL,
     workspace->work, &workspace->work_size, &result);
    return bp__lapack_value(plan, &result);
}

static int64_t call_orgqr(const bp__lapack_plan *plan, const bp__lapack_item *item,
                          const bp__lapack_workspace *workspace) {
    const bp__lapack_view *q = &plan->view[Q_VIEW];
    bp__lapack_int m = bp__lapack_integer(plan, q->rows), n = bp__lapack_integer(plan, q->columns);
    bp__lapack_int k = bp__lapack_integer(plan, count_of(plan)), ld = bp__lapack_integer(plan, q->ld), result = {0};
    BP__LAPACK_CALL(plan, orgqr)
    (&m, &n, &k, item ? bp__lapack_address(q, item) : NULL, &ld, item ? bp__lapack_values(plan, item) : NULL,
     workspace->work, &workspace->work_size, &result);
    return bp__lapack_value(plan, &result);
}

/* ---- Operations ---- */

static bp_status prepare(bp__lapack_plan *plan) {
    bp__lapack_needs needs = {.work = plan->problem.of.linalg.n};
    bp__lapack_query_result result;
    bp__lapack_workspace query = bp__lapack_query_args(plan, &result);
    plan->view[A_VIEW] = bp__lapack_place_in_scratch(plan, 0, false, false);
    call_geqrf(plan, NULL, &query);
    bp__lapack_apply_query(plan, &needs, &result);
    if (plan->problem.of.linalg.mode != BP_QR_R) {
        plan->view[Q_VIEW] = bp__lapack_place(plan, 1, false);
        needs.work = bp__most(needs.work, plan->view[Q_VIEW].columns);
        call_orgqr(plan, NULL, &query);
        bp__lapack_apply_query(plan, &needs, &result);
    }
    bp__lapack_reserve_values(plan, count_of(plan) * (1 + plan->complex));
    bp__lapack_reserve_workspace(plan, &needs);
    return BP_OK;
}

/* Forms Q from the reflectors below the diagonal of the factored A. orgqr adds the columns that A does not have. */
static int64_t form_q(const bp__lapack_plan *plan, bp__lapack_item *item, const bp__lapack_workspace *workspace) {
    const bp__lapack_view *a = &plan->view[A_VIEW], *q = &plan->view[Q_VIEW];
    plan->driver->host->copy_matrix(plan->dtype, a->rows, bp__least(a->columns, q->columns),
                                    bp__lapack_address(q, item), 1, q->ld, bp__lapack_address(a, item), 1, a->ld, 0);
    int64_t info = call_orgqr(plan, item, workspace);
    bp__lapack_store(plan, item, q);
    return info;
}

static bp_status run_qr(const bp__lapack_plan *plan, bp__lapack_item *item, int64_t *info) {
    const bp__lapack_view *a = &plan->view[A_VIEW];
    bp__lapack_workspace workspace = bp__lapack_workspace_of(plan, item);
    if (!bp__lapack_load(plan, item, a, 0, false, BP__LAPACK_WHOLE)) {
        *info = BP__LAPACK_NON_FINITE;
        return BP_OK;
    }
    *info = call_geqrf(plan, item, &workspace);
    if (bp__lapack_stops(plan, item)) {
        return BP_E_CANCELLED;
    }
    if (*info == 0 && plan->problem.of.linalg.mode != BP_QR_R) {
        *info = form_q(plan, item, &workspace);
    }
    void *factored = bp__lapack_address(a, item);
    bp__lapack_clear(plan, a->rows, a->columns, factored, a->ld, BP__LAPACK_STRICTLY_LOWER, false);
    bp__lapack_write(plan, item, 2, bp__lapack_operand(plan, 2)->rows, a->columns, factored, a->ld);
    return BP_OK;
}

static double work_r(const bp_linalg_problem *problem) {
    double m = (double)problem->m, n = (double)problem->n, k = m < n ? m : n;
    return 2 * k * (m * n - (m + n) * k / 2 + k * k / 3);
}

/* k reflectors applied to all columns of Q. */
static double work_q(const bp_linalg_problem *problem) {
    double m = (double)problem->m, n = (double)problem->n, k = m < n ? m : n;
    double columns = problem->mode == BP_QR_COMPLETE ? m : k;
    return work_r(problem) + 4 * k * (m * columns - (m + columns) * k / 2 + k * k / 3);
}

static const bp__lapack_operation only_r = {
    .algorithm = "geqrf",
    .routines = {BP__LAPACK_geqrf},
    .routine_count = 1,
    .efficiency = 0.45,
    .barriers = BP__LAPACK_COLUMN_BARRIERS,
    .prepare = prepare,
    .run = run_qr,
    .work = work_r,
};

static const bp__lapack_operation both = {
    .algorithm = "geqrf, orgqr",
    .routines = {BP__LAPACK_geqrf, BP__LAPACK_orgqr},
    .routine_count = 2,
    .efficiency = 0.45,
    .barriers = BP__LAPACK_COLUMN_BARRIERS,
    .prepare = prepare,
    .run = run_qr,
    .work = work_q,
};

static const bp__lapack_operation *variant(const bp_problem *problem) {
    return problem->of.linalg.mode == BP_QR_R ? &only_r : &both;
}

const bp__lapack_operation bp__lapack_qr = {.variant = variant};
