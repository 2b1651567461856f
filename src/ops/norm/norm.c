/* norm.c - runs, plans and explains batch normalization. */
#include "ops/norm/norm.h"

#include "tensor/internal.h"

#include <string.h>

bp_status bp__norm_make(bp_problem *problem, const void *asked) {
    const bp__norm_request *r = asked;
    bp_batch_norm_call own;
    const bp_batch_norm_call *call = bp__struct_read(&own, sizeof own, r->call, "call");
    if (!call) {
        return BP_E_ARGUMENT;
    }
    BP__TRY(bp__norm_check(call, r->data_optional));
    bp__norm_lower(problem, call);
    return BP_OK;
}

static uint64_t bits_of(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* Describes the call for the cache of this thread. A call with tensors that its pass does not have is refused, and its
 * key would not have them, so the flags do. Returns false if the call has no operands. */
static bool describe(bp__operation *o, const bp_batch_norm_call *call) {
    bp__norm_operand operands[BP__NORM_OPERANDS];
    o->key.count = 0;
    if ((unsigned)call->pass > BP_BATCH_NORM_BACKWARD) {
        return false;
    }
    const DLTensor *const all[] = {call->input,          call->weight,          call->bias,         call->output,
                                   call->running_mean,   call->running_var,     call->mean,         call->inverse_std,
                                   call->input_gradient, call->weight_gradient, call->bias_gradient};
    uint64_t flags = (uint64_t)call->pass | (uint64_t)(call->relu != 0) << 2;
    for (int i = 0; i < BP__COUNT(all); i++) {
        flags |= (uint64_t)(all[i] != NULL) << (3 + i);
    }
    o->count = bp__norm_operands(call, operands);
    o->inputs = 0;
    for (int i = 0; i < o->count; i++) {
        o->tensors[i] = operands[i].tensor;
        o->inputs += !operands[i].output;
    }
    o->parameters[0] = bits_of(call->eps);
    o->parameters[1] = bits_of(call->momentum);
    o->parameter_count = 2;
    o->tag = bp__tag(BP_OP_BATCH_NORM, flags);
    o->in_place = false;
    return true;
}

/* An empty batch has gradients by weight and bias. */
static bool writes_nothing(const bp_batch_norm_call *call) {
    return bp__tensor_elements(call->input) == 0 && !call->weight_gradient && !call->bias_gradient;
}

static bp_status run(const bp_batch_norm_call *call) {
    bp__operation operation;
    const bp_plan *plan = describe(&operation, call) ? bp__operation_find(&operation) : NULL;
    if (BP__LIKELY(plan != NULL)) {
        return bp__operation_run(&operation, plan);
    }
    bp__norm_request r = {call, false};
    bp_problem problem;
    BP__TRY(bp__problem_make(&problem, &bp__family_norm, &r));
    if (writes_nothing(call)) {
        bp__thread.last_serial = BP__NO_PLAN_RAN;
        return BP_OK;
    }
    return bp__operation_plan_and_run(&operation, &problem);
}

bp_status bp_batch_norm_run(const bp_options *options, const bp_batch_norm_call *call) {
    bp_batch_norm_call own;
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

bp_status bp_batch_norm_plan(bp_plan **plan, const bp_options *options, const bp_batch_norm_call *call) {
    bp__norm_request r = {call, true};
    return bp__plan_for(plan, options, &bp__family_norm, &r);
}

bp_status bp_batch_norm_explain(bp_explanation **explanation, const bp_options *options,
                                const bp_batch_norm_call *call) {
    bp__norm_request r = {call, true};
    return bp__explain_for(explanation, options, &bp__family_norm, &r);
}
