/* norm.c - computes norms of matrices from the sums of each rank, with NaN and infinity as in ordinary arithmetic. */
#include "providers/scalapack/scalapack.h"

#include <math.h>

static bool is_column_norm(const bp_linalg_problem *l) {
    return fabs(l->order) == 1;
}

static const char *refuse_norm(const bp_problem *problem, const bp_dist_place *place) {
    (void)place;
    const bp_linalg_problem *l = &problem->of.linalg;
    return l->mode == BP_NORM_FRO || (l->mode == BP_NORM_P && (fabs(l->order) == 1 || isinf(l->order)))
               ? NULL
               : "norms of singular values";
}

/* A sum for each column or row of the whole matrix. */
static size_t work_norm(const bp__scalapack_plan *plan) {
    const bp_linalg_problem *l = &plan->problem.of.linalg;
    const int64_t sums = l->mode == BP_NORM_FRO ? 1 : is_column_norm(l) ? l->n : l->m;
    return ((size_t)sums + 1) * sizeof(double);
}

/* Returns the absolute value of element (i, j) of the local part. */
static double magnitude(const bp__scalapack_call *call, int64_t i, int64_t j) {
    const bp_dist_view *view = call->view[0];
    const void *at = (const char *)view->local + (size_t)(i + j * view->leading) * call->item;
    const float *f = at;
    const double *d = at;
    switch (call->plan->problem.dtype) {
    case BP_F32:
        return fabs((double)f[0]);
    case BP_C64:
        return hypot((double)f[0], (double)f[1]);
    case BP_F64:
        return fabs(d[0]);
    default:
        return hypot(d[0], d[1]);
    }
}

static void write_norm(const bp__scalapack_call *call, double value) {
    const uint32_t dtype = call->plan->problem.dtype;
    void *to = call->view[1]->local;
    if (dtype == BP_F64 || dtype == BP_C128) {
        *(double *)to = value;
    } else {
        *(float *)to = (float)value;
    }
}

/* Sets found[0] to the largest finite or infinite element of all ranks, found[1] to whether there is a NaN. */
static bp_status find_largest(const bp__scalapack_call *call, double found[2]) {
    const bp_dist_view *view = call->view[0];
    found[0] = found[1] = 0;
    for (int64_t j = 0; j < view->columns; j++) {
        for (int64_t i = 0; i < view->rows; i++) {
            const double x = magnitude(call, i, j);
            found[0] = x > found[0] ? x : found[0];
            found[1] = isnan(x) ? 1 : found[1];
        }
    }
    return call->place->largest(call->place, found, 2);
}

/* Elements are divided by the largest one, so that no square overflows. */
static bp_status run_frobenius(const bp__scalapack_call *call) {
    const bp_dist_view *view = call->view[0];
    double found[2], sum = 0;
    bp_status status = find_largest(call, found);
    if (status != BP_OK || found[1] > 0 || found[0] == 0 || isinf(found[0])) {
        write_norm(call, found[1] > 0 ? (double)NAN : found[0]);
        return status;
    }
    for (int64_t j = 0; j < view->columns; j++) {
        for (int64_t i = 0; i < view->rows; i++) {
            const double x = magnitude(call, i, j) / found[0];
            sum += x * x;
        }
    }
    status = call->place->sum(call->place, &sum, 1);
    write_norm(call, found[0] * sqrt(sum));
    return status;
}

static bp_status run_sums(const bp__scalapack_call *call, bool columns) {
    const bp_linalg_problem *l = &call->plan->problem.of.linalg;
    const bp_dist_view *view = call->view[0];
    const bp_dist_place *place = call->place;
    double *sums = (double *)(void *)call->work;
    const int64_t count = columns ? l->n : l->m;
    memset(sums, 0, (size_t)count * sizeof *sums);
    for (int64_t j = 0; j < view->columns; j++) {
        for (int64_t i = 0; i < view->rows; i++) {
            sums[columns ? bp_dist_to_global(place->dist, 1, place->at[1], j)
                         : bp_dist_to_global(place->dist, 0, place->at[0], i)] += magnitude(call, i, j);
        }
    }
    const bp_status status = place->sum(place, sums, (int)count);
    double result = sums[0];
    for (int64_t i = 0; i < count && !isnan(result); i++) {
        const bool further = l->order > 0 ? sums[i] > result : sums[i] < result;
        result = further || isnan(sums[i]) ? sums[i] : result;
    }
    write_norm(call, result);
    return status;
}

static bp_status run_norm(bp__scalapack_call *call, int *info) {
    const bp_linalg_problem *l = &call->plan->problem.of.linalg;
    *info = 0;
    if (l->empty) {
        write_norm(call, 0);
        return BP_OK;
    }
    return l->mode == BP_NORM_FRO ? run_frobenius(call) : run_sums(call, is_column_norm(l));
}

const bp__scalapack_operation bp__scalapack_matrix_norm = {
    .op = BP_OP_MATRIX_NORM,
    .algorithm = "sums",
    .any_blocks = true,
    .takes_empty = true,
    .inputs = 1,
    .matrices = 0x1,
    .refuse = refuse_norm,
    .work = work_norm,
    .run = run_norm,
    .model = bp__scalapack_model_norm,
};
