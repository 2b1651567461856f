/* svd.c - computes svd and singular values, also for other files. */
#include "providers/lapack/spectra.h"
#include "providers/lapack/operations.h"

/* ---- gesdd ---- */

/* Returns the job letter: 'A' for all columns of U and rows of Vh, 'S' for the first min(m,n). */
static char job_of(const bp__lapack_plan *plan, const bp__lapack_view *u) {
    return !u ? 'N' : plan->problem.of.linalg.mode == BP_SVD_FULL ? 'A' : 'S';
}

/* Calls gesdd; with item NULL, a workspace query. */
static int64_t call_gesdd(const bp__lapack_plan *plan, const bp__lapack_item *item, const bp__lapack_view *a,
                          const bp__lapack_view *u, const bp__lapack_view *vh, const bp__lapack_workspace *workspace) {
    char job = job_of(plan, u);
    bp__lapack_int m = bp__lapack_integer(plan, a->rows), n = bp__lapack_integer(plan, a->columns);
    bp__lapack_int lda = bp__lapack_integer(plan, a->ld), ldu = bp__lapack_integer(plan, u ? u->ld : 1);
    bp__lapack_int ldvh = bp__lapack_integer(plan, vh ? vh->ld : 1), result = {0};
    void *matrix = item ? bp__lapack_address(a, item) : NULL, *values = item ? bp__lapack_values(plan, item) : NULL;
    void *left = item && u ? bp__lapack_address(u, item) : NULL,
         *right = item && vh ? bp__lapack_address(vh, item) : NULL;
    if (plan->complex) {
        BP__LAPACK_CALL(plan, gesdd_complex)
        (&job, &m, &n, matrix, &lda, values, left, &ldu, right, &ldvh, workspace->work, &workspace->work_size,
         workspace->reals, workspace->integers, &result, 1);
    } else {
        BP__LAPACK_CALL(plan, gesdd_real)
        (&job, &m, &n, matrix, &lda, values, left, &ldu, right, &ldvh, workspace->work, &workspace->work_size,
         workspace->integers, &result, 1);
    }
    return bp__lapack_value(plan, &result);
}

/* Returns the documented workspace. The vectors' arithmetic is real even for complex types, so that `reals` is large.
 */
static bp__lapack_needs needs_of(const bp__lapack_plan *plan, const bp__lapack_view *a, char job) {
    int64_t least = bp__least(a->rows, a->columns), most = bp__most(a->rows, a->columns);
    int64_t square = least * least;
    bp__lapack_needs needs = {.integers = 8 * least};
    if (plan->complex) {
        needs.work = job == 'N' ? 2 * least + most : square + 3 * least + most;
        needs.reals = job == 'N' ? 7 * least : bp__most(5 * square + 7 * least, 2 * most * least + 2 * square + least);
    } else {
        needs.work = job == 'N' ? 3 * least + bp__most(most, 7 * least) : 4 * square + 7 * least + most;
    }
    return needs;
}

void bp__lapack_prepare_gesdd(bp__lapack_plan *plan, const bp__lapack_view *a, const bp__lapack_view *u,
                              const bp__lapack_view *vh) {
    bp__lapack_needs needs = needs_of(plan, a, job_of(plan, u));
    bp__lapack_query_result result;
    bp__lapack_workspace query = bp__lapack_query_args(plan, &result);
    call_gesdd(plan, NULL, a, u, vh, &query);
    bp__lapack_apply_query(plan, &needs, &result);
    bp__lapack_reserve_values(plan, bp__least(a->rows, a->columns));
    bp__lapack_reserve_workspace(plan, &needs);
}

int64_t bp__lapack_gesdd(const bp__lapack_plan *plan, const bp__lapack_item *item, const bp__lapack_view *a,
                         const bp__lapack_view *u, const bp__lapack_view *vh) {
    bp__lapack_workspace workspace = bp__lapack_workspace_of(plan, item);
    return call_gesdd(plan, item, a, u, vh, &workspace);
}

/* ---- Cost ---- */

static double least_of(const bp_linalg_problem *problem) {
    return (double)bp__least(problem->m, problem->n);
}

static double most_of(const bp_linalg_problem *problem) {
    return (double)bp__most(problem->m, problem->n);
}

double bp__lapack_largest_values(const bp_problem *problem) {
    return 10 * least_of(&problem->of.linalg) + most_of(&problem->of.linalg);
}

/* The second formula for complex matrices applies if they are not much longer than wide. */
double bp__lapack_largest_vectors(const bp_problem *problem) {
    double least = least_of(&problem->of.linalg), most = most_of(&problem->of.linalg);
    bool is_complex = problem->dtype == BP_C64 || problem->dtype == BP_C128;
    double first = (is_complex ? 5 : 4) * least * least + 7 * least + most;
    double second = is_complex && most < 2 * least ? 2 * most * least + 2 * least * least + least : 0;
    return first > second ? first : second;
}

