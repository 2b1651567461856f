/* reduce.c - runs, plans and explains reductions and softmax. */
#include "ops/reduce/reduce.h"

#include "tensor/internal.h"

bp_status bp__reduce_make(bp_problem *problem, const void *asked) {
    const bp__reduce_request *r = asked;
    uint64_t reduced;
    BP__TRY(bp__reduce_check(r, &reduced));
    bp__reduce_lower(problem, r, reduced);
    return BP_OK;
}

/* Describes the call for the cache of this thread. A call whose axes do not fit the parameters takes the slow path. */
static void describe(bp__operation *o, const bp__reduce_request *r) {
    const DLTensor *in = r->operand[0], *out = r->operand[1];
    o->key.count = 0;
    o->inputs = bp__reduce_inputs(r->op);
    o->count = o->inputs + 1;
    for (int i = 0; i < o->count; i++) {
        o->tensors[i] = r->operand[i];
    }
    o->in_place = r->op == BP_OP_SOFTMAX && in && out && in->data && bp__tensor_same_start(in, out);
    const bool fits = r->axis_count >= 0 && r->axis_count <= BP__PARAMETERS;
    o->parameter_count = fits ? r->axis_count : BP__PARAMETERS_LONG;
    for (int i = 0; fits && r->axes && i < r->axis_count; i++) {
        o->parameters[i] = (uint64_t)(int64_t)r->axes[i];
    }
    if (fits && !r->axes && r->axis_count > 0) {
        o->parameter_count = BP__PARAMETERS_LONG;
    }
    o->tag = bp__tag(r->op, (uint64_t)((unsigned)r->kind & 0xffu) | (uint64_t)r->keep << 8 |
                                (uint64_t)(r->axes != NULL) << 9 | (uint64_t)(r->axis_count & 15) << 10);
}

static bp_status run_reduction(const bp__reduce_request *r) {
    bp__operation operation;
    describe(&operation, r);
    const bp_plan *plan = (unsigned)r->kind <= 0xffu ? bp__operation_find(&operation) : NULL;
    if (BP__LIKELY(plan != NULL)) {
        return bp__operation_run(&operation, plan);
    }
    return bp__operation_run_request(&operation, &bp__family_reduce, r);
}

static bp_status run_with(const bp_options *options, const bp__reduce_request *r) {
    bp__call_scope scope;
    bp__call_enter(&scope, options);
    const bp_status status = run_reduction(r);
    bp__call_leave(&scope);
    return status;
}

/* ---- Reductions ---- */

static bp__reduce_request reduction(bp_reduce_kind kind, const DLTensor *input, const int32_t *axes, int32_t count,
                                    int keep, const DLTensor *output, bool data_optional) {
    return (bp__reduce_request){
        .op = BP_OP_REDUCE,
        .kind = (int)kind,
        .operand = {input, output},
        .axes = axes,
        .axis_count = count,
        .keep = keep != 0,
        .data_optional = data_optional,
    };
}

bp_status bp_reduce_run(const bp_options *options, bp_reduce_kind kind, const DLTensor *input, const int32_t *axes,
                        int32_t axis_count, int keep, const DLTensor *output) {
    const bp__reduce_request r = reduction(kind, input, axes, axis_count, keep, output, false);
    return run_with(options, &r);
}

bp_status bp_reduce_plan(bp_plan **plan, const bp_options *options, bp_reduce_kind kind, const DLTensor *input,
                         const int32_t *axes, int32_t axis_count, int keep, const DLTensor *output) {
    const bp__reduce_request r = reduction(kind, input, axes, axis_count, keep, output, true);
    return bp__plan_for(plan, options, &bp__family_reduce, &r);
}

bp_status bp_reduce_explain(bp_explanation **explanation, const bp_options *options, bp_reduce_kind kind,
                            const DLTensor *input, const int32_t *axes, int32_t axis_count, int keep,
                            const DLTensor *output) {
    const bp__reduce_request r = reduction(kind, input, axes, axis_count, keep, output, true);
    return bp__explain_for(explanation, options, &bp__family_reduce, &r);
}

