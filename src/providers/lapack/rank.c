/* rank.c - computes matrix_rank: counts singular values, or absolute eigenvalues of a Hermitian matrix, above a
 * threshold. */
#include "providers/lapack/spectra.h"
#include "providers/lapack/operations.h"

#include <math.h>

enum { A_VIEW };

static bp_status conclude(const bp__lapack_plan *plan, bp__lapack_item *item, int64_t count, int64_t info) {
    const bp_linalg_problem *l = &plan->problem.of.linalg;
    if (info > 0) {
        bp__lapack_fill_nan(plan, item);
    }
    if (info != 0) {
        return BP_OK;
    }
    double largest = 0;
    for (int64_t i = 0; i < count; i++) {
        largest = fmax(largest, fabs(bp__lapack_value_of(plan, item, i)));
    }
    double threshold = fmax(l->atol, l->rtol * largest);
    int64_t rank = 0;
    for (int64_t i = 0; i < count; i++) {
        rank += fabs(bp__lapack_value_of(plan, item, i)) > threshold;
    }
    *(int64_t *)(void *)item->operand[1] = rank;
    return BP_OK;
}

static bp_status prepare_general(bp__lapack_plan *plan) {
    plan->view[A_VIEW] = bp__lapack_place_in_scratch(plan, 0, false, false);
    bp__lapack_prepare_gesdd(plan, &plan->view[A_VIEW], NULL, NULL);
    return BP_OK;
}

static bp_status run_general(const bp__lapack_plan *plan, bp__lapack_item *item, int64_t *info) {
    const bp__lapack_view *a = &plan->view[A_VIEW];
    *info = bp__lapack_load(plan, item, a, 0, false, BP__LAPACK_WHOLE) ? bp__lapack_gesdd(plan, item, a, NULL, NULL)
                                                                       : BP__LAPACK_NON_FINITE;
    return conclude(plan, item, bp__least(a->rows, a->columns), *info);
}

static bp_status prepare_hermitian(bp__lapack_plan *plan) {
    plan->view[A_VIEW] = bp__lapack_place_in_scratch(plan, 0, false, false);
    bp__lapack_prepare_eigh(plan, &plan->view[A_VIEW], false, plan->problem.of.linalg.upper);
    return BP_OK;
}

static bp_status run_hermitian(const bp__lapack_plan *plan, bp__lapack_item *item, int64_t *info) {
    *info = bp__lapack_eigh_of(plan, item, &plan->view[A_VIEW], false);
    return conclude(plan, item, plan->problem.of.linalg.n, *info);
}

static const bp__lapack_operation general = {
    .algorithm = "gesdd",
    .routines = {BP__LAPACK_gesdd_real, BP__LAPACK_gesdd_complex},
    .routine_count = 2,
    .efficiency = 0.15,
    .barriers = BP__LAPACK_COLUMN_BARRIERS,
    .prepare = prepare_general,
    .run = run_general,
    .work = bp__lapack_work_values,
    .largest = bp__lapack_largest_values,
};

static const bp__lapack_operation hermitian = {
    .algorithm = "syevd",
    .routines = {BP__LAPACK_syevd, BP__LAPACK_heevd},
    .routine_count = 2,
    .efficiency = 0.20,
    .barriers = BP__LAPACK_COLUMN_BARRIERS,
    .prepare = prepare_hermitian,
    .run = run_hermitian,
    .work = bp__lapack_work_eigenvalues,
};

static const bp__lapack_operation *variant(const bp_problem *problem) {
    return problem->of.linalg.hermitian ? &hermitian : &general;
}

const bp__lapack_operation bp__lapack_matrix_rank = {.variant = variant};
