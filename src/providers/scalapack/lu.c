/* lu.c - computes lu_factor, lu_solve and solve.
 *
 * Pivots are a vector that every rank has whole, as in LAPACK. ScaLAPACK has them in parts, with the rows. */
#include "providers/scalapack/scalapack.h"

/* The routine keeps the pivots of the local rows, and of one block more. */
static size_t pivot_bytes(const bp__scalapack_plan *plan) {
    const bp_dist_place *place = plan->place;
    const int64_t count = bp__scalapack_own(place, 0, plan->problem.of.linalg.m) + place->dist->block[0];
    return ((size_t)count * sizeof(int) + 63) / 64 * 64;
}

static bool is_zero(const bp__scalapack_call *call, const void *at) {
    const uint32_t dtype = call->plan->problem.dtype;
    const float *f = at;
    const double *d = at;
    switch (dtype) {
    case BP_F32:
    case BP_C64:
        return f[0] == 0 && (dtype == BP_F32 || f[1] == 0);
    default:
        return d[0] == 0 && (dtype == BP_F64 || d[1] == 0);
    }
}

/* Returns the number of the first row of the whole matrix whose element on the diagonal is zero, from 0; `count`: none
 * on this rank. */
static int64_t find_zero(const bp__scalapack_call *call, const bp__scalapack_matrix *u, int64_t count) {
    const bp_dist_place *place = call->place;
    for (int64_t j = 0; j < u->columns; j++) {
        const int64_t column = bp_dist_to_global(place->dist, 1, place->at[1], j);
        int position;
        const int64_t i = bp_dist_to_local(place->dist, 0, column, &position);
        if (column < count && position == place->at[0] &&
            is_zero(call, (const char *)u->local + (size_t)(i + j * u->leading) * call->item)) {
            return column;
        }
    }
    return count;
}

/* MKL's p?getrf returns 0, or another number, for most singular matrices with several blocks. Sets LAPACK's. */
static bp_status correct_info(const bp__scalapack_call *call, const bp__scalapack_matrix *factors, int *info) {
    const bp_linalg_problem *l = &call->plan->problem.of.linalg;
    const int64_t count = bp__least(l->m, l->n);
    if (!call->plan->instance->library || *info < 0) {
        return BP_OK;
    }
    double left = (double)(count - find_zero(call, factors, count));
    const bp_status status = call->place->largest(call->place, &left, 1);
    *info = left > 0 ? (int)(count - (int64_t)left) + 1 : 0;
    return status;
}

/* ---- lu_factor ---- */

static size_t work_factor(const bp__scalapack_plan *plan) {
    const bp_linalg_problem *l = &plan->problem.of.linalg;
    return pivot_bytes(plan) + (size_t)bp__least(l->m, l->n) * sizeof(double);
}

/* Gathers the pivots. The ranks of the first column of the grid tell their parts. */
static bp_status gather_pivots(const bp__scalapack_call *call, const int *local, double *all) {
    const bp_linalg_problem *l = &call->plan->problem.of.linalg;
    const bp_dist_place *place = call->place;
    const int64_t count = bp__least(l->m, l->n), own = bp__scalapack_own(place, 0, count);
    int32_t *pivots = call->view[2]->local;
    memset(all, 0, (size_t)count * sizeof *all);
    for (int64_t i = 0; i < own && place->at[1] == 0; i++) {
        all[bp_dist_to_global(place->dist, 0, place->at[0], i)] = local[i];
    }
    const bp_status status = place->sum(place, all, (int)count);
    for (int64_t i = 0; i < count && status == BP_OK; i++) {
        pivots[i] = (int32_t)all[i];
    }
    return status;
}

static bp_status run_factor(bp__scalapack_call *call, int *info) {
    const bp_linalg_problem *l = &call->plan->problem.of.linalg;
    const bp__scalapack_matrix factors = bp__scalapack_operand(call, 1);
    const int m = (int)l->m, n = (int)l->n;
    int *pivots = (int *)(void *)call->work;
    bp__scalapack_copy(call, &factors, 0);
    BP__SCALAPACK_ROUTINE(call, 0, const int *, const int *, BP__SCALAPACK_MATRIX, int *, int *)
    (&m, &n, BP__SCALAPACK_PASS(factors), pivots, info);
    const bp_status status = correct_info(call, &factors, info);
    return status != BP_OK ? status
                           : gather_pivots(call, pivots, (double *)(void *)(call->work + pivot_bytes(call->plan)));
}

const bp__scalapack_operation bp__scalapack_lu_factor = {
    .op = BP_OP_LU_FACTOR,
    .algorithm = "getrf",
    .real = {"getrf"},
    .inputs = 1,
    .info = 3,
    .matrices = 0x3,
    .whole = 1,
    .work = work_factor,
    .is_bounded = true,
    .run = run_factor,
    .model = bp__scalapack_model_lu,
};

/* ---- lu_solve ---- */

static const char *refuse_right(const bp_problem *problem, const bp_dist_place *place) {
    (void)place;
    return problem->of.linalg.a_on_left ? NULL : "unknowns on the left (X A = B)";
}

/* The pivots of this rank's rows. Returns false if one is no row, which would be an access outside of the matrix. */
static bool take_pivots(const bp__scalapack_call *call, int *local) {
    const bp_dist_place *place = call->place;
    const int64_t n = call->plan->problem.of.linalg.n, own = bp__scalapack_own(place, 0, n);
    const int32_t *pivots = call->view[1]->local;
    bool right = true;
    for (int64_t i = 0; i < n; i++) {
        right = right && pivots[i] >= 1 && pivots[i] <= n;
    }
    for (int64_t i = 0; i < own && right; i++) {
        local[i] = pivots[bp_dist_to_global(place->dist, 0, place->at[0], i)];
    }
    return right;
}

