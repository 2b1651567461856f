/* request.c - the long way of a product: problem, then plan or explanation. Shared by bp_matmul and bp_gemm. */
#include "ops/gemm.h"

#include "tensor/internal.h"

#include <string.h>

static bp_status make_problem(bp_problem *problem, const bp__request *request,
                              const DLTensor *const tensors[BP__OPERANDS], bool data_optional) {
    memset(problem, 0, sizeof *problem);
    problem->struct_size = sizeof *problem;
    problem->op = BP_OP_GEMM;
    BP__TRY(request->problem(problem, request, tensors, data_optional));
    problem->dtype = (uint32_t)bp_dtype_from_dlpack(tensors[0]->dtype);
    bp__policy_resolve(&problem->policy, BP_OP_GEMM);
    return BP_OK;
}

bp_status bp__request_run(const bp__request *request, bp__call *call, const bp_scalar *scalars) {
    bp_problem problem;
    BP__TRY(make_problem(&problem, request, call->tensors, false));
    if (bp__tensor_elements(call->tensors[BP__OPERANDS - 1]) == 0) {
        bp__thread.last_serial = BP__NO_PLAN_RAN;
        return BP_OK;
    }
    return bp__call_plan_and_run(call, &problem, scalars);
}

bp_status bp__request_plan(bp_plan **plan, const bp_options *options, const bp__request *request, const DLTensor *a,
                           const DLTensor *b, const DLTensor *c) {
    if (!plan) {
        return bp__fail(BP_E_ARGUMENT, "plan must not be NULL");
    }
    *plan = NULL;
    const DLTensor *const tensors[BP__OPERANDS] = {a, b, c};
    bp__call_scope scope;
    bp__call_enter(&scope, options);
    bp_problem problem;
    bp_status status = make_problem(&problem, request, tensors, true);
    if (status == BP_OK) {
        bool fresh;
        status = bp__cache_get(plan, &problem, &fresh);
    }
    bp__call_leave(&scope);
    return status;
}

bp_status bp__request_explain(bp_explanation **explanation, const bp_options *options, const bp__request *request,
                              const DLTensor *a, const DLTensor *b, const DLTensor *c) {
    if (!explanation) {
        return bp__fail(BP_E_ARGUMENT, "explanation must not be NULL");
    }
    *explanation = NULL;
    const DLTensor *const tensors[BP__OPERANDS] = {a, b, c};
    bp__call_scope scope;
    bp__call_enter(&scope, options);
    bp_problem problem;
    bp_status status = make_problem(&problem, request, tensors, true);
    if (status == BP_OK) {
        status = bp__explain(explanation, &problem);
    }
    bp__call_leave(&scope);
    return status;
}
