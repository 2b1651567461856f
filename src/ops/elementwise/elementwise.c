/* elementwise.c - runs, plans and explains operations on single elements. */
#include "ops/elementwise/elementwise.h"

#include "tensor/internal.h"

/* Describes the call for the cache of this thread. The addresses decide whether it runs in place, and are in no key: so
 * the inputs that are the output are in the tag. */
static void describe(bp__operation *o, const bp__elementwise_request *r) {
    const DLTensor *output = r->operand[r->count - 1];
    const bool takes = r->op == BP_OP_TAKE || r->op == BP_OP_GATHER;
    o->count = r->count;
    o->inputs = r->count - 1;
    o->in_place = 0;
    for (int i = 0; i < r->count; i++) {
        o->tensors[i] = r->operand[i];
    }
    for (int i = 0; i < o->inputs && !takes; i++) {
        const DLTensor *input = r->operand[i];
        const bool same = input && output && input->data && bp__tensor_same_start(input, output);
        o->in_place |= (uint8_t)(same << i);
    }
    o->parameters[0] = (uint64_t)(int64_t)r->axis;
    o->parameter_count = takes;
    o->tag = bp__tag(r->op, (uint64_t)o->in_place | (uint64_t)(r->kind < UINT8_MAX ? r->kind : UINT8_MAX) << 8);
}

/* Runs a request under the settings of the calling thread. */
static bp_status run_request(const bp__elementwise_request *r) {
    bp__operation operation;
    describe(&operation, r);
    const bp_plan *plan = bp__operation_find(&operation);
    if (BP__LIKELY(plan != NULL)) {
        return bp__operation_run(&operation, plan);
    }
    return bp__operation_run_request(&operation, &bp__family_elementwise, r);
}

bp_status bp__elementwise_prepare(const bp__elementwise_request *r, bp_plan **plan) {
    bp__operation operation;
    bp_problem problem;
    bool fresh;
    describe(&operation, r);
    *plan = (bp_plan *)(uintptr_t)bp__operation_find(&operation);
    if (BP__LIKELY(*plan != NULL)) {
        bp__plan_retain(*plan);
        return BP_OK;
    }
    BP__TRY(bp__problem_make(&problem, &bp__family_elementwise, r));
    BP__TRY(bp__cache_get(plan, &problem, &fresh));
    bp__operation_remember(&operation, *plan);
    return BP_OK;
}

bp_status bp__elementwise_run_prepared(const bp__elementwise_request *r, const bp_plan *plan) {
    bp__operation operation;
    describe(&operation, r);
    return bp__operation_run(&operation, plan);
}

static bp_status run_elementwise(const bp_options *options, const bp__elementwise_request *r) {
    bp__call_scope scope;
    bp__call_enter(&scope, options);
    bp_status status = run_request(r);
    bp__call_leave(&scope);
    return status;
}

static bp__elementwise_request unary(bp_unary_kind kind, const DLTensor *input, const DLTensor *output, bool planned) {
    return (bp__elementwise_request){BP_OP_UNARY, (uint32_t)kind, 0, 2, {input, output}, planned};
}

static bp__elementwise_request binary(bp_binary_kind kind, const DLTensor *a, const DLTensor *b, const DLTensor *output,
                                      bool planned) {
    return (bp__elementwise_request){BP_OP_BINARY, (uint32_t)kind, 0, 3, {a, b, output}, planned};
}

static bp__elementwise_request indexed(bp_op op, const DLTensor *input, const DLTensor *indices, int axis,
                                       const DLTensor *output, bool planned) {
    return (bp__elementwise_request){op, 0, axis, 3, {input, indices, output}, planned};
}

bp_status bp_unary_run(const bp_options *options, bp_unary_kind kind, const DLTensor *input, const DLTensor *output) {
    const bp__elementwise_request r = unary(kind, input, output, false);
    return run_elementwise(options, &r);
}

