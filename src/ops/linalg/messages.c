/* messages.c - makes the error message for a failed item of a linear-algebra call, for all providers.
 *
 * The meaning of LAPACK's info depends on the operation. The text follows torch.linalg. */
#include "ops/linalg/linalg.h"

#include <inttypes.h>
#include <stdio.h>

static bp_status meaning(const bp_problem *problem, int64_t info, char *text, size_t size) {
    const bp_linalg_problem *l = &problem->of.linalg;
    if (info == BP_INFO_NON_FINITE) {
        snprintf(text, size, "the input contains NaN or infinity");
        return BP_E_NON_FINITE;
    }
    if (info < 0) {
        snprintf(text, size, "the library reported an illegal value in argument %" PRId64, -info);
        return BP_E_INTERNAL;
    }
    switch ((bp_op)problem->op) {
    case BP_OP_INV:
    case BP_OP_CHOLESKY_INVERSE:
        snprintf(text, size,
                 "the diagonal element %" PRId64 " is zero, the inversion could not be completed because the "
                 "input matrix is singular",
                 info);
        return BP_E_SINGULAR;
    case BP_OP_SOLVE:
        snprintf(text, size,
                 "the solver failed because the input matrix is singular (diagonal element %" PRId64 " is zero)", info);
        return BP_E_SINGULAR;
    case BP_OP_LU_FACTOR:
        snprintf(text, size,
                 "U[%" PRId64 ",%" PRId64 "] is zero, and using it in lu_solve would divide by zero; "
                 "lu and lu_factor_ex accept such a matrix",
                 info, info);
        return BP_E_SINGULAR;
    case BP_OP_LDL_FACTOR:
        snprintf(text, size,
                 "the block of D at [%" PRId64 ",%" PRId64 "] is zero, and using it in ldl_solve would divide by zero; "
                 "ldl_factor_ex accepts such a matrix",
                 info, info);
        return BP_E_SINGULAR;
    case BP_OP_CHOLESKY:
        snprintf(text, size,
                 "the input is not positive-definite (the leading minor of order %" PRId64 " is not positive-definite)",
                 info);
        return BP_E_NOT_POSITIVE_DEFINITE;
    case BP_OP_LSTSQ:
        if (l->mode == BP_LSTSQ_GELS) {
            snprintf(text, size,
                     "the input has no full rank (diagonal element %" PRId64 " of its triangular factor is "
                     "zero)",
                     info);
            return BP_E_SINGULAR;
        }
        break;
    default:
        break;
    }
    snprintf(text, size,
             "the algorithm failed to converge because the input matrix is ill-conditioned or has too many "
             "repeated values (error code: %" PRId64 ")",
             info);
    return BP_E_NOT_CONVERGED;
}

bp_status bp__linalg_fail_item(const bp_problem *problem, int64_t item, int64_t info) {
    char text[256], where[64] = "";
    bp_status status = meaning(problem, info, text, sizeof text);
    if (problem->of.linalg.batch_ndim > 0) {
        snprintf(where, sizeof where, "(Batch element %" PRId64 "): ", item);
    }
    return bp__fail(status, "linalg.%s: %s%s", bp_op_name((bp_op)problem->op), where, text);
}
