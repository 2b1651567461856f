/* elementwise.c - runs, plans and explains operations on single elements. */
#include "ops/elementwise/call.h"

/* ---- The descriptions ---- */

#define DESCRIBED(name, NAME, arguments, in_place, is_pointwise, sentence)                                             \
    const bp_call bp__##name##_call = {                                                                                \
        .info = {#name, sentence, sizeof(arguments), BP__COUNT(bp__##name##_fields), 1, in_place, false},              \
        .op = BP_OP_##NAME,                                                                                            \
        .ndim_offset = -1,                                                                                             \
        .pointwise = is_pointwise,                                                                                     \
        .fields = bp__##name##_fields,                                                                                 \
        .family = &bp__family_elementwise,                                                                             \
        .passes = bp__##name##_passes,                                                                                 \
        .shape = bp__elementwise_shape,                                                                                \
    };

DESCRIBED(unary, UNARY, bp__unary_arguments, 1, true, "functions of single elements, and copies")
DESCRIBED(binary, BINARY, bp__binary_arguments, 2, true, "functions of two elements")
DESCRIBED(where, WHERE, bp__where_arguments, 3, true, "elements of one of two tensors, by a condition")
DESCRIBED(take, TAKE, bp__indexed_arguments, 0, false, "slices along an axis, by their indices")
DESCRIBED(gather, GATHER, bp__indexed_arguments, 0, false, "elements along an axis, by their indices")

/* ---- Copies that concat prepares ---- */

bp_status bp__copy_prepare(const DLTensor *input, const DLTensor *output, bp_plan **plan) {
    const bp__unary_arguments call = {sizeof call, BP_UNARY_COPY, BP_DTYPE_NONE, NULL, NULL, input, output};
    const bp__call_request request = {.call = &call, .described = &bp__unary_call};
    bp__operation operation;
    bp_problem problem;
    bool fresh;
    bp__call_describe(&bp__unary_call, &operation, &call);
    *plan = (bp_plan *)(uintptr_t)bp__operation_find(&operation);
    if (BP__LIKELY(*plan != NULL)) {
        bp__plan_retain(*plan);
        return BP_OK;
    }
    BP__TRY(bp__problem_make(&problem, &bp__family_elementwise, &request));
    BP__TRY(bp__cache_get(plan, &problem, &fresh));
    bp__operation_remember(&operation, *plan);
    return BP_OK;
}

bp_status bp__copy_run_prepared(const DLTensor *input, const DLTensor *output, const bp_plan *plan) {
    const bp__unary_arguments call = {sizeof call, BP_UNARY_COPY, BP_DTYPE_NONE, NULL, NULL, input, output};
    bp__operation operation;
    bp__call_describe(&bp__unary_call, &operation, &call);
    return bp__operation_run(&operation, plan);
}

/* ---- Functions ---- */

BP__DEFINE_OF_ARGUMENTS(unary, bp__unary_arguments, (bp_unary_kind kind, const DLTensor *input), output, kind,
                        BP_DTYPE_NONE, NULL, NULL, input, output)

/* The arguments of a function with the first numbers that it takes. */
static bp_status with_numbers(bp__unary_arguments *call, bp_unary_kind kind, int number_count, const double *numbers,
                              const DLTensor *input, const DLTensor *output) {
    if (number_count < 0 || number_count > 2 || (number_count > 0 && !numbers)) {
        return bp__fail(BP_E_ARGUMENT, "number_count is %d, and numbers is %s; functions take 0 to 2 numbers",
                        number_count, numbers ? "given" : "NULL");
    }
    *call = (bp__unary_arguments){
        sizeof *call, kind,  BP_DTYPE_NONE, number_count > 0 ? numbers : NULL, number_count > 1 ? numbers + 1 : NULL,
        input,        output};
    return BP_OK;
}

bp_status bp_unary_with_run(const bp_options *options, bp_unary_kind kind, int number_count, const double *numbers,
                            const DLTensor *input, DLTensor *output) {
    bp__unary_arguments call;
    BP__TRY(with_numbers(&call, kind, number_count, numbers, input, output));
    return bp__call_run_described(&bp__unary_call, options, &call);
}

bp_status bp_unary_with_plan(bp_plan **plan, const bp_options *options, bp_unary_kind kind, int number_count,
                             const double *numbers, const DLTensor *input, const DLTensor *output) {
    bp__unary_arguments call;
    if (plan) {
        *plan = NULL;
    }
    BP__TRY(with_numbers(&call, kind, number_count, numbers, input, output));
    return bp__call_plan_described(&bp__unary_call, plan, options, &call);
}

bp_status bp_unary_with_explain(bp_explanation **explanation, const bp_options *options, bp_unary_kind kind,
                                int number_count, const double *numbers, const DLTensor *input,
                                const DLTensor *output) {
    bp__unary_arguments call;
    if (explanation) {
        *explanation = NULL;
    }
    BP__TRY(with_numbers(&call, kind, number_count, numbers, input, output));
    return bp__call_explain_described(&bp__unary_call, explanation, options, &call);
}

BP__DEFINE_OF_ARGUMENTS(binary, bp__binary_arguments, (bp_binary_kind kind, const DLTensor *a, const DLTensor *b),
                        output, kind, a, b, output)
BP__DEFINE_OF_ARGUMENTS(where, bp__where_arguments, (const DLTensor *condition, const DLTensor *a, const DLTensor *b),
                        output, condition, a, b, output)
BP__DEFINE_OF_ARGUMENTS(take, bp__indexed_arguments, (const DLTensor *input, const DLTensor *indices, int axis), output,
                        axis, input, indices, output)
BP__DEFINE_OF_ARGUMENTS(gather, bp__indexed_arguments, (const DLTensor *input, const DLTensor *indices, int axis),
                        output, axis, input, indices, output)

bp_status bp_binary_shape(const DLTensor *a, const DLTensor *b, int *ndim, int64_t *shape) {
    const bp__binary_arguments call = {sizeof call, BP_BINARY_ADD, a, b, NULL};
    return bp__call_output_shape(&bp__binary_call, &call, ndim, shape);
}

bp_status bp_where_shape(const DLTensor *condition, const DLTensor *a, const DLTensor *b, int *ndim, int64_t *shape) {
    const bp__where_arguments call = {sizeof call, condition, a, b, NULL};
    return bp__call_output_shape(&bp__where_call, &call, ndim, shape);
}

bp_status bp_take_shape(const DLTensor *input, const DLTensor *indices, int axis, int *ndim, int64_t *shape) {
    const bp__indexed_arguments call = {sizeof call, axis, input, indices, NULL};
    return bp__call_output_shape(&bp__take_call, &call, ndim, shape);
}
