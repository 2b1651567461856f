/* cond.c - computes condition numbers from singular values, or from norms of a matrix and of its inverse. */
#include "providers/lapack/factor.h"
#include "providers/lapack/operations.h"
#include "providers/lapack/spectra.h"

#include <math.h>

enum { A_VIEW, INVERSE_VIEW, AT_PIVOTS = BP__LAPACK_AT_MORE, AT_SUMS };

/* Writes the result. As in NumPy, NaN of a finite matrix (0 / 0 for a zero matrix) becomes infinity. */
static void put_condition(const bp__lapack_plan *plan, const bp__lapack_item *item, int64_t info, double value) {
    double cond = info != 0 ? NAN : isnan(value) ? INFINITY : value;
    bp__lapack_put(plan->real_type, item->operand[1], (bp_scalar){cond, 0});
}

/* ---- Ratio of the largest and the smallest singular value ---- */

static bp_status prepare_values(bp__lapack_plan *plan) {
    plan->view[A_VIEW] = bp__lapack_place_in_scratch(plan, 0, false, false);
    bp__lapack_prepare_gesdd(plan, &plan->view[A_VIEW], NULL, NULL);
    return BP_OK;
}

static bp_status run_values(const bp__lapack_plan *plan, bp__lapack_item *item, int64_t *info) {
    const bp__lapack_view *a = &plan->view[A_VIEW];
    if (!bp__lapack_load(plan, item, a, 0, false, BP__LAPACK_WHOLE)) {
        *info = BP__LAPACK_NON_FINITE;
        return BP_OK;
    }
    *info = bp__lapack_gesdd(plan, item, a, NULL, NULL);
    double largest = bp__lapack_value_of(plan, item, 0);
    double smallest = bp__lapack_value_of(plan, item, bp__least(a->rows, a->columns) - 1);
    put_condition(plan, item, *info, plan->problem.of.linalg.order > 0 ? largest / smallest : smallest / largest);
    return BP_OK;
}

/* ---- The norm of A times the norm of its inverse ---- */

static bool is_nuclear(const bp__lapack_plan *plan) {
    return plan->problem.of.linalg.mode == BP_NORM_NUC;
}

static bp_status prepare_inverse(bp__lapack_plan *plan) {
    int64_t n = plan->problem.of.linalg.n;
    plan->view[A_VIEW] = bp__lapack_place_in_scratch(plan, 0, false, false);
    plan->view[INVERSE_VIEW] = bp__lapack_scratch_matrix(plan, n, n);
    plan->at[AT_PIVOTS] = bp__lapack_reserve(plan, n, plan->integer);
    plan->at[AT_SUMS] = bp__lapack_reserve(plan, n, sizeof(double));
    if (is_nuclear(plan)) {
        bp__lapack_prepare_gesdd(plan, &plan->view[A_VIEW], NULL, NULL);
    }
    return BP_OK;
}

/* Returns the norm of the matrix in a view. A nuclear norm overwrites it. */
static double norm_of(const bp__lapack_plan *plan, const bp__lapack_item *item, const bp__lapack_view *view,
                      int64_t *info) {
    if (!is_nuclear(plan)) {
        bp__lapack_matrix a = {plan->dtype, view->rows, view->columns, 1, view->ld, bp__lapack_address(view, item)};
        return bp__lapack_norm_of(&plan->problem.of.linalg, &a, (double *)(void *)(item->scratch + plan->at[AT_SUMS]));
    }
    double sum = 0;
    *info = bp__lapack_gesdd(plan, item, view, NULL, NULL);
    for (int64_t i = 0; i < view->rows; i++) {
        sum += bp__lapack_value_of(plan, item, i);
    }
    return sum;
}

/* Computes the inverse. Returns false if it exceeds the range of the type, or if the call is stopped. */
static bool invert(const bp__lapack_plan *plan, const bp__lapack_item *item, int64_t *info) {
    const bp__lapack_view *a = &plan->view[A_VIEW], *x = &plan->view[INVERSE_VIEW];
    void *pivots = item->scratch + plan->at[AT_PIVOTS], *inverse = bp__lapack_address(x, item);
    bp__lapack_factor(plan, item, a, false, pivots, info);
    if (*info != 0 || bp__lapack_stops(plan, item)) {
        *info = *info > 0 ? 0 : *info;
        return false;
    }
    bp__lapack_clear(plan, x->rows, x->columns, inverse, x->ld, BP__LAPACK_WHOLE, true);
    bp__lapack_getrs(plan, 'N', a, bp__lapack_address(a, item), pivots, x, inverse, info);
    return bp__lapack_finite(plan, x->rows, x->columns, inverse, 1, x->ld, BP__LAPACK_WHOLE);
}

static bp_status run_inverse(const bp__lapack_plan *plan, bp__lapack_item *item, int64_t *info) {
    const bp__lapack_view *a = &plan->view[A_VIEW];
    if (!bp__lapack_load(plan, item, a, 0, false, BP__LAPACK_WHOLE)) {
        *info = BP__LAPACK_NON_FINITE;
        return BP_OK;
    }
    double norm = norm_of(plan, item, a, info), of_inverse = INFINITY;
    if (*info == 0 && !bp__lapack_stops(plan, item) && invert(plan, item, info)) {
        of_inverse = norm_of(plan, item, &plan->view[INVERSE_VIEW], info);
    }
    if (bp__lapack_stops(plan, item)) {
        return BP_E_CANCELLED;
    }
    put_condition(plan, item, *info, isinf(of_inverse) ? INFINITY : norm * of_inverse);
    return BP_OK;
}

/* One factorization, and as many right sides as columns. */
static double work_inverse(const bp_linalg_problem *problem) {
    double n = (double)problem->n;
    return bp__lapack_work_lu(problem) + 2 * n * n * n;
}

static double work_nuclear(const bp_linalg_problem *problem) {
    return work_inverse(problem) + 2 * bp__lapack_work_values(problem);
}

static const bp__lapack_operation by_values = {
    .algorithm = "gesdd",
    .routines = {BP__LAPACK_gesdd_real, BP__LAPACK_gesdd_complex},
    .routine_count = 2,
    .efficiency = 0.15,
    .barriers = BP__LAPACK_COLUMN_BARRIERS,
    .prepare = prepare_values,
    .run = run_values,
    .work = bp__lapack_work_values,
    .largest = bp__lapack_largest_values,
};

static const bp__lapack_operation by_inverse = {
    .algorithm = "getrf, getrs",
    .routines = {BP__LAPACK_getrf, BP__LAPACK_getrs},
    .routine_count = 2,
    .prepare = prepare_inverse,
    .run = run_inverse,
    .work = work_inverse,
};

static const bp__lapack_operation nuclear = {
    .algorithm = "getrf, getrs, gesdd",
    .routines = {BP__LAPACK_getrf, BP__LAPACK_getrs, BP__LAPACK_gesdd_real, BP__LAPACK_gesdd_complex},
    .routine_count = 4,
    .efficiency = 0.20,
    .barriers = BP__LAPACK_COLUMN_BARRIERS,
    .prepare = prepare_inverse,
    .run = run_inverse,
    .work = work_nuclear,
    .largest = bp__lapack_largest_values,
};

static const bp__lapack_operation *variant(const bp_problem *problem) {
    const bp_linalg_problem *l = &problem->of.linalg;
    return l->mode == BP_NORM_NUC ? &nuclear : bp__lapack_norm_is_sum(l) ? &by_inverse : &by_values;
}

const bp__lapack_operation bp__lapack_cond = {.variant = variant};
