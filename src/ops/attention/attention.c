/* attention.c - runs, plans and explains attention. */
#include "ops/attention/attention.h"

#include "tensor/internal.h"

#include <string.h>

bp_status bp__attention_make(bp_problem *problem, const void *asked) {
    const bp__attention_request *r = asked;
    bp_attention_call own;
    bp__attention attention;
    const bp_attention_call *call = bp__struct_read(&own, sizeof own, r->call, "call");
    if (!call) {
        return BP_E_ARGUMENT;
    }
    BP__TRY(bp__attention_resolve(&attention, call, r->data_optional));
    BP__TRY(bp__attention_check(&attention, r->data_optional));
    return bp__attention_lower(problem, &attention);
}

static uint64_t bits_of(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* Describes the call for the cache of this thread. A call with tensors that its pass does not have is refused, and its
 * key would not have them, so the flags do. Returns false if the call has no operands. */
static bool describe(bp__operation *o, const bp_attention_call *call) {
    bp__attention_operand operands[BP_ATTENTION_TENSORS];
    o->key.count = 0;
    const bool paged = bp__attention_has_pages(call);
    if ((unsigned)call->pass > BP_ATTENTION_BACKWARD || (paged && call->pass == BP_ATTENTION_BACKWARD)) {
        return false;
    }
    const DLTensor *const gradients[] = {call->output_gradient, call->query_gradient, call->key_gradient,
                                         call->value_gradient, call->mask_gradient};
    uint64_t flags = (uint64_t)call->pass | (uint64_t)(call->is_causal != 0) << 1 |
                     (uint64_t)(call->enable_gqa != 0) << 2 | (uint64_t)(call->has_scale != 0) << 3 |
                     (uint64_t)paged << 4;
    for (int i = 0; i < BP__COUNT(gradients); i++) {
        flags |= (uint64_t)(gradients[i] != NULL) << (5 + i);
    }
    o->count = bp__attention_operands(call, operands);
    o->inputs = 0;
    for (int i = 0; i < o->count; i++) {
        o->tensors[i] = operands[i].tensor;
        o->inputs += !operands[i].output;
    }
    o->parameters[0] = bits_of(call->scale);
    o->parameters[1] = bits_of(call->dropout);
    o->parameter_count = 2;
    o->tag = bp__tag(BP_OP_ATTENTION, flags);
    o->in_place = false;
    return true;
}

/* Gradients by key and value are sums, which may be empty. */
static bool writes_nothing(const bp_attention_call *call) {
    return call->pass == BP_ATTENTION_FORWARD && bp__tensor_elements(call->output) == 0 &&
           (!call->logsumexp || bp__tensor_elements(call->logsumexp) == 0);
}

static bp_status run(const bp_attention_call *call) {
    bp__operation operation;
    const bp_plan *plan = describe(&operation, call) ? bp__operation_find(&operation) : NULL;
    if (BP__LIKELY(plan != NULL)) {
        return bp__operation_run(&operation, plan);
    }
    bp__attention_request r = {call, false};
    bp_problem problem;
    BP__TRY(bp__problem_make(&problem, &bp__family_attention, &r));
    if (writes_nothing(call)) {
        bp__thread.last_serial = BP__NO_PLAN_RAN;
        return BP_OK;
    }
    return bp__operation_plan_and_run(&operation, &problem);
}

bp_status bp_attention_run(const bp_options *options, const bp_attention_call *call) {
    bp_attention_call own;
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

bp_status bp_attention_plan(bp_plan **plan, const bp_options *options, const bp_attention_call *call) {
    bp__attention_request r = {call, true};
    return bp__plan_for(plan, options, &bp__family_attention, &r);
}

bp_status bp_attention_explain(bp_explanation **explanation, const bp_options *options, const bp_attention_call *call) {
    bp__attention_request r = {call, true};
    return bp__explain_for(explanation, options, &bp__family_attention, &r);
}

bp_status bp_attention_shape(const bp_attention_call *call, bp_dtype *dtype, int *ndim, int64_t *shape) {
    bp_attention_call own;
    bp__attention attention;
    if (!dtype || !ndim || !shape) {
        return bp__fail(BP_E_ARGUMENT, "bp_attention_shape: dtype, ndim and shape must not be NULL");
    }
    call = bp__struct_read(&own, sizeof own, call, "call");
    if (!call) {
        return BP_E_ARGUMENT;
    }
    BP__TRY(bp__attention_resolve(&attention, call, true));
    *dtype = attention.dtype;
    *ndim = bp__attention_output_shape(&attention, shape);
    return BP_OK;
}
