/* linalg.c - runs, plans and explains linear-algebra calls in their general form. */
#include "ops/linalg/call.h"

#include "tensor/internal.h"

#include <string.h>

/* Returns whether a failed item fails the call: if the caller requested it, or if no info output would report it. */
static bool checks(const bp__linalg_entry *entry, const bp_linalg_call *call, bool ignore_item_errors) {
    bool told = (entry->takes & BP__TAKES_CHECK) && call->output[entry->count - entry->inputs - 1];
    return call->fail_on_item_error || (!told && !ignore_item_errors);
}

/* Returns the call as this version's struct; NULL with an error. */
static const bp_linalg_call *whole(bp_linalg_call *own, const bp_linalg_call *call) {
    const bp_linalg_call *read = bp__struct_read(own, sizeof *own, call, "call");
    if (!read || BP__STRUCT_MEMBER(call, bp_linalg_call, input) != BP_OK ||
        BP__STRUCT_MEMBER(call, bp_linalg_call, output) != BP_OK) {
        return NULL;
    }
    return read;
}

bp_status bp__linalg_make(bp_problem *problem, const void *context) {
    const bp__call_request *r = context;
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
    problem->of.linalg.fail_on_item_error = checks(facts.entry, call, r->ignores_item_errors);
    return BP_OK;
}

/* ---- The key of the thread cache: all fields, whichever the operation takes ---- */

#define TENSOR_FIELD(member)                                                                                           \
    { "", offsetof(bp_linalg_call, member), BP_FIELD_TENSOR, 0, NULL, 0, "", NULL }
static const bp_call_field all_fields[] = {BP__MODE_FIELD(BP_NORM_P, NULL),
                                           BP__FIELD_OF_UPPER,
                                           BP__FIELD_OF_RIGHT,
                                           BP__FIELD_OF_ADJOINT,
                                           BP__FIELD_OF_UNIT,
                                           BP__FIELD_OF_HERMITIAN,
                                           BP__FIELD_OF_CHECK,
                                           BP__FIELD_OF_RTOL,
                                           BP__FIELD_OF_ATOL,
                                           BP__FIELD_OF_ORDER,
                                           BP__FIELD_OF_NDIM,
                                           BP__FIELD_OF_KEEP,
                                           BP__FIELD_OF_DIMS,
                                           TENSOR_FIELD(input[0]),
                                           TENSOR_FIELD(input[1]),
                                           TENSOR_FIELD(input[2]),
                                           TENSOR_FIELD(output[0]),
                                           TENSOR_FIELD(output[1]),
                                           TENSOR_FIELD(output[2]),
                                           TENSOR_FIELD(output[3])};

static const bp__pass *pass_of(const void *given) {
    const bp__linalg_entry *entry = bp__linalg_entry_of(((const bp_linalg_call *)given)->op);
    return entry ? entry->described->passes : NULL;
}

const bp_call bp__linalg_any = {
    .info = {"linalg", "", sizeof(bp_linalg_call), BP__COUNT(all_fields), 0, 0, false},
    .ndim_offset = offsetof(bp_linalg_call, axis_count),
    .ndim_most = BP_MAX_NDIM,
    .sparse_numbers = true,
    .fields = all_fields,
    .family = &bp__family_linalg,
    .pass = pass_of,
};

/* Returns false for an invalid call that has no key; the slow path reports the error. Whether a failed item fails the
 * call is in the tag, above the bits of all fields. */
static bool fill(bp__operation *o, const bp_linalg_call *call, bool ignore_item_errors) {
    if (!bp__call_describe(&bp__linalg_any, o, call)) {
        return false;
    }
    const bool check = checks(bp__linalg_entry_of(call->op), call, ignore_item_errors);
    o->tag |= bp__tag(0, (uint64_t)check << (BP__TAG_BITS - 1));
    return true;
}

bp_status bp__linalg_run(const bp_linalg_call *call, bool ignore_item_errors) {
    bp__operation o;
    o.key.count = 0;
    const bp_plan *plan = fill(&o, call, ignore_item_errors) ? bp__operation_find(&o) : NULL;
    if (BP__LIKELY(plan != NULL)) {
        return bp__operation_run(&o, plan);
    }
    if (call->op == BP_OP_VECTOR_NORM && bp__vector_norm_scattered(call)) {
        return bp__vector_norm_copied(call);
    }
    const bp__call_request request = {
        .call = call, .described = &bp__linalg_any, .ignores_item_errors = ignore_item_errors};
    return bp__operation_run_request(&o, &bp__family_linalg, &request);
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
    const bp__call_request request = {.call = call, .data_optional = true};
    return bp__linalg_make(problem, &request);
}

bp_status bp_linalg_plan(bp_plan **plan, const bp_options *options, const bp_linalg_call *call) {
    return bp__call_plan_described(&bp__linalg_any, plan, options, call);
}

bp_status bp_linalg_explain(bp_explanation **explanation, const bp_options *options, const bp_linalg_call *call) {
    return bp__call_explain_described(&bp__linalg_any, explanation, options, call);
}

bp_status bp_linalg_shape(const bp_linalg_call *call, int index, bp_dtype *dtype, int *ndim, int64_t *shape) {
    BP__TRY(bp__call_check_shape_arguments("bp_linalg_shape", dtype, ndim, shape));
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
    bp__linalg_output(&facts, facts.entry->inputs + index, dtype, ndim, shape);
    return BP_OK;
}
