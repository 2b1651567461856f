/* eig.c - computes eigenvalues and right eigenvectors of square matrices. For real matrices geev returns conjugate
 * pairs as two real columns; the outputs are always complex. */
#include "providers/lapack/operations.h"
#include "providers/lapack/workspace.h"

enum { A_VIEW, V_VIEW, AT_IMAGINARY = BP__LAPACK_AT_MORE };

static bool wants_vectors(const bp__lapack_plan *plan) {
    return plan->problem.of.linalg.operand[2].dtype != 0;
}

/* Calls geev; with item NULL, a workspace query. */
static int64_t call_geev(const bp__lapack_plan *plan, const bp__lapack_item *item,
                         const bp__lapack_workspace *workspace) {
    const bp__lapack_view *a = &plan->view[A_VIEW], *v = &plan->view[V_VIEW];
    bool vectors = wants_vectors(plan);
    char left = 'N', right = vectors ? 'V' : 'N';
    bp__lapack_int n = bp__lapack_integer(plan, a->rows), lda = bp__lapack_integer(plan, a->ld), result = {0};
    bp__lapack_int ldvl = bp__lapack_integer(plan, 1), ldvr = bp__lapack_integer(plan, vectors ? v->ld : 1);
    void *matrix = item ? bp__lapack_address(a, item) : NULL, *values = item ? bp__lapack_values(plan, item) : NULL;
    void *columns = item && vectors ? bp__lapack_address(v, item) : NULL;
    void *imaginary = item ? item->scratch + plan->at[AT_IMAGINARY] : NULL;
    if (plan->complex) {
        BP__LAPACK_CALL(plan, geev_complex)
        (&left, &right, &n, matrix, &lda, values, NULL, &ldvl, columns, &ldvr, workspace->work, &workspace->work_size,
         workspace->reals, &result, 1, 1);
    } else {
        BP__LAPACK_CALL(plan, geev_real)
        (&left, &right, &n, matrix, &lda, values, imaginary, NULL, &ldvl, columns, &ldvr, workspace->work,
         &workspace->work_size, &result, 1, 1);
    }
    return bp__lapack_value(plan, &result);
}

/* A real matrix keeps its real vectors in scratch memory, because the output V is complex. */
static bp_status prepare(bp__lapack_plan *plan) {
    int64_t n = plan->problem.of.linalg.n;
    bp__lapack_needs needs = {.work = 4 * n, .reals = 2 * n};
    bp__lapack_query_result result;
    bp__lapack_workspace query = bp__lapack_query_args(plan, &result);
    plan->view[A_VIEW] = bp__lapack_place_in_scratch(plan, 0, false, false);
    if (wants_vectors(plan)) {
        plan->view[V_VIEW] = plan->complex ? bp__lapack_place(plan, 2, false) : bp__lapack_scratch_matrix(plan, n, n);
    }
    call_geev(plan, NULL, &query);
    bp__lapack_apply_query(plan, &needs, &result);
    bp__lapack_reserve_values(plan, n * (1 + plan->complex));
    plan->at[AT_IMAGINARY] = bp__lapack_reserve(plan, plan->complex ? 0 : n, plan->real_size);
    bp__lapack_reserve_workspace(plan, &needs);
    return BP_OK;
}

/* ---- Complex results of real matrices ---- */

static double real_at(const bp__lapack_plan *plan, const void *array, int64_t index) {
    return bp__lapack_get(plan->real_type, (const char *)array + (size_t)index * plan->real_size).re;
}

static void put_complex(const bp__lapack_plan *plan, const bp__lapack_item *item, int operand, int64_t i, int64_t j,
                        double re, double im) {
    const bp_linalg_operand *x = bp__lapack_operand(plan, operand);
    int64_t at = (i * x->row + j * x->column) * 2 * (int64_t)plan->real_size;
    bp__lapack_put((bp_dtype)x->dtype, item->operand[operand] + at, (bp_scalar){re, im});
}

/* Writes one eigenvector. The two columns of a conjugate pair are the real and imaginary parts of the vector whose
 * eigenvalue has positive imaginary part. */
static void write_column(const bp__lapack_plan *plan, const bp__lapack_item *item, int64_t j, double imaginary) {
    const bp__lapack_view *v = &plan->view[V_VIEW];
    const char *columns = bp__lapack_address(v, item);
    int64_t first = imaginary < 0 ? j - 1 : j, size = (int64_t)plan->real_size;
    const char *re = columns + first * v->ld * size, *im = columns + (first + 1) * v->ld * size;
    for (int64_t i = 0; i < v->rows; i++) {
        double part = imaginary == 0 ? 0 : real_at(plan, im, i);
        put_complex(plan, item, 2, i, j, real_at(plan, re, i), imaginary < 0 ? -part : part);
    }
}

static void write_pairs(const bp__lapack_plan *plan, const bp__lapack_item *item) {
    for (int64_t j = 0; j < plan->problem.of.linalg.n; j++) {
        double im = real_at(plan, item->scratch + plan->at[AT_IMAGINARY], j);
        put_complex(plan, item, 1, j, 0, bp__lapack_value_of(plan, item, j), im);
        if (item->operand[2]) {
            write_column(plan, item, j, im);
        }
    }
}

/* ---- Operations ---- */

static bp_status run_eig(const bp__lapack_plan *plan, bp__lapack_item *item, int64_t *info) {
    const bp__lapack_view *a = &plan->view[A_VIEW];
    bp__lapack_workspace workspace = bp__lapack_workspace_of(plan, item);
    if (!bp__lapack_load(plan, item, a, 0, false, BP__LAPACK_WHOLE)) {
        *info = BP__LAPACK_NON_FINITE;
        return BP_OK;
    }
    *info = call_geev(plan, item, &workspace);
    if (*info > 0) {
        bp__lapack_fill_nan(plan, item);
    } else if (*info == 0 && !plan->complex) {
        write_pairs(plan, item);
    } else if (*info == 0) {
        bp__lapack_write(plan, item, 1, a->rows, 1, bp__lapack_values(plan, item), a->rows);
        if (item->operand[2]) {
            bp__lapack_store(plan, item, &plan->view[V_VIEW]);
        }
    }
    return BP_OK;
}

/* Typical counts of the Hessenberg reduction and its iteration, which has no fixed count. */
static double work_values(const bp_linalg_problem *problem) {
    double n = (double)problem->n;
    return 10 * n * n * n;
}

static double work_vectors(const bp_linalg_problem *problem) {
    double n = (double)problem->n;
    return 25 * n * n * n;
}

static const bp__lapack_operation with_vectors = {
    .algorithm = "geev",
    .routines = {BP__LAPACK_geev_real, BP__LAPACK_geev_complex},
    .routine_count = 2,
    .efficiency = 0.20,
    .barriers = BP__LAPACK_COLUMN_BARRIERS,
    .prepare = prepare,
    .run = run_eig,
    .work = work_vectors,
};

static const bp__lapack_operation values_alone = {
    .algorithm = "geev",
    .routines = {BP__LAPACK_geev_real, BP__LAPACK_geev_complex},
    .routine_count = 2,
    .efficiency = 0.20,
    .barriers = BP__LAPACK_COLUMN_BARRIERS,
    .prepare = prepare,
    .run = run_eig,
    .work = work_values,
};

static const bp__lapack_operation *variant(const bp_problem *problem) {
    return problem->of.linalg.operand[2].dtype ? &with_vectors : &values_alone;
}

const bp__lapack_operation bp__lapack_eig = {.variant = variant};
