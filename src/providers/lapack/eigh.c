/* eigh.c - computes eigenvalues and eigenvectors of Hermitian matrices, also for other files. */
#include "providers/lapack/spectra.h"
#include "providers/lapack/operations.h"

/* ---- syevd and heevd ---- */

enum { JOB, UPLO };

/* Calls syevd or heevd; with item NULL, a workspace query. */
static int64_t call_eigh(const bp__lapack_plan *plan, const bp__lapack_item *item, const bp__lapack_view *a,
                         const bp__lapack_workspace *workspace) {
    const char *job = &plan->letter[JOB], *uplo = &plan->letter[UPLO];
    bp__lapack_int n = bp__lapack_integer(plan, a->rows), ld = bp__lapack_integer(plan, a->ld), result = {0};
    void *matrix = item ? bp__lapack_address(a, item) : NULL, *values = item ? bp__lapack_values(plan, item) : NULL;
    if (plan->complex) {
        BP__LAPACK_CALL(plan, heevd)
        (job, uplo, &n, matrix, &ld, values, workspace->work, &workspace->work_size, workspace->reals,
         &workspace->reals_size, workspace->integers, &workspace->integers_size, &result, 1, 1);
    } else {
        BP__LAPACK_CALL(plan, syevd)
        (job, uplo, &n, matrix, &ld, values, workspace->work, &workspace->work_size, workspace->integers,
         &workspace->integers_size, &result, 1, 1);
    }
    return bp__lapack_value(plan, &result);
}

/* Returns workspace beyond the query result. Without it, the routine that applies the reflectors has too little memory
 * in small real problems and in all complex ones. It then processes one column at a time. */
static int64_t blocks_of(int64_t n) {
    enum { MOST_COLUMNS = 64 }; /* of a block; the routine also stores a triangle of that size */
    return MOST_COLUMNS * (n + MOST_COLUMNS + 1);
}

static bp__lapack_needs needs_of(const bp__lapack_plan *plan, int64_t n) {
    bool vectors = plan->letter[JOB] == 'V';
    bp__lapack_needs needs = {.integers = vectors ? 3 + 5 * n : 1};
    int64_t reals = vectors ? 1 + 6 * n + 2 * n * n : 1 + 2 * n;
    needs.work = (!plan->complex ? reals : vectors ? 2 * n + n * n : n + 1) + (vectors ? blocks_of(n) : 0);
    needs.reals = plan->complex ? reals : 1;
    return needs;
}

void bp__lapack_prepare_eigh(bp__lapack_plan *plan, const bp__lapack_view *a, bool vectors, bool upper) {
    plan->letter[JOB] = vectors ? 'V' : 'N';
    plan->letter[UPLO] = upper ? 'U' : 'L';
    bp__lapack_needs needs = needs_of(plan, a->rows);
    bp__lapack_query_result result;
    bp__lapack_workspace query = bp__lapack_query_args(plan, &result);
    call_eigh(plan, NULL, a, &query);
    bp__lapack_apply_query(plan, &needs, &result);
    bp__lapack_reserve_values(plan, a->rows);
    bp__lapack_reserve_workspace(plan, &needs);
}

int64_t bp__lapack_eigh_of(const bp__lapack_plan *plan, const bp__lapack_item *item, const bp__lapack_view *a,
                           bool transposed) {
    bp__lapack_region region = plan->letter[UPLO] == 'U' ? BP__LAPACK_UPPER : BP__LAPACK_LOWER;
    bp__lapack_workspace workspace = bp__lapack_workspace_of(plan, item);
    if (!bp__lapack_load(plan, item, a, 0, transposed, region)) {
        return BP__LAPACK_NON_FINITE;
    }
    bp__lapack_make_diagonal_real(plan, item, a);
    return call_eigh(plan, item, a, &workspace);
}

/* ---- Cost ---- */

double bp__lapack_largest_eigh(const bp_problem *problem) {
    double n = (double)problem->of.linalg.n;
    return 1 + 6 * n + 2 * n * n + 64 * (n + 65);
}

/* Reduction to tridiagonal form; the rest is of lower order. */
double bp__lapack_work_eigenvalues(const bp_linalg_problem *problem) {
    double n = (double)problem->n;
    return 4 * n * n * n / 3;
}

/* Additionally the eigenvectors of the tridiagonal matrix, and the reflectors applied to them. */
static double work_vectors(const bp_linalg_problem *problem) {
    double n = (double)problem->n;
    return bp__lapack_work_eigenvalues(problem) + 4 * n * n * n / 3 + 2 * n * n * n;
}

/* ---- Operations ---- */

enum { A_VIEW };

static bp_status prepare(bp__lapack_plan *plan) {
    const bp_linalg_problem *l = &plan->problem.of.linalg;
    bool vectors = l->operand[2].dtype != 0;
    plan->view[A_VIEW] =
        vectors ? bp__lapack_place(plan, 2, false) : bp__lapack_place_in_scratch(plan, 0, false, false);
    bp__lapack_prepare_eigh(plan, &plan->view[A_VIEW], vectors, l->upper);
    return BP_OK;
}

static bp_status run_eigh(const bp__lapack_plan *plan, bp__lapack_item *item, int64_t *info) {
    const bp__lapack_view *a = &plan->view[A_VIEW];
    *info = bp__lapack_eigh_of(plan, item, a, false);
    if (*info > 0) {
        bp__lapack_fill_nan(plan, item);
    } else if (*info == 0) {
        bp__lapack_write(plan, item, 1, a->rows, 1, bp__lapack_values(plan, item), a->rows);
        if (item->operand[2]) {
            bp__lapack_store(plan, item, a);
        }
    }
    return BP_OK;
}

static const bp__lapack_operation with_vectors = {
    .algorithm = "syevd",
    .routines = {BP__LAPACK_syevd, BP__LAPACK_heevd},
    .routine_count = 2,
    .efficiency = 0.30,
    .barriers = BP__LAPACK_COLUMN_BARRIERS,
    .prepare = prepare,
    .run = run_eigh,
    .work = work_vectors,
    .largest = bp__lapack_largest_eigh,
};

static const bp__lapack_operation values_alone = {
    .algorithm = "syevd",
    .routines = {BP__LAPACK_syevd, BP__LAPACK_heevd},
    .routine_count = 2,
    .efficiency = 0.20,
    .barriers = BP__LAPACK_COLUMN_BARRIERS,
    .prepare = prepare,
    .run = run_eigh,
    .work = bp__lapack_work_eigenvalues,
};

static const bp__lapack_operation *variant(const bp_problem *problem) {
    return problem->of.linalg.operand[2].dtype ? &with_vectors : &values_alone;
}

const bp__lapack_operation bp__lapack_eigh = {.variant = variant};
