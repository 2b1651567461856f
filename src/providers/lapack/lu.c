/* lu.c - computes lu_factor, lu and lu_solve, and the LU factorization for other files. */
#include "providers/lapack/factor.h"
#include "providers/lapack/operations.h"

#include <inttypes.h>
#include <stdlib.h>

/* ---- The factorization ---- */

void bp__lapack_factor(const bp__lapack_plan *plan, const bp__lapack_item *item, const bp__lapack_view *view,
                       bool transposed, void *pivots, int64_t *info) {
    if (!bp__lapack_load(plan, item, view, 0, transposed, BP__LAPACK_WHOLE)) {
        *info = BP__LAPACK_NON_FINITE;
        return;
    }
    bp__lapack_int m = bp__lapack_integer(plan, view->rows), n = bp__lapack_integer(plan, view->columns);
    bp__lapack_int ld = bp__lapack_integer(plan, view->ld), result = {0};
    BP__LAPACK_CALL(plan, getrf)(&m, &n, bp__lapack_address(view, item), &ld, pivots, &result);
    *info = bp__lapack_value(plan, &result);
}

void bp__lapack_factor_either(const bp__lapack_plan *plan, bp__lapack_item *item, const bp__lapack_view *view,
                              void *pivots, int64_t *info) {
    const bp_linalg_operand *a = bp__lapack_operand(plan, 0);
    item->transposed = llabs(a->column) < llabs(a->row);
    bp__lapack_factor(plan, item, view, item->transposed, pivots, info);
    if (item->transposed && *info > 0) {
        item->transposed = false;
        bp__lapack_factor(plan, item, view, false, pivots, info);
    }
}

void bp__lapack_getrs(const bp__lapack_plan *plan, char trans, const bp__lapack_view *factors, const void *a,
                      const void *pivots, const bp__lapack_view *x, void *b, int64_t *info) {
    bp__lapack_int n = bp__lapack_integer(plan, x->rows), k = bp__lapack_integer(plan, x->columns);
    bp__lapack_int lda = bp__lapack_integer(plan, factors->ld), ldb = bp__lapack_integer(plan, x->ld), result = {0};
    BP__LAPACK_CALL(plan, getrs)(&trans, &n, &k, a, &lda, pivots, b, &ldb, &result, 1);
    *info = bp__lapack_value(plan, &result);
}

/* ---- Pivots, operand 2 of a factorization and operand 1 of a solution ---- */

void bp__lapack_write_pivots(const bp__lapack_plan *plan, const bp__lapack_item *item, const void *pivots) {
    const bp_linalg_operand *x = bp__lapack_operand(plan, 2);
    int32_t *to = (int32_t *)(void *)item->operand[2];
    for (int64_t i = 0; i < x->rows; i++) {
        to[i * x->row] = (int32_t)bp__lapack_value_at(plan, pivots, i);
    }
}

void bp__lapack_read_pivots(const bp__lapack_plan *plan, const bp__lapack_item *item, void *pivots) {
    const bp_linalg_operand *x = bp__lapack_operand(plan, 1);
    int64_t n = plan->problem.of.linalg.n;
    for (int64_t i = 0; i < n; i++) {
        int32_t pivot = ((const int32_t *)(const void *)item->operand[1])[i * x->row];
        if (plan->bits == 64) {
            ((int64_t *)pivots)[i] = pivot;
        } else {
            ((int32_t *)pivots)[i] = pivot;
        }
    }
}

/* ---- Work ---- */

/* Multiplications and additions of min(m,n) elimination steps. */
double bp__lapack_work_lu(const bp_linalg_problem *problem) {
    double m = (double)problem->m, n = (double)problem->n, k = m < n ? m : n;
    return 2 * m * n * k - (m + n) * k * k + 2 * k * k * k / 3;
}

static int64_t count_of(const bp__lapack_plan *plan) {
    const bp_linalg_problem *l = &plan->problem.of.linalg;
    return l->m < l->n ? l->m : l->n;
}

/* ---- lu_factor ---- */

enum { LU_VIEW, SOLUTION_VIEW };

static bp_status prepare_factor(bp__lapack_plan *plan) {
    plan->view[LU_VIEW] = bp__lapack_place(plan, 1, false);
    plan->at[0] = bp__lapack_reserve(plan, count_of(plan), plan->integer);
    return BP_OK;
}

static bp_status run_factor(const bp__lapack_plan *plan, bp__lapack_item *item, int64_t *info) {
    void *pivots = item->scratch + plan->at[0];
    bp__lapack_factor(plan, item, &plan->view[LU_VIEW], false, pivots, info);
    if (*info >= 0) {
        bp__lapack_store(plan, item, &plan->view[LU_VIEW]);
        bp__lapack_write_pivots(plan, item, pivots);
    }
    return BP_OK;
}

const bp__lapack_operation bp__lapack_lu_factor = {
    .algorithm = "getrf",
    .routines = {BP__LAPACK_getrf},
    .routine_count = 1,
    .prepare = prepare_factor,
    .run = run_factor,
    .work = bp__lapack_work_lu,
};

/* ---- lu ---- */

