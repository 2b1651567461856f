/* linalg.c - runs, plans and explains linear-algebra calls in their general form. */
#include "ops/linalg/linalg.h"

#include "tensor/internal.h"

#include <string.h>

/* A call and how to run it, for the functions that make its problem. */
typedef struct request {
    const bp_linalg_call *call;
    bool ignore_item_errors, data_optional;
} request;

/* Returns whether a failed item fails the call: if the caller requested it, or if no info output would report it. */
static bool checks(const bp__linalg_entry *entry, const bp_linalg_call *call, bool ignore_item_errors) {
    bool told = (entry->takes & BP__TAKES_CHECK) && call->operand[entry->count - 1];
    return call->fail_on_item_error || (!told && !ignore_item_errors);
}

/* Returns the call as this version's struct; NULL with an error. */
static const bp_linalg_call *whole(bp_linalg_call *own, const bp_linalg_call *call) {
    const bp_linalg_call *read = bp__struct_read(own, sizeof *own, call, "call");
    return read && BP__STRUCT_MEMBER(call, bp_linalg_call, operand) == BP_OK ? read : NULL;
}

bp_status bp__linalg_make(bp_problem *problem, const void *context) {
    const request *r = context;
    bp__linalg_facts facts = {0};
    bp_linalg_call own;
    const bp_linalg_call *call = whole(&own, r->call);
    bp__vector_norm lowered;
    if (!call) {
        return BP_E_ARGUMENT;
    }
    BP__TRY(bp__linalg_parameters(&facts, call));
    if (call->op == BP_OP_VECTOR_NORM) {
        BP__TRY(bp__vector_norm_lower(&lowered, call, r->data_optional));
        facts.call = call = &lowered.call;
    }
    BP__TRY(bp__linalg_inputs(&facts, r->data_optional));
    BP__TRY(bp__linalg_outputs(&facts, r->data_optional));
    BP__TRY(bp__linalg_lower(problem, &facts));
    problem->of.linalg.fail_on_item_error = checks(facts.entry, call, r->ignore_item_errors);
    return BP_OK;
}

static uint64_t bits_of(const double *value) {
    uint64_t bits = 0;
    if (value) {
        memcpy(&bits, value, sizeof bits);
    }
    return bits;
}

/* Packs everything that the checks read, except tensors, into the bits of a tag. */
static uint64_t tag_of(const bp_linalg_call *call, bool check) {
    uint64_t flags = (uint64_t)(call->upper != 0) | (uint64_t)(call->right != 0) << 1 |
                     (uint64_t)(call->adjoint != 0) << 2 | (uint64_t)(call->unitriangular != 0) << 3 |
                     (uint64_t)(call->hermitian != 0) << 4 | (uint64_t)(call->fail_on_item_error != 0) << 5 |
                     (uint64_t)check << 6 | (uint64_t)(call->rtol != NULL) << 7 | (uint64_t)(call->atol != NULL) << 8 |
                     (uint64_t)(call->keepdim != 0) << 9;
    return bp__tag(call->op, (uint64_t)call->mode | flags << 4);
}

/* Returns false for an invalid call that has no key; the slow path reports the error. */
static bool fill(bp__operation *o, const bp_linalg_call *call, bool ignore_item_errors) {
    const bp__linalg_entry *entry = bp__linalg_entry_of(call->op);
    o->key.count = 0;
    if (!entry || (unsigned)call->mode > BP_NORM_P) {
        return false;
    }
    o->tag = tag_of(call, checks(entry, call, ignore_item_errors));
    o->in_place = false;
    o->count = entry->count;
    o->inputs = entry->inputs;
    for (int i = 0; i < entry->count; i++) {
        o->tensors[i] = call->operand[i];
    }
    for (int i = entry->count; i < BP_LINALG_OPERANDS; i++) {
        if (call->operand[i]) {
            return false;
        }
    }
    o->parameter_count = 0;
    if (call->op == BP_OP_VECTOR_NORM) {
        uint64_t reduced;
        if (!call->operand[0] || bp__vector_norm_dims(call, &reduced) != BP_OK) {
            return false;
        }
        o->parameters[o->parameter_count++] = reduced;
        o->parameters[o->parameter_count++] = bits_of(&call->order);
    } else if (call->dims || call->ndim != 0 || call->keepdim) {
        return false;
    } else if (call->rtol || call->atol || call->order != 0.0) {
        o->parameters[o->parameter_count++] = bits_of(call->rtol);
        o->parameters[o->parameter_count++] = bits_of(call->atol);
        o->parameters[o->parameter_count++] = bits_of(&call->order);
    }
    return true;
}

bp_status bp__linalg_run(const bp_linalg_call *call, bool ignore_item_errors) {
    bp__operation o;
    const bp_plan *plan = fill(&o, call, ignore_item_errors) ? bp__operation_find(&o) : NULL;
    if (BP__LIKELY(plan != NULL)) {
        return bp__operation_run(&o, plan);
    }
    if (call->op == BP_OP_VECTOR_NORM && bp__vector_norm_scattered(call)) {
        return bp__vector_norm_copied(call);
    }
    const request r = {call, ignore_item_errors, false};
    return bp__operation_run_request(&o, &bp__family_linalg, &r);
}

bp_status bp_linalg_run(const bp_options *options, const bp_linalg_call *call) {
    bp_linalg_call own;
    bp__call_scope scope;
    call = whole(&own, call);
    if (!call) {
        return BP_E_ARGUMENT;
    }
    bp__call_enter(&scope, options);
    bp_status status = bp__linalg_run(call, false);
    bp__call_leave(&scope);
    return status;
}

bp_status bp__linalg_sample(bp_problem *problem, const bp_linalg_call *call) {
    const request r = {call, false, true};
    return bp__linalg_make(problem, &r);
}

bp_status bp_linalg_plan(bp_plan **plan, const bp_options *options, const bp_linalg_call *call) {
    request r = {call, false, true};
    return bp__plan_for(plan, options, &bp__family_linalg, &r);
}

bp_status bp_linalg_explain(bp_explanation **explanation, const bp_options *options, const bp_linalg_call *call) {
    request r = {call, false, true};
    return bp__explain_for(explanation, options, &bp__family_linalg, &r);
}

bp_status bp_linalg_shape(const bp_linalg_call *call, int index, bp_dtype *dtype, int *ndim, int64_t *shape) {
    if (!dtype || !ndim || !shape) {
        return bp__fail(BP_E_ARGUMENT, "bp_linalg_shape: dtype, ndim and shape must not be NULL");
    }
    bp__linalg_facts facts = {0};
    bp_linalg_call own;
    call = whole(&own, call);
    if (!call) {
        return BP_E_ARGUMENT;
    }
    BP__TRY(bp__linalg_parameters(&facts, call));
    if (call->op == BP_OP_VECTOR_NORM) {
        BP__TRY(bp__linalg_has_output(&facts, index));
        return bp__vector_norm_shape(call, dtype, ndim, shape);
    }
    BP__TRY(bp__linalg_inputs(&facts, true));
    BP__TRY(bp__linalg_has_output(&facts, index));
    bp__linalg_output(&facts, index, dtype, ndim, shape);
    return BP_OK;
}
