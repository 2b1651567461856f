/* layer.c - runs, plans, explains and describes layer, RMS and group normalization. */
#include "ops/norm/layer.h"

#include "tensor/internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Problems are hashed and compared byte by byte, so there must be no padding. */
_Static_assert(sizeof(bp_layer_norm_problem) == (3 + (1 + BP_LAYER_NORM_OPERANDS) * BP_MAX_LAYER_NORM_NDIM) * 8,
               "bytes between the fields");

static bp_status make(bp_problem *problem, const void *asked) {
    const bp__layer_request *r = asked;
    bp_layer_norm_call own;
    const bp_layer_norm_call *call = bp__struct_read(&own, sizeof own, r->call, "call");
    if (!call) {
        return BP_E_ARGUMENT;
    }
    BP__TRY(bp__layer_check(call, r->data_optional));
    bp__layer_lower(problem, call);
    return BP_OK;
}

/* Writes "f32 128 rows of 768 elements". */
static void text(const bp_problem *problem, char *buffer, size_t size) {
    const bp_layer_norm_problem *p = &problem->of.layer_norm;
    int64_t rows = 1, elements = 1;
    char parameters[32] = "";
    for (int d = 0; d < p->ndim; d++) {
        *(d < p->row_ndim ? &rows : &elements) *= p->size[d];
    }
    if (p->parameters != problem->dtype) {
        snprintf(parameters, sizeof parameters, ", parameters %s", bp_dtype_name((bp_dtype)p->parameters));
    }
    snprintf(buffer, size, "%s %" PRId64 " rows of %" PRId64 " elements%s%s", bp_dtype_name((bp_dtype)problem->dtype),
             rows, elements, parameters, p->subtract_mean ? "" : ", mean 0");
}

const bp__family bp__family_layer_norm = {
    .size = sizeof(bp_layer_norm_problem),
    .preference = BP__NO_SETTING,
    .precision = BP__NO_SETTING,
    .benchmark = BP__NO_SETTING,
    .make = make,
    .describe = text,
    .elements = bp__layer_norm_elements,
};

/* Describes the call for the cache of this thread. A call with tensors that its pass does not have is refused, and its
 * key would not have them, so the flags do. Returns false if the call has no operands. */
static bool describe(bp__operation *o, const bp_layer_norm_call *call) {
    bp__layer_operand operands[BP_LAYER_NORM_OPERANDS];
    o->key.count = 0;
    if ((unsigned)call->pass > BP_LAYER_NORM_BACKWARD || (unsigned)call->kind > BP_GROUP_NORM) {
        return false;
    }
    const DLTensor *const rest[] = {call->bias, call->input_gradient, call->weight_gradient, call->bias_gradient};
    uint64_t flags = (uint64_t)call->pass | (uint64_t)call->kind << 1;
    for (int i = 0; i < BP__COUNT(rest); i++) {
        flags |= (uint64_t)(rest[i] != NULL) << (3 + i);
    }
    o->count = bp__layer_operands(call, operands);
    o->inputs = 0;
    for (int i = 0; i < o->count; i++) {
        o->tensors[i] = operands[i].tensor;
        o->inputs += !operands[i].output;
    }
    o->parameters[0] = (uint64_t)(int64_t)call->dims;
    o->parameters[1] = (uint64_t)call->groups;
    memcpy(&o->parameters[2], &call->eps, sizeof call->eps);
    o->parameter_count = 3;
    o->tag = bp__tag(BP_OP_LAYER_NORM, flags);
    o->in_place = false;
    return true;
}

/* Without rows, there are still gradients by weight and bias. */
static bool writes_nothing(const bp_layer_norm_call *call) {
    return bp__tensor_elements(call->input) == 0 && !call->weight_gradient && !call->bias_gradient;
}

static bp_status run(const bp_layer_norm_call *call) {
    bp__operation operation;
    const bp_plan *plan = describe(&operation, call) ? bp__operation_find(&operation) : NULL;
    if (BP__LIKELY(plan != NULL)) {
        return bp__operation_run(&operation, plan);
    }
    bp__layer_request r = {call, false};
    bp_problem problem;
    BP__TRY(bp__problem_make(&problem, &bp__family_layer_norm, &r));
    if (writes_nothing(call)) {
        bp__thread.last_serial = BP__NO_PLAN_RAN;
        return BP_OK;
    }
    return bp__operation_plan_and_run(&operation, &problem);
}

bp_status bp_layer_norm_run(const bp_options *options, const bp_layer_norm_call *call) {
    bp_layer_norm_call own;
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

bp_status bp_layer_norm_plan(bp_plan **plan, const bp_options *options, const bp_layer_norm_call *call) {
    bp__layer_request r = {call, true};
    return bp__plan_for(plan, options, &bp__family_layer_norm, &r);
}

bp_status bp_layer_norm_explain(bp_explanation **explanation, const bp_options *options,
                                const bp_layer_norm_call *call) {
    bp__layer_request r = {call, true};
    return bp__explain_for(explanation, options, &bp__family_layer_norm, &r);
}
