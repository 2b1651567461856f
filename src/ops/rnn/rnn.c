/* rnn.c - runs, plans and explains recurrent layers. */
#include "ops/rnn/rnn.h"

#include "tensor/internal.h"

#include <string.h>

bp_status bp__rnn_make(bp_problem *problem, const void *asked) {
    const bp__rnn_request *r = asked;
    bp_rnn_call own;
    bp__rnn rnn;
    const bp_rnn_call *call = bp__struct_read(&own, sizeof own, r->call, "call");
    if (!call) {
        return BP_E_ARGUMENT;
    }
    BP__TRY(bp__rnn_resolve(&rnn, call, r->data_optional));
    BP__TRY(bp__rnn_check(&rnn, r->data_optional));
    bp__rnn_lower(problem, &rnn);
    return BP_OK;
}

/* Describes the call for the cache of this thread. Returns false if it must be refused, so that the cache must not have
 * it. */
static bool describe(bp__operation *o, const bp_rnn_call *call) {
    o->key.count = 0;
    if ((unsigned)call->pass > BP_RNN_BACKWARD || (unsigned)call->mode > BP_RNN_GRU || call->directions < 0 ||
        call->directions > 2 || bp__rnn_surplus(call)) {
        return false;
    }
    const bp_rnn_tensor *operands = bp__rnn_operands(call->pass, &o->inputs);
    for (o->count = 0; operands[o->count] != BP_RNN_TENSORS; o->count++) {
        o->tensors[o->count] = bp__rnn_tensor(call, operands[o->count]);
    }
    o->parameter_count = 0;
    o->tag = bp__tag(BP_OP_RNN, (uint64_t)call->pass | (uint64_t)call->mode << 2 | (uint64_t)call->directions << 4 |
                                    (uint64_t)(call->reverse != 0) << 6);
    o->in_place = false;
    return true;
}

/* Gradients by weights are sums, which may be empty. Final states are the initial ones if there is no step. */
static bool writes_nothing(const bp_rnn_call *call) {
    int inputs;
    const bp_rnn_tensor *operands = bp__rnn_operands(call->pass, &inputs);
    for (int i = inputs; operands[i] != BP_RNN_TENSORS; i++) {
        const DLTensor *written = bp__rnn_tensor(call, operands[i]);
        if (written && bp__tensor_elements(written) > 0) {
            return false;
        }
    }
    return true;
}

static bp_status run(const bp_rnn_call *call) {
    bp__operation operation;
    const bp_plan *plan = describe(&operation, call) ? bp__operation_find(&operation) : NULL;
    if (BP__LIKELY(plan != NULL)) {
        return bp__operation_run(&operation, plan);
    }
    bp__rnn_request r = {call, false};
    bp_problem problem;
    BP__TRY(bp__problem_make(&problem, &bp__family_rnn, &r));
    if (writes_nothing(call)) {
        bp__thread.last_serial = BP__NO_PLAN_RAN;
        return BP_OK;
    }
    return bp__operation_plan_and_run(&operation, &problem);
}

bp_status bp_rnn_run(const bp_options *options, const bp_rnn_call *call) {
    bp_rnn_call own;
    bp__call_scope scope;
    call = bp__struct_read(&own, sizeof own, call, "call");
    if (!call) {
        return BP_E_ARGUMENT;
    }
    bp__call_enter(&scope, options);
    bp_status status = run(call);
    bp__call_leave(&scope);
    return status;
}

bp_status bp_rnn_plan(bp_plan **plan, const bp_options *options, const bp_rnn_call *call) {
    bp__rnn_request r = {call, true};
    return bp__plan_for(plan, options, &bp__family_rnn, &r);
}

bp_status bp_rnn_explain(bp_explanation **explanation, const bp_options *options, const bp_rnn_call *call) {
    bp__rnn_request r = {call, true};
    return bp__explain_for(explanation, options, &bp__family_rnn, &r);
}

bp_status bp_rnn_shape(const bp_rnn_call *call, bp_rnn_tensor which, bp_dtype *dtype, int *ndim, int64_t *shape) {
    bp_rnn_call own;
    bp__rnn rnn;
    if (!dtype || !ndim || !shape) {
        return bp__fail(BP_E_ARGUMENT, "bp_rnn_shape: dtype, ndim and shape must not be NULL");
    }
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