static bp_status run_solve(bp__scalapack_call *call, int *info) {
    const bp_linalg_problem *l = &call->plan->problem.of.linalg;
    const bool complex = bp__scalapack_is_complex(&call->plan->problem);
    const bp__scalapack_matrix factors = bp__scalapack_operand(call, 0), x = bp__scalapack_operand(call, 3);
    const int n = (int)l->n, k = (int)l->k;
    int *pivots = (int *)(void *)call->work;
    double wrong = !take_pivots(call, pivots);
    bp_status status = call->place->largest(call->place, &wrong, 1);
    if (status != BP_OK || wrong > 0) {
        return status != BP_OK ? status
                               : call->host->fail(BP_E_ARGUMENT, "lu_solve: a pivot is not between 1 and %d", n);
    }
    bp__scalapack_copy(call, &x, 2);
    BP__SCALAPACK_ROUTINE(call, 0, const char *, const int *, const int *, BP__SCALAPACK_MATRIX, const int *,
                          BP__SCALAPACK_MATRIX, int *, size_t)
    (!l->adjoint ? "N"
     : complex   ? "C"
                 : "T",
     &n, &k, BP__SCALAPACK_PASS(factors), pivots, BP__SCALAPACK_PASS(x), info, 1);
    return BP_OK;
}

const bp__scalapack_operation bp__scalapack_lu_solve = {
    .op = BP_OP_LU_SOLVE,
    .algorithm = "getrs",
    .real = {"getrs"},
    .inputs = 3,
    .matrices = 0xd,
    .whole = 1 | 4,
    .refuse = refuse_right,
    .work = pivot_bytes,
    .run = run_solve,
    .model = bp__scalapack_model_lu_solve,
};

/* ---- solve ---- */

static size_t work_solve(const bp__scalapack_plan *plan) {
    const int64_t n = plan->problem.of.linalg.n;
    const int64_t elements = bp__scalapack_own(plan->place, 0, n) * bp__scalapack_own(plan->place, 1, n);
    return pivot_bytes(plan) + (size_t)elements * bp__scalapack_item(&plan->problem);
}

static bp_status run_both(bp__scalapack_call *call, int *info) {
    const bp_linalg_problem *l = &call->plan->problem.of.linalg;
    const bp__scalapack_matrix factors = bp__scalapack_in(call, call->work + pivot_bytes(call->plan), l->n, l->n);
    const bp__scalapack_matrix x = bp__scalapack_operand(call, 2);
    const int n = (int)l->n, k = (int)l->k;
    bp__scalapack_copy(call, &factors, 0);
    bp__scalapack_copy(call, &x, 1);
    BP__SCALAPACK_ROUTINE(call, 0, const int *, const int *, BP__SCALAPACK_MATRIX, int *, BP__SCALAPACK_MATRIX, int *)
    (&n, &k, BP__SCALAPACK_PASS(factors), (int *)(void *)call->work, BP__SCALAPACK_PASS(x), info);
    return correct_info(call, &factors, info);
}

const bp__scalapack_operation bp__scalapack_solve = {
    .op = BP_OP_SOLVE,
    .algorithm = "gesv",
    .real = {"gesv"},
    .inputs = 2,
    .info = 3,
    .matrices = 0x7,
    .whole = 1 | 2,
    .refuse = refuse_right,
    .work = work_solve,
    .is_bounded = true,
    .run = run_both,
    .model = bp__scalapack_model_solve,
};

/* ---- inv ---- */

static void call_inverse(bp__scalapack_call *call, const bp__scalapack_matrix *a, void *work, const int *work_count,
                         int *integers, const int *integer_count, int *info) {
    const int n = (int)call->plan->problem.of.linalg.n;
    BP__SCALAPACK_ROUTINE(call, 1, const int *, BP__SCALAPACK_MATRIX, int *, void *, const int *, int *, const int *,
                          int *)
    (&n, BP__SCALAPACK_PASS(*a), (int *)(void *)call->work, work, work_count, integers, integer_count, info);
}

static bp_status run_inverse(bp__scalapack_call *call, int *info) {
    const bp_linalg_problem *l = &call->plan->problem.of.linalg;
    const bool complex = bp__scalapack_is_complex(&call->plan->problem);
    const bp__scalapack_matrix a = bp__scalapack_operand(call, 1);
    const int n = (int)l->n, ask = -1;
    double asked[4] = {0};
    int work_count, integers_asked[4] = {0};
    void *work, *integers;
    bp__scalapack_copy(call, &a, 0);
    BP__SCALAPACK_ROUTINE(call, 0, const int *, const int *, BP__SCALAPACK_MATRIX, int *, int *)
    (&n, &n, BP__SCALAPACK_PASS(a), (int *)(void *)call->work, info);
    const bp_status factored = correct_info(call, &a, info);
    if (factored != BP_OK || *info != 0) {
        return factored;
    }
    call_inverse(call, &a, asked, &ask, integers_asked, &ask, info);
    const int integer_count = integers_asked[0];
    bp_status status = bp__scalapack_take_asked(call, asked, 0, complex, &work_count, &work);
    status = status == BP_OK ? bp__scalapack_take(call, (size_t)integer_count * sizeof(int), &integers) : status;
    if (status == BP_OK) {
        call_inverse(call, &a, work, &work_count, integers, &integer_count, info);
    }
    return status;
}

const bp__scalapack_operation bp__scalapack_inv = {
    .op = BP_OP_INV,
    .algorithm = "getri",
    .real = {"getrf", "getri"},
    .inputs = 1,
    .info = 2,
    .matrices = 0x3,
    .whole = 1,
    .work = pivot_bytes,
    .is_bounded = true,
    .run = run_inverse,
    .model = bp__scalapack_model_inv,
};
