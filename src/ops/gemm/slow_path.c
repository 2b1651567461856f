/* slow_path.c - makes the problem of a product and runs it, for bp_matmul and bp_gemm. */
#include "ops/gemm/gemm.h"

#include "tensor/internal.h"

bp_status bp__gemm_make(bp_problem *problem, const void *asked) {
    const bp__call_request *request = asked;
    const bp__call_operand *operand = request->described->passes->operand;
    problem->op = BP_OP_GEMM;
    BP__TRY(request->described == &bp__gemm_call ? bp__gemm_fill(problem, request->call, request->data_optional)
                                                 : bp__matmul_fill(problem, request->call, request->data_optional));
    bp_dtype types[BP__OPERANDS];
    for (int i = 0; i < BP__OPERANDS; i++) {
        types[i] = bp_dtype_from_dlpack(bp__call_tensor(request->call, &operand[i])->dtype);
    }
    problem->dtype = (uint32_t)types[0];
    problem->of.gemm.b_type = types[1] == types[0] ? 0 : (uint8_t)types[1];
    problem->of.gemm.c_type = types[2] == types[0] ? 0 : (uint8_t)types[2];
    return BP_OK;
}

bp_status bp__gemm_run(const bp__call_request *request, bp__call *call, const bp_scalar *scalars) {
    bp_problem problem;
    const bp_status status = bp__problem_make(&problem, &bp__family_gemm, request);
    if (status != BP_OK) {
        return bp__distributed_conclude(&problem, NULL, status);
    }
    if (bp__tensor_elements(call->tensors[BP__OPERANDS - 1]) == 0) {
        bp__thread.last_serial = BP__NO_PLAN_RAN;
        return bp__distributed_conclude(&problem, NULL, BP_OK);
    }
    return bp__call_plan_and_run(call, &problem, scalars);
}
