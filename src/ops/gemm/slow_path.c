/* slow_path.c - makes the problem of a product and runs it, for bp_matmul and bp_gemm. */
#include "ops/gemm/gemm.h"

#include "tensor/internal.h"

bp_status bp__gemm_make(bp_problem *problem, const void *request) {
    const bp__gemm_request *r = request;
    problem->op = BP_OP_GEMM;
    BP__TRY(r->gemm ? bp__gemm_fill(problem, r) : bp__matmul_fill(problem, r));
    const bp_dtype dtype = bp_dtype_from_dlpack(r->tensors[0]->dtype),
                   of_b = bp_dtype_from_dlpack(r->tensors[1]->dtype), of_c = bp_dtype_from_dlpack(r->tensors[2]->dtype);
    problem->dtype = (uint32_t)dtype;
    problem->of.gemm.b_type = of_b == dtype ? 0 : (uint8_t)of_b;
    problem->of.gemm.c_type = of_c == dtype ? 0 : (uint8_t)of_c;
    return BP_OK;
}

bp_status bp__gemm_run(const bp__gemm_request *request, bp__call *call, const bp_scalar *scalars) {
    bp_problem problem;
    BP__TRY(bp__problem_make(&problem, &bp__family_gemm, request));
    if (bp__tensor_elements(call->tensors[BP__OPERANDS - 1]) == 0) {
        bp__thread.last_serial = BP__NO_PLAN_RAN;
        return BP_OK;
    }
    return bp__call_plan_and_run(call, &problem, scalars);
}
