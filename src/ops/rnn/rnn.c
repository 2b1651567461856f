/* rnn.c - runs, plans and explains recurrent layers. */
#include "ops/rnn/call.h"

const bp__pass *bp__rnn_pass(const void *given) {
    const bp_rnn_call *call = given;
    return (unsigned)call->pass <= BP_RNN_BACKWARD ? &bp__rnn_passes[call->pass] : NULL;
}

static bp_status result_shape(const void *given, bp__call_result *result) {
    const bp_rnn_tensor which = (bp_rnn_tensor)result->pass->operand[result->operand].shape;
    bp__rnn rnn;
    BP__TRY(bp__rnn_resolve(&rnn, given, true));
    result->dtype = bp__rnn_dtype(&rnn, which);
    result->ndim = bp__rnn_shape(&rnn, which, result->shape);
    return BP_OK;
}

const bp_call bp__rnn_call = {
    .info = {"rnn", "a recurrent layer", sizeof(bp_rnn_call), BP__COUNT(bp__rnn_fields),
             sizeof(bp__rnn_passes) / sizeof(bp__pass), 0, false},
    .op = BP_OP_RNN,
    .ndim_offset = -1,
    .fields = bp__rnn_fields,
    .family = &bp__family_rnn,
    .passes = bp__rnn_passes,
    .pass = bp__rnn_pass,
    .shape = result_shape,
};

static bp_status bp__rnn_problem(bp_problem *problem, const bp_rnn_call *call, bool data_optional) {
    bp__rnn rnn;
    BP__TRY(bp__rnn_resolve(&rnn, call, data_optional));
    BP__TRY(bp__rnn_check(&rnn, data_optional));
    bp__rnn_lower(problem, &rnn);
    return BP_OK;
}

BP__DEFINE_RUN(rnn, bp_rnn_call)
BP__DEFINE_PLAN(rnn, bp_rnn_call)

bp_status bp_rnn_shape(const bp_rnn_call *call, bp_rnn_tensor which, bp_dtype *dtype, int *ndim, int64_t *shape) {
    bp_rnn_call own;
    bp__rnn rnn;
    BP__TRY(bp__call_check_shape_arguments("bp_rnn_shape", dtype, ndim, shape));
    if ((unsigned)which >= BP_RNN_TENSORS) {
        return bp__fail(BP_E_ARGUMENT, "bp_rnn_shape: which is no value of its enumeration");
    }
    call = bp__struct_read(&own, sizeof own, call, "call");
    if (!call) {
        return BP_E_ARGUMENT;
    }
    BP__TRY(bp__rnn_resolve(&rnn, call, true));
    *dtype = bp__rnn_dtype(&rnn, which);
    *ndim = bp__rnn_shape(&rnn, which, shape);
    return BP_OK;
}
