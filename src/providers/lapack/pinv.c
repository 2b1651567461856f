/* pinv.c - computes the Moore-Penrose inverse from singular values, or from eigenvalues of a Hermitian matrix. */
#include "providers/lapack/spectra.h"
#include "providers/lapack/operations.h"

#include <math.h>

/* A row-major inverse is the column-major inverse of A^T. */
enum { A_VIEW, RESULT_VIEW, LEFT_VIEW, RIGHT_VIEW, BY_ROWS = 2 /* index of plan->letter; eigh.c uses the first two */ };

static bool place_result(bp__lapack_plan *plan) {
    bool by_rows = !bp__lapack_fits(plan, 1, false) && bp__lapack_fits(plan, 1, true);
    plan->letter[BY_ROWS] = by_rows;
    plan->view[A_VIEW] = bp__lapack_place_in_scratch(plan, 0, by_rows, false);
    plan->view[RESULT_VIEW] = bp__lapack_place(plan, 1, by_rows);
    return by_rows;
}

/* Multiplies each column of `to` by the inverse of its singular value or eigenvalue, or by 0 if that counts as zero. */
static void scale(const bp__lapack_plan *plan, const bp__lapack_item *item, const bp__lapack_view *from,
                  const bp__lapack_view *to) {
    const bp_linalg_problem *l = &plan->problem.of.linalg;
    const char *source = bp__lapack_address(from, item);
    char *at = bp__lapack_address(to, item);
    double largest = 0;
    for (int64_t j = 0; j < to->columns; j++) {
        largest = fmax(largest, fabs(bp__lapack_value_of(plan, item, j)));
    }
    double threshold = fmax(l->atol, l->rtol * largest);
    for (int64_t j = 0; j < to->columns; j++) {
        double value = bp__lapack_value_of(plan, item, j), factor = fabs(value) > threshold ? 1 / value : 0;
        for (int64_t i = 0; i < to->rows; i++) {
            bp_scalar x = bp__lapack_get(plan->dtype, source + (size_t)(j * from->ld + i) * plan->size);
            bp__lapack_put(plan->dtype, at + (size_t)(j * to->ld + i) * plan->size,
                           (bp_scalar){x.re * factor, x.im * factor});
        }
    }
}

static void multiply(const bp__lapack_plan *plan, const bp__lapack_item *item, char op_a, const bp__lapack_view *a,
                     const bp__lapack_view *b, int64_t inner) {
    const bp__lapack_view *c = &plan->view[RESULT_VIEW];
    bp__lapack_gemm(plan, &(bp__lapack_product){.op_a = op_a,
                                                .op_b = plan->complex ? 'C' : 'T',
                                                .alpha = 1,
                                                .m = c->rows,
                                                .n = c->columns,
                                                .k = inner,
                                                .lda = a->ld,
                                                .ldb = b->ld,
                                                .ldc = c->ld,
                                                .a = bp__lapack_address(a, item),
                                                .b = bp__lapack_address(b, item),
                                                .c = bp__lapack_address(c, item)});
    bp__lapack_store(plan, item, c);
}

/* ---- By singular values: V S^-1 U^H ---- */

static bp_status prepare_general(bp__lapack_plan *plan) {
    place_result(plan);
    const bp__lapack_view *a = &plan->view[A_VIEW];
    int64_t count = bp__least(a->rows, a->columns);
    plan->view[LEFT_VIEW] = bp__lapack_scratch_matrix(plan, a->rows, count);
    plan->view[RIGHT_VIEW] = bp__lapack_scratch_matrix(plan, count, a->columns);
    bp__lapack_prepare_gesdd(plan, a, &plan->view[LEFT_VIEW], &plan->view[RIGHT_VIEW]);
    return BP_OK;
}

static bp_status run_general(const bp__lapack_plan *plan, bp__lapack_item *item, int64_t *info) {
    const bp__lapack_view *a = &plan->view[A_VIEW], *u = &plan->view[LEFT_VIEW], *vh = &plan->view[RIGHT_VIEW];
    if (!bp__lapack_load(plan, item, a, 0, plan->letter[BY_ROWS], BP__LAPACK_WHOLE)) {
        *info = BP__LAPACK_NON_FINITE;
        return BP_OK;
    }
    *info = bp__lapack_gesdd(plan, item, a, u, vh);
    if (bp__lapack_stops(plan, item)) {
        return BP_E_CANCELLED;
    }
    if (*info > 0) {
        bp__lapack_fill_nan(plan, item);
    } else if (*info == 0) {
        scale(plan, item, u, u);
        multiply(plan, item, plan->complex ? 'C' : 'T', vh, u, u->columns);
    }
    return BP_OK;
}

static double work_general(const bp_linalg_problem *problem) {
    double least = (double)bp__least(problem->m, problem->n);
    return bp__lapack_work_vectors(problem) + 2 * (double)problem->m * (double)problem->n * least;
}

/* ---- By eigenvalues: V w^-1 V^H ---- */

static bp_status prepare_hermitian(bp__lapack_plan *plan) {
    bool by_rows = place_result(plan), upper = (plan->problem.of.linalg.upper != 0) != by_rows;
    int64_t n = plan->problem.of.linalg.n;
    plan->view[RIGHT_VIEW] = bp__lapack_scratch_matrix(plan, n, n);
    bp__lapack_prepare_eigh(plan, &plan->view[A_VIEW], true, upper);
    return BP_OK;
}

static bp_status run_hermitian(const bp__lapack_plan *plan, bp__lapack_item *item, int64_t *info) {
    const bp__lapack_view *v = &plan->view[A_VIEW], *scaled = &plan->view[RIGHT_VIEW];
    *info = bp__lapack_eigh_of(plan, item, v, plan->letter[BY_ROWS]);
    if (bp__lapack_stops(plan, item)) {
        return BP_E_CANCELLED;
    }
    if (*info > 0) {
        bp__lapack_fill_nan(plan, item);
    } else if (*info == 0) {
        scale(plan, item, v, scaled);
        multiply(plan, item, 'N', v, scaled, v->columns);
    }
    return BP_OK;
}

static double work_hermitian(const bp_linalg_problem *problem) {
    double n = (double)problem->n;
    return 5 * bp__lapack_work_eigenvalues(problem) + 2 * n * n * n;
}

static const bp__lapack_operation general = {
    .algorithm = "gesdd, gemm",
    .routines = {BP__LAPACK_gesdd_real, BP__LAPACK_gesdd_complex, BP__LAPACK_gemm},
    .routine_count = 3,
    .efficiency = 0.25,
    .barriers = BP__LAPACK_COLUMN_BARRIERS,
    .prepare = prepare_general,
    .run = run_general,
    .work = work_general,
    .largest = bp__lapack_largest_vectors,
};

static const bp__lapack_operation hermitian = {
    .algorithm = "syevd, gemm",
    .routines = {BP__LAPACK_syevd, BP__LAPACK_heevd, BP__LAPACK_gemm},
    .routine_count = 3,
    .efficiency = 0.30,
    .barriers = BP__LAPACK_COLUMN_BARRIERS,
    .prepare = prepare_hermitian,
    .run = run_hermitian,
    .work = work_hermitian,
    .largest = bp__lapack_largest_eigh,
};

static const bp__lapack_operation *variant(const bp_problem *problem) {
    return problem->of.linalg.hermitian ? &hermitian : &general;
}

const bp__lapack_operation bp__lapack_pinv = {.variant = variant};
