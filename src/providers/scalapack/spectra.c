/* spectra.c - computes eigh and svd. Both destroy the matrix, so that they get a copy. */
#include "providers/scalapack/scalapack.h"

static size_t matrix_bytes(const bp__scalapack_plan *plan) {
    const bp_linalg_problem *l = &plan->problem.of.linalg;
    const int64_t elements = bp__scalapack_own(plan->place, 0, l->m) * bp__scalapack_own(plan->place, 1, l->n);
    return ((size_t)elements * bp__scalapack_item(&plan->problem) + 63) / 64 * 64;
}

/* Answers of a routine that is asked for the lengths of its workspaces. */
typedef struct answers {
    double work[4], reals[4];
    int integers[4];
} answers;

/* ---- eigh ---- */

/* The copy of the matrix, and the vectors if the program does not want them: the routine always computes them. */
static size_t work_eigh(const bp__scalapack_plan *plan) {
    return matrix_bytes(plan) * (plan->problem.of.linalg.operand[2].dtype ? 1 : 2);
}

typedef struct eigh {
    bp__scalapack_matrix a, v;
    void *values;
} eigh;

static void call_eigh(bp__scalapack_call *call, const eigh *e, void *work, const int *work_count, void *reals,
                      const int *real_count, int *integers, const int *integer_count, int *info) {
    const bp_linalg_problem *l = &call->plan->problem.of.linalg;
    const char *uplo = l->upper ? "U" : "L";
    const int n = (int)l->n;
    if (bp__scalapack_is_complex(&call->plan->problem)) {
        BP__SCALAPACK_ROUTINE(call, 0, const char *, const char *, const int *, BP__SCALAPACK_MATRIX, void *,
                              BP__SCALAPACK_MATRIX, void *, const int *, void *, const int *, int *, const int *, int *,
                              size_t, size_t)
        ("V", uplo, &n, BP__SCALAPACK_PASS(e->a), e->values, BP__SCALAPACK_PASS(e->v), work, work_count, reals,
         real_count, integers, integer_count, info, 1, 1);
    } else {
        BP__SCALAPACK_ROUTINE(call, 0, const char *, const char *, const int *, BP__SCALAPACK_MATRIX, void *,
                              BP__SCALAPACK_MATRIX, void *, const int *, int *, const int *, int *, size_t, size_t)
        ("V", uplo, &n, BP__SCALAPACK_PASS(e->a), e->values, BP__SCALAPACK_PASS(e->v), work, work_count, integers,
         integer_count, info, 1, 1);
    }
}

/* Returns the elements of the workspace of p?ormtr, which syevd calls. It forgets to ask for them, and then returns
 * wrong vectors with info 0. */
static double forgotten(const bp__scalapack_call *call) {
    const bp_linalg_problem *l = &call->plan->problem.of.linalg;
    const double block = call->place->dist->block[0], n = (double)l->n;
    const double parts = (double)(bp__scalapack_most(call->place, 0, l->n) + bp__scalapack_most(call->place, 1, l->n));
    return (parts + 2 * block) * block + 2 * block * block + 6 * n;
}

static bp_status run_eigh(bp__scalapack_call *call, int *info) {
    const bp_linalg_problem *l = &call->plan->problem.of.linalg;
    answers asked = {{0}, {0}, {0}};
    const int ask = -1;
    void *work, *reals = NULL, *integers;
    int work_count, real_count = 0;
    eigh e = {.a = bp__scalapack_in(call, call->work, l->n, l->n), .values = call->view[1]->local};
    e.v = call->view[2] ? bp__scalapack_operand(call, 2)
                        : bp__scalapack_in(call, call->work + matrix_bytes(call->plan), l->n, l->n);
    bp__scalapack_copy(call, &e.a, 0);
    call_eigh(call, &e, asked.work, &ask, asked.reals, &ask, asked.integers, &ask, info);
    const int integer_count = asked.integers[0];
    bp_status status = bp__scalapack_take_asked(call, asked.work, forgotten(call),
                                                bp__scalapack_is_complex(&call->plan->problem), &work_count, &work);
    if (status == BP_OK && bp__scalapack_is_complex(&call->plan->problem)) {
        status = bp__scalapack_take_asked(call, asked.reals, forgotten(call), false, &real_count, &reals);
    }
    status = status == BP_OK ? bp__scalapack_take(call, (size_t)integer_count * sizeof(int), &integers) : status;
    if (status == BP_OK) {
        call_eigh(call, &e, work, &work_count, reals, &real_count, integers, &integer_count, info);
    }
    return status;
}