/* The factors are separated in scratch memory, where every column of a triangle is contiguous. */
static bp_status prepare_lu(bp__lapack_plan *plan) {
    plan->view[LU_VIEW] = bp__lapack_place_in_scratch(plan, 0, false, false);
    plan->at[0] = bp__lapack_reserve(plan, count_of(plan), plan->integer);
    plan->at[1] = bp__lapack_reserve(plan, plan->problem.of.linalg.m, sizeof(int64_t));
    plan->at[2] = bp__lapack_reserve(plan, plan->problem.of.linalg.n * count_of(plan), plan->size);
    return BP_OK;
}

/* Writes P, which has a one in row order[i] of column i. order[i] is the row of A that elimination moved to row i. */
static void write_permutation(const bp__lapack_plan *plan, const bp__lapack_item *item, const void *pivots,
                              int64_t *order) {
    const bp_linalg_operand *p = bp__lapack_operand(plan, 1);
    int64_t m = plan->problem.of.linalg.m, count = count_of(plan);
    for (int64_t i = 0; i < m; i++) {
        order[i] = i;
    }
    for (int64_t i = 0; i < count; i++) {
        int64_t other = bp__lapack_value_at(plan, pivots, i) - 1, row = order[i];
        order[i] = order[other];
        order[other] = row;
    }
    for (int64_t j = 0; j < m; j++) {
        for (int64_t i = 0; i < m; i++) {
            char *at = item->operand[1] + (i * p->row + j * p->column) * (int64_t)plan->size;
            bp__lapack_put(plan->dtype, at, (bp_scalar){order[j] == i, 0});
        }
    }
}

static bp_status run_lu(const bp__lapack_plan *plan, bp__lapack_item *item, int64_t *info) {
    const bp__lapack_view *view = &plan->view[LU_VIEW];
    void *pivots = item->scratch + plan->at[0], *lu = item->scratch + view->at, *u = item->scratch + plan->at[2];
    int64_t k = count_of(plan);
    bp__lapack_factor(plan, item, view, false, pivots, info);
    if (*info < 0) {
        return BP_OK;
    }
    *info = 0; /* a singular matrix has factors too */
    write_permutation(plan, item, pivots, (int64_t *)(void *)(item->scratch + plan->at[1]));
    plan->driver->host->copy_matrix(plan->dtype, k, view->columns, u, 1, k, lu, 1, view->ld, 0);
    bp__lapack_clear(plan, k, view->columns, u, k, BP__LAPACK_STRICTLY_LOWER, false);
    bp__lapack_write(plan, item, 3, k, view->columns, u, k);
    bp__lapack_clear(plan, view->rows, k, lu, view->ld, BP__LAPACK_UPPER, true);
    bp__lapack_write(plan, item, 2, view->rows, k, lu, view->ld);
    return BP_OK;
}

const bp__lapack_operation bp__lapack_lu = {
    .algorithm = "getrf",
    .routines = {BP__LAPACK_getrf},
    .routine_count = 1,
    .prepare = prepare_lu,
    .run = run_lu,
    .work = bp__lapack_work_lu,
};

/* ---- lu_solve ---- */

/* Solves X op(A) = B as op(A)^T X^T = B^T, so that a row-major X is written in place. The transpose of A^H is the
 * conjugate of A, for which there is no routine. So the right side and the solution are conjugated instead. */
static bp_status prepare_lu_solve(bp__lapack_plan *plan) {
    const bp_linalg_problem *l = &plan->problem.of.linalg;
    bool conjugates = plan->complex && !l->a_on_left && l->adjoint;
    bool transposes = (l->a_on_left && l->adjoint) || (!l->a_on_left && !l->adjoint);
    plan->letter[0] = !transposes ? 'N' : l->a_on_left && plan->complex ? 'C' : 'T';
    plan->view[LU_VIEW] = bp__lapack_place(plan, 0, false);
    plan->view[SOLUTION_VIEW] =
        conjugates ? bp__lapack_place_in_scratch(plan, 3, true, true) : bp__lapack_place(plan, 3, !l->a_on_left);
    plan->at[0] = bp__lapack_reserve(plan, l->n, plan->integer);
    return BP_OK;
}

static bp_status run_lu_solve(const bp__lapack_plan *plan, bp__lapack_item *item, int64_t *info) {
    const bp__lapack_view *lu = &plan->view[LU_VIEW], *x = &plan->view[SOLUTION_VIEW];
    bool left = plan->problem.of.linalg.a_on_left;
    void *pivots = item->scratch + plan->at[0], *b = bp__lapack_address(x, item);
    if (!item->again[1]) {
        bp__lapack_read_pivots(plan, item, pivots);
    }
    bool fine = (item->again[0] && !lu->in_place) || bp__lapack_load(plan, item, lu, 0, false, BP__LAPACK_WHOLE);
    if (!fine || !bp__lapack_load(plan, item, x, 2, !left, BP__LAPACK_WHOLE)) {
        *info = BP__LAPACK_NON_FINITE;
        return BP_OK;
    }
    bp__lapack_getrs(plan, plan->letter[0], lu, bp__lapack_address(lu, item), pivots, x, b, info);
    bp__lapack_store(plan, item, x);
    return BP_OK;
}

static double work_lu_solve(const bp_linalg_problem *problem) {
    return 2 * (double)problem->n * (double)problem->n * (double)problem->k;
}

const bp__lapack_operation bp__lapack_lu_solve = {
    .algorithm = "getrs",
    .routines = {BP__LAPACK_getrs},
    .routine_count = 1,
    .prepare = prepare_lu_solve,
    .run = run_lu_solve,
    .work = work_lu_solve,
};
