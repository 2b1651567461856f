/* pool.c - runs, plans and explains pooling. */
#include "ops/pool/pool.h"

#include "tensor/internal.h"

bp_status bp__pool_make(bp_problem *problem, const void *asked) {
    const bp__pool_request *r = asked;
    bp_pool_call own;
    bp__pool pool;
    const bp_pool_call *call = bp__struct_read(&own, sizeof own, r->call, "call");
    if (!call) {
        return BP_E_ARGUMENT;
    }
    BP__TRY(bp__pool_resolve(&pool, call, r->data_optional));
    BP__TRY(bp__pool_check(&pool, r->data_optional));
    bp__pool_lower(problem, &pool);
    return BP_OK;
}

/* ---- The call's key ---- */

/* Adds the values of an array to a word, 20 bits each. Returns false if one does not fit. */
static bool add_values(uint64_t *word, const int64_t *values, int ndim) {
    enum { BITS = 20 };
    for (int d = 0; d < ndim; d++) {
        if (values[d] < 0 || values[d] >= 1 << BITS) {
            return false;
        }
        *word |= (uint64_t)values[d] << (d * BITS);
    }
    return true;
}

/* Describes the call for the cache of this thread. Invalid calls, and those with unusually large parameters, get no
 * key. Returns false if the call has no operands. */
static bool describe(bp__operation *o, const bp_pool_call *call) {
    const int64_t *const arrays[] = {call->output_size, call->kernel, call->stride, call->dilation, call->padding};
    o->key.count = 0;
    if ((unsigned)call->kind > BP_POOL_AVERAGE || (unsigned)call->pass > BP_POOL_BACKWARD || call->ndim < 1 ||
        call->ndim > BP_POOL_NDIM) {
        return false;
    }
    bool fits = true;
    uint64_t flags = (uint64_t)call->kind | (uint64_t)call->pass << 1 | (uint64_t)call->ndim << 2;
    flags |= (uint64_t)(call->ceil_mode != 0) << 4 | (uint64_t)(call->exclude_padding != 0) << 5;
    flags |= (uint64_t)(call->indices != NULL) << 6;
    o->parameter_count = 0;
    o->parameters[o->parameter_count++] = (uint64_t)call->divisor;
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        flags |= (uint64_t)(arrays[i] != NULL) << (7 + i);
        if (arrays[i]) {
            o->parameters[o->parameter_count] = 0;
            fits = add_values(&o->parameters[o->parameter_count++], arrays[i], call->ndim) && fits;
        }
    }
    o->tag = bp__tag(BP_OP_MAX_POOL, flags);
    /* An average with indices is refused, and its key would not have them. */
    fits = fits && !(call->kind == BP_POOL_AVERAGE && call->indices);
    o->parameter_count = fits ? o->parameter_count : BP__PARAMETERS_LONG;
    o->count = bp__pool_operands(call, o->tensors, &o->inputs);
    o->in_place = false;
    return true;
}

static bool writes_nothing(const bp_pool_call *call) {
    const DLTensor *to = call->pass == BP_POOL_FORWARD ? call->output : call->input;
    return bp__tensor_elements(to) == 0;
}

static bp_status run(const bp_pool_call *call) {
    bp__operation operation;
    const bp_plan *plan = describe(&operation, call) ? bp__operation_find(&operation) : NULL;
    if (BP__LIKELY(plan != NULL)) {
        return bp__operation_run(&operation, plan);
    }
    bp__pool_request r = {call, false};
    bp_problem problem;
    BP__TRY(bp__problem_make(&problem, &bp__family_pool, &r));
    if (writes_nothing(call)) {
        bp__thread.last_serial = BP__NO_PLAN_RAN;
        return BP_OK;
    }
    return bp__operation_plan_and_run(&operation, &problem);
}

bp_status bp_pool_run(const bp_options *options, const bp_pool_call *call) {
    bp_pool_call own;
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

bp_status bp_pool_plan(bp_plan **plan, const bp_options *options, const bp_pool_call *call) {
    bp__pool_request r = {call, true};
    return bp__plan_for(plan, options, &bp__family_pool, &r);
}

bp_status bp_pool_explain(bp_explanation **explanation, const bp_options *options, const bp_pool_call *call) {
    bp__pool_request r = {call, true};
    return bp__explain_for(explanation, options, &bp__family_pool, &r);
}

bp_status bp_pool_shape(const bp_pool_call *call, bp_dtype *dtype, int *ndim, int64_t *shape) {
    bp_pool_call own;
    bp__pool pool;
    if (!dtype || !ndim || !shape) {
        return bp__fail(BP_E_ARGUMENT, "bp_pool_shape: dtype, ndim and shape must not be NULL");
    }
    call = bp__struct_read(&own, sizeof own, call, "call");
    if (!call) {
        return BP_E_ARGUMENT;
    }
    BP__TRY(bp__pool_resolve(&pool, call, true));
    *dtype = pool.dtype;
    *ndim = bp__pool_output_shape(&pool, shape);
    return BP_OK;
}
