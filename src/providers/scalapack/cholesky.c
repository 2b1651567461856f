/* cholesky.c - computes cholesky and cholesky_solve. */
#include "providers/scalapack/scalapack.h"

static const char *uplo_of(const bp__scalapack_call *call) {
    return call->plan->problem.of.linalg.upper ? "U" : "L";
}

static bp_status run_factor(bp__scalapack_call *call, int *info) {
    const bp_linalg_problem *l = &call->plan->problem.of.linalg;
    const bp__scalapack_matrix factor = bp__scalapack_operand(call, 1);
    const int n = (int)l->n;
    bp__scalapack_copy(call, &factor, 0);
    BP__SCALAPACK_ROUTINE(call, 0, const char *, const int *, BP__SCALAPACK_MATRIX, int *, size_t)
    (uplo_of(call), &n, BP__SCALAPACK_PASS(factor), info, 1);
    bp__scalapack_clear(call, &factor, !l->upper);
    return BP_OK;
}

const bp__scalapack_operation bp__scalapack_cholesky = {
    .op = BP_OP_CHOLESKY,
    .algorithm = "potrf",
    .real = {"potrf"},
    .inputs = 1,
    .info = 2,
    .matrices = 0x3,
    .triangle = 1,
    .is_bounded = true,
    .run = run_factor,
    .model = bp__scalapack_model_cholesky,
};

static bp_status run_solve(bp__scalapack_call *call, int *info) {
    const bp_linalg_problem *l = &call->plan->problem.of.linalg;
    const bp__scalapack_matrix factor = bp__scalapack_operand(call, 1), x = bp__scalapack_operand(call, 2);
    const int n = (int)l->n, k = (int)l->k;
    bp__scalapack_copy(call, &x, 0);
    BP__SCALAPACK_ROUTINE(call, 0, const char *, const int *, const int *, BP__SCALAPACK_MATRIX, BP__SCALAPACK_MATRIX,
                          int *, size_t)
    (uplo_of(call), &n, &k, BP__SCALAPACK_PASS(factor), BP__SCALAPACK_PASS(x), info, 1);
    return BP_OK;
}

const bp__scalapack_operation bp__scalapack_cholesky_solve = {
    .op = BP_OP_CHOLESKY_SOLVE,
    .algorithm = "potrs",
    .real = {"potrs"},
    .inputs = 2,
    .matrices = 0x7,
    .whole = 1,
    .triangle = 2,
    .run = run_solve,
    .model = bp__scalapack_model_cholesky_solve,
};
