/* described.c - runs, plans and explains einsum by its description. */
#include "ops/einsum/call.h"

static bp_einsum_call call_of(const bp__einsum_arguments *given) {
    return (bp_einsum_call){.struct_size = sizeof(bp_einsum_call),
                            .expression = given->expression,
                            .count = given->count,
                            .operands = given->operands};
}

static bp_status run_call(const bp_call *described, const bp_options *options, const void *given) {
    const bp__einsum_arguments *arguments = given;
    const bp_einsum_call call = call_of(arguments);
    (void)described;
    return bp_einsum_run(options, &call, (DLTensor *)(uintptr_t)arguments->output);
}

static bp_status plan_call(const bp_call *described, bp_plan **plan, const bp_options *options, const void *given) {
    const bp__einsum_arguments *arguments = given;
    const bp_einsum_call call = call_of(arguments);
    (void)described;
    return bp_einsum_plan(plan, options, &call, arguments->output);
}

static bp_status explain_call(const bp_call *described, bp_explanation **explanation, const bp_options *options,
                              const void *given) {
    const bp__einsum_arguments *arguments = given;
    const bp_einsum_call call = call_of(arguments);
    (void)described;
    return bp_einsum_explain(explanation, options, &call, arguments->output);
}

static bp_status result_shape(const void *given, bp__call_result *result) {
    const bp_einsum_call call = call_of(given);
    return bp_einsum_shape(&call, &result->dtype, &result->ndim, result->shape);
}

static const bp__call_functions functions = {run_call, plan_call, explain_call};

const bp_call bp__einsum_call = {
    .info = {"einsum", "sums of products in Einstein's notation", sizeof(bp__einsum_arguments),
             BP__COUNT(bp__einsum_fields), 1, 0, false},
    .op = BP_OP_EINSUM,
    .ndim_offset = -1,
    .count_offset = offsetof(bp__einsum_arguments, count),
    .fields = bp__einsum_fields,
    .family = &bp__family_einsum,
    .passes = bp__einsum_passes,
    .shape = result_shape,
    .functions = &functions,
};