/* Reduction to bidiagonal form; the rest is of lower order. */
double bp__lapack_work_values(const bp_linalg_problem *problem) {
    double least = least_of(problem), most = most_of(problem);
    return 4 * least * least * (most - least / 3);
}

/* Additionally the vectors of the bidiagonal matrix, and the reflectors applied to both sides. */
double bp__lapack_work_vectors(const bp_linalg_problem *problem) {
    double least = least_of(problem), most = most_of(problem);
    double columns = problem->mode == BP_SVD_FULL ? most : least;
    return bp__lapack_work_values(problem) + 4 * most * least * columns + 14 * least * least * least / 3;
}

/* ---- Operations ---- */

enum { A_VIEW, U_VIEW, VH_VIEW, BY_ROWS = 0 /* index of plan->letter */ };

/* For row-major U and Vh, computes A^T = Vh^T diag(S) U^T, so that the library writes the outputs in place. */
static bp_status prepare_svd(bp__lapack_plan *plan) {
    bool by_rows = !bp__lapack_fits(plan, 1, false) && bp__lapack_fits(plan, 1, true);
    plan->letter[BY_ROWS] = by_rows;
    plan->view[A_VIEW] = bp__lapack_place_in_scratch(plan, 0, by_rows, false);
    plan->view[U_VIEW] = bp__lapack_place(plan, by_rows ? 3 : 1, by_rows);
    plan->view[VH_VIEW] = bp__lapack_place(plan, by_rows ? 1 : 3, by_rows);
    bp__lapack_prepare_gesdd(plan, &plan->view[A_VIEW], &plan->view[U_VIEW], &plan->view[VH_VIEW]);
    return BP_OK;
}

static bp_status prepare_values(bp__lapack_plan *plan) {
    bool by_rows = !bp__lapack_fits(plan, 0, false) && bp__lapack_fits(plan, 0, true);
    plan->letter[BY_ROWS] = by_rows;
    plan->view[A_VIEW] = bp__lapack_place_in_scratch(plan, 0, by_rows, false);
    bp__lapack_prepare_gesdd(plan, &plan->view[A_VIEW], NULL, NULL);
    return BP_OK;
}

static bp_status run_svd(const bp__lapack_plan *plan, bp__lapack_item *item, int64_t *info) {
    const bp__lapack_view *a = &plan->view[A_VIEW];
    const bp__lapack_view *u = item->operand[1] ? &plan->view[U_VIEW] : NULL, *vh = u ? &plan->view[VH_VIEW] : NULL;
    if (!bp__lapack_load(plan, item, a, 0, plan->letter[BY_ROWS], BP__LAPACK_WHOLE)) {
        *info = BP__LAPACK_NON_FINITE;
        return BP_OK;
    }
    *info = bp__lapack_gesdd(plan, item, a, u, vh);
    if (*info > 0) {
        bp__lapack_fill_nan(plan, item);
    } else if (*info == 0) {
        int64_t count = bp__least(a->rows, a->columns);
        bp__lapack_write(plan, item, 2, count, 1, bp__lapack_values(plan, item), count);
        if (u) {
            bp__lapack_store(plan, item, u);
            bp__lapack_store(plan, item, vh);
        }
    }
    return BP_OK;
}

static const bp__lapack_operation with_vectors = {
    .algorithm = "gesdd",
    .routines = {BP__LAPACK_gesdd_real, BP__LAPACK_gesdd_complex},
    .routine_count = 2,
    .efficiency = 0.25,
    .barriers = BP__LAPACK_COLUMN_BARRIERS,
    .prepare = prepare_svd,
    .run = run_svd,
    .work = bp__lapack_work_vectors,
    .largest = bp__lapack_largest_vectors,
};

static const bp__lapack_operation values_alone = {
    .algorithm = "gesdd",
    .routines = {BP__LAPACK_gesdd_real, BP__LAPACK_gesdd_complex},
    .routine_count = 2,
    .efficiency = 0.15,
    .barriers = BP__LAPACK_COLUMN_BARRIERS,
    .prepare = prepare_values,
    .run = run_svd,
    .work = bp__lapack_work_values,
    .largest = bp__lapack_largest_values,
};

static const bp__lapack_operation *variant(const bp_problem *problem) {
    return problem->of.linalg.operand[1].dtype ? &with_vectors : &values_alone;
}

const bp__lapack_operation bp__lapack_svd = {.variant = variant};