bp_status bp_reduce_shape(const DLTensor *input, const int32_t *axes, int32_t axis_count, int keep, int32_t *ndim,
                          int64_t *shape) {
    uint64_t reduced;
    if (!ndim || !shape) {
        return bp__fail(BP_E_ARGUMENT, "%s must not be NULL", ndim ? "shape" : "ndim");
    }
    BP__TRY(bp__tensor_check(input, "input", true));
    BP__TRY(bp__reduce_axes(input->ndim, axes, axis_count, &reduced));
    *ndim = bp__reduce_output_shape(input, reduced, keep != 0, shape);
    return BP_OK;
}

/* ---- Softmax ---- */

static bp__reduce_request softmax(bp_softmax_kind kind, const DLTensor *input, const int32_t *axis,
                                  const DLTensor *output, bool data_optional) {
    return (bp__reduce_request){
        .op = BP_OP_SOFTMAX,
        .kind = (int)kind,
        .operand = {input, output},
        .axes = axis,
        .axis_count = 1,
        .data_optional = data_optional,
    };
}

bp_status bp_softmax_run(const bp_options *options, bp_softmax_kind kind, const DLTensor *input, int32_t axis,
                         const DLTensor *output) {
    const bp__reduce_request r = softmax(kind, input, &axis, output, false);
    return run_with(options, &r);
}

bp_status bp_softmax_plan(bp_plan **plan, const bp_options *options, bp_softmax_kind kind, const DLTensor *input,
                          int32_t axis, const DLTensor *output) {
    const bp__reduce_request r = softmax(kind, input, &axis, output, true);
    return bp__plan_for(plan, options, &bp__family_reduce, &r);
}

bp_status bp_softmax_explain(bp_explanation **explanation, const bp_options *options, bp_softmax_kind kind,
                             const DLTensor *input, int32_t axis, const DLTensor *output) {
    const bp__reduce_request r = softmax(kind, input, &axis, output, true);
    return bp__explain_for(explanation, options, &bp__family_reduce, &r);
}

static bp__reduce_request backward(bp_softmax_kind kind, const DLTensor *output, const DLTensor *output_gradient,
                                   const int32_t *axis, const DLTensor *input_gradient, bool data_optional) {
    return (bp__reduce_request){
        .op = BP_OP_SOFTMAX_BACKWARD,
        .kind = (int)kind,
        .operand = {output, output_gradient, input_gradient},
        .axes = axis,
        .axis_count = 1,
        .data_optional = data_optional,
    };
}

bp_status bp_softmax_backward_run(const bp_options *options, bp_softmax_kind kind, const DLTensor *output,
                                  const DLTensor *output_gradient, int32_t axis, const DLTensor *input_gradient) {
    const bp__reduce_request r = backward(kind, output, output_gradient, &axis, input_gradient, false);
    return run_with(options, &r);
}

bp_status bp_softmax_backward_plan(bp_plan **plan, const bp_options *options, bp_softmax_kind kind,
                                   const DLTensor *output, const DLTensor *output_gradient, int32_t axis,
                                   const DLTensor *input_gradient) {
    const bp__reduce_request r = backward(kind, output, output_gradient, &axis, input_gradient, true);
    return bp__plan_for(plan, options, &bp__family_reduce, &r);
}

bp_status bp_softmax_backward_explain(bp_explanation **explanation, const bp_options *options, bp_softmax_kind kind,
                                      const DLTensor *output, const DLTensor *output_gradient, int32_t axis,
                                      const DLTensor *input_gradient) {
    const bp__reduce_request r = backward(kind, output, output_gradient, &axis, input_gradient, true);
    return bp__explain_for(explanation, options, &bp__family_reduce, &r);
}
