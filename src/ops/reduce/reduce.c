/* reduce.c - runs, plans and explains reductions and softmax. */
#include "ops/reduce/call.h"

/* Returns the call with what its description tells. The axes of a softmax are in the result, so it is not copied. */
static const bp__reduction *read_call(bp__reduction *r, const bp_call *described, const void *call,
                                      bool data_optional) {
    const bp__pass *pass = described->passes;
    *r = (bp__reduction){.described = described,
                         .pass = pass,
                         .call = call,
                         .op = pass->info.op,
                         .inputs = pass->info.input_count,
                         .axes = &r->axis,
                         .axis_count = 1,
                         .data_optional = data_optional};
    for (int i = 0; i < pass->info.operand_count; i++) {
        r->operand[i] = bp__call_tensor(call, &pass->operand[i]);
    }
    r->joins = r->op == BP_OP_REDUCE || r->op == BP_OP_VARIANCE;
    if (r->op == BP_OP_REDUCE) {
        const bp__reduce_arguments *reduce = call;
        r->kind = (int)reduce->kind;
        r->axes = reduce->axes;
        r->axis_count = reduce->axis_count;
        r->keep = reduce->keep != 0;
    } else if (r->op == BP_OP_VARIANCE) {
        const bp__variance_arguments *variance = call;
        r->kind = (int)variance->kind;
        r->axes = variance->axes;
        r->axis_count = variance->axis_count;
        r->keep = variance->keep != 0;
        r->correction = variance->correction;
    } else if (r->op == BP_OP_SOFTMAX) {
        r->kind = (int)((const bp__softmax_arguments *)call)->kind;
        r->axis = ((const bp__softmax_arguments *)call)->axis;
    } else {
        r->kind = (int)((const bp__softmax_backward_arguments *)call)->kind;
        r->axis = ((const bp__softmax_backward_arguments *)call)->axis;
    }
    return r;
}

bp_status bp__reduce_make(bp_problem *problem, const void *asked) {
    const bp__call_request *request = asked;
    bp__reduction own;
    const bp__reduction *r = read_call(&own, request->described, request->call, request->data_optional);
    uint64_t reduced;
    BP__TRY(bp__reduce_check(r, &reduced));
    bp__reduce_lower(problem, r, reduced);
    return BP_OK;
}

static bp_status result_shape(const void *call, bp__call_result *result) {
    bp__reduction own;
    return bp__reduce_result(read_call(&own, result->described, call, true), result);
}

/* ---- The descriptions ---- */

#define DESCRIBED(name, NAME, ndim, most, in_place, sentence)                                                          \
    const bp_call bp__##name##_call = {                                                                                \
        .info = {#name, sentence, sizeof(bp__##name##_arguments), BP__COUNT(bp__##name##_fields), 1, in_place, false}, \
        .op = BP_OP_##NAME,                                                                                            \
        .ndim_offset = ndim,                                                                                           \
        .ndim_most = most,                                                                                             \
        .fields = bp__##name##_fields,                                                                                 \
        .family = &bp__family_reduce,                                                                                  \
        .passes = bp__##name##_passes,                                                                                 \
        .shape = result_shape,                                                                                         \
    };

DESCRIBED(reduce, REDUCE, offsetof(bp__reduce_arguments, axis_count), BP_MAX_NDIM, 0,
          "sums, means, extremes, truths of dimensions")
DESCRIBED(variance, VARIANCE, offsetof(bp__variance_arguments, axis_count), BP_MAX_NDIM, 0,
          "variances, standard deviations")
DESCRIBED(softmax, SOFTMAX, -1, 0, 1, "softmax along an axis")
DESCRIBED(softmax_backward, SOFTMAX_BACKWARD, -1, 0, 0, "the gradient of softmax by its input")

/* ---- Functions ---- */

BP__DEFINE_OF_ARGUMENTS(reduce, bp__reduce_arguments,
                        (bp_reduce_kind kind, const DLTensor *input, int axis_count, const int *axes, int keep), output,
                        kind, axis_count, keep, axes, input, output)
BP__DEFINE_OF_ARGUMENTS(variance, bp__variance_arguments,
                        (bp_variance_kind kind, const DLTensor *input, int axis_count, const int *axes,
                         double correction, int keep),
                        output, kind, axis_count, correction, keep, axes, input, output)
BP__DEFINE_OF_ARGUMENTS(softmax, bp__softmax_arguments, (bp_softmax_kind kind, const DLTensor *input, int axis), output,
                        kind, axis, input, output)
BP__DEFINE_OF_ARGUMENTS(softmax_backward, bp__softmax_backward_arguments,
                        (bp_softmax_kind kind, const DLTensor *output, const DLTensor *output_gradient, int axis),
                        input_gradient, kind, axis, output, output_gradient, input_gradient)

bp_status bp_reduce_shape(const DLTensor *input, int axis_count, const int *axes, int keep, int *ndim, int64_t *shape) {
    const bp__reduce_arguments call = {sizeof call, BP_REDUCE_SUM, axis_count, keep, axes, input, NULL};
    return bp__call_output_shape(&bp__reduce_call, &call, ndim, shape);
}