const bp__scalapack_operation bp__scalapack_eigh = {
    .op = BP_OP_EIGH,
    .algorithm = "syevd",
    .real = {"syevd"},
    .other = {"heevd"},
    .inputs = 1,
    .matrices = 0x5,
    .at_origin = true,
    .triangle = 1,
    .work = work_eigh,
    .run = run_eigh,
    .model = bp__scalapack_model_eigh,
};

/* ---- svd ---- */

/* Ranks without a row of U and a column of Vh compute the values by another algorithm, so that ranks get different
 * ones. */
static const char *refuse_svd(const bp_problem *problem, const bp_dist_place *place) {
    const bp_linalg_problem *l = &problem->of.linalg;
    const bool left = l->operand[1].dtype, right = l->operand[3].dtype;
    if (l->mode == BP_SVD_FULL && l->m != l->n && (left || right)) {
        return "whole matrices of singular vectors (full_matrices)";
    }
    return (left || right) && bp__most(left ? l->m : 0, right ? l->n : 0) < place->size
               ? "singular vectors of matrices with fewer rows and columns than ranks"
               : NULL;
}

typedef struct svd {
    bp__scalapack_matrix a, u, vh;
    void *values;
    bool left, right; /* whether the vectors are wanted */
} svd;

static void call_svd(bp__scalapack_call *call, const svd *s, void *work, const int *work_count, void *reals,
                     int *info) {
    const bp_linalg_problem *l = &call->plan->problem.of.linalg;
    const char *left = s->left ? "V" : "N", *right = s->right ? "V" : "N";
    const int m = (int)l->m, n = (int)l->n;
    if (bp__scalapack_is_complex(&call->plan->problem)) {
        BP__SCALAPACK_ROUTINE(call, 0, const char *, const char *, const int *, const int *, BP__SCALAPACK_MATRIX,
                              void *, BP__SCALAPACK_MATRIX, BP__SCALAPACK_MATRIX, void *, const int *, void *, int *,
                              size_t, size_t)
        (left, right, &m, &n, BP__SCALAPACK_PASS(s->a), s->values, BP__SCALAPACK_PASS(s->u), BP__SCALAPACK_PASS(s->vh),
         work, work_count, reals, info, 1, 1);
    } else {
        BP__SCALAPACK_ROUTINE(call, 0, const char *, const char *, const int *, const int *, BP__SCALAPACK_MATRIX,
                              void *, BP__SCALAPACK_MATRIX, BP__SCALAPACK_MATRIX, void *, const int *, int *, size_t,
                              size_t)
        (left, right, &m, &n, BP__SCALAPACK_PASS(s->a), s->values, BP__SCALAPACK_PASS(s->u), BP__SCALAPACK_PASS(s->vh),
         work, work_count, info, 1, 1);
    }
}

static bp_status run_svd(bp__scalapack_call *call, int *info) {
    const bp_linalg_problem *l = &call->plan->problem.of.linalg;
    const int64_t k = bp__least(l->m, l->n), most = bp__most(l->m, l->n);
    answers asked = {{0}, {0}, {0}};
    const int ask = -1;
    void *work, *reals = NULL;
    int work_count;
    svd s = {.a = bp__scalapack_in(call, call->work, l->m, l->n),
             .values = call->view[2]->local,
             .left = call->view[1] != NULL,
             .right = call->view[3] != NULL};
    s.u = s.left ? bp__scalapack_operand(call, 1) : bp__scalapack_in(call, NULL, l->m, k);
    s.vh = s.right ? bp__scalapack_operand(call, 3) : bp__scalapack_in(call, NULL, k, l->n);
    bp__scalapack_copy(call, &s.a, 0);
    call_svd(call, &s, asked.work, &ask, asked.reals, info);
    bp_status status = bp__scalapack_take_asked(call, asked.work, 0, bp__scalapack_is_complex(&call->plan->problem),
                                                &work_count, &work);
    if (status == BP_OK && bp__scalapack_is_complex(&call->plan->problem)) { /* as the routine's description says */
        status = bp__scalapack_take(call, (size_t)(1 + 4 * most) * call->item / 2, &reals);
    }
    if (status == BP_OK) {
        call_svd(call, &s, work, &work_count, reals, info);
    }
    return status;
}

const bp__scalapack_operation bp__scalapack_svd = {
    .op = BP_OP_SVD,
    .algorithm = "gesvd",
    .real = {"gesvd"},
    .inputs = 1,
    .matrices = 0xb,
    .at_origin = true,
    .whole = 1,
    .refuse = refuse_svd,
    .work = matrix_bytes,
    .run = run_svd,
    .model = bp__scalapack_model_svd,
};