bp_status bp_unary_plan(bp_plan **plan, const bp_options *options, bp_unary_kind kind, const DLTensor *input,
                        const DLTensor *output) {
    const bp__elementwise_request r = unary(kind, input, output, true);
    return bp__plan_for(plan, options, &bp__family_elementwise, &r);
}

bp_status bp_unary_explain(bp_explanation **explanation, const bp_options *options, bp_unary_kind kind,
                           const DLTensor *input, const DLTensor *output) {
    const bp__elementwise_request r = unary(kind, input, output, true);
    return bp__explain_for(explanation, options, &bp__family_elementwise, &r);
}

bp_status bp_binary_run(const bp_options *options, bp_binary_kind kind, const DLTensor *a, const DLTensor *b,
                        const DLTensor *output) {
    const bp__elementwise_request r = binary(kind, a, b, output, false);
    return run_elementwise(options, &r);
}

bp_status bp_binary_plan(bp_plan **plan, const bp_options *options, bp_binary_kind kind, const DLTensor *a,
                         const DLTensor *b, const DLTensor *output) {
    const bp__elementwise_request r = binary(kind, a, b, output, true);
    return bp__plan_for(plan, options, &bp__family_elementwise, &r);
}

bp_status bp_binary_explain(bp_explanation **explanation, const bp_options *options, bp_binary_kind kind,
                            const DLTensor *a, const DLTensor *b, const DLTensor *output) {
    const bp__elementwise_request r = binary(kind, a, b, output, true);
    return bp__explain_for(explanation, options, &bp__family_elementwise, &r);
}

bp_status bp_take_run(const bp_options *options, const DLTensor *input, const DLTensor *indices, int axis,
                      const DLTensor *output) {
    const bp__elementwise_request r = indexed(BP_OP_TAKE, input, indices, axis, output, false);
    return run_elementwise(options, &r);
}

bp_status bp_take_plan(bp_plan **plan, const bp_options *options, const DLTensor *input, const DLTensor *indices,
                       int axis, const DLTensor *output) {
    const bp__elementwise_request r = indexed(BP_OP_TAKE, input, indices, axis, output, true);
    return bp__plan_for(plan, options, &bp__family_elementwise, &r);
}

bp_status bp_take_explain(bp_explanation **explanation, const bp_options *options, const DLTensor *input,
                          const DLTensor *indices, int axis, const DLTensor *output) {
    const bp__elementwise_request r = indexed(BP_OP_TAKE, input, indices, axis, output, true);
    return bp__explain_for(explanation, options, &bp__family_elementwise, &r);
}

bp_status bp_gather_run(const bp_options *options, const DLTensor *input, const DLTensor *indices, int axis,
                        const DLTensor *output) {
    const bp__elementwise_request r = indexed(BP_OP_GATHER, input, indices, axis, output, false);
    return run_elementwise(options, &r);
}

bp_status bp_gather_plan(bp_plan **plan, const bp_options *options, const DLTensor *input, const DLTensor *indices,
                         int axis, const DLTensor *output) {
    const bp__elementwise_request r = indexed(BP_OP_GATHER, input, indices, axis, output, true);
    return bp__plan_for(plan, options, &bp__family_elementwise, &r);
}

bp_status bp_gather_explain(bp_explanation **explanation, const bp_options *options, const DLTensor *input,
                            const DLTensor *indices, int axis, const DLTensor *output) {
    const bp__elementwise_request r = indexed(BP_OP_GATHER, input, indices, axis, output, true);
    return bp__explain_for(explanation, options, &bp__family_elementwise, &r);
}

bp_status bp_binary_shape(const DLTensor *a, const DLTensor *b, int *ndim, int64_t *shape) {
    const bp__elementwise_request r = binary(BP_BINARY_ADD, a, b, NULL, true);
    return bp__elementwise_shape(&r, ndim, shape);
}

bp_status bp_take_shape(const DLTensor *input, const DLTensor *indices, int axis, int *ndim, int64_t *shape) {
    const bp__elementwise_request r = indexed(BP_OP_TAKE, input, indices, axis, NULL, true);
    return bp__elementwise_shape(&r, ndim, shape);
}
