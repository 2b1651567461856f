/* attention.c - runs, plans and explains attention. */
#include "ops/attention/call.h"

const bp__pass *bp__attention_pass(const void *given) {
    const bp_attention_call *call = given;
    if ((unsigned)call->pass > BP_ATTENTION_BACKWARD || (call->pages && call->pass == BP_ATTENTION_BACKWARD)) {
        return NULL;
    }
    return &bp__attention_passes[call->pages && call->lengths ? BP__ATTENTION_PAGED
                                 : call->lengths              ? BP__ATTENTION_LENGTHS + (int)call->pass
                                                              : (int)call->pass];
}

bp_attention_tensor bp__attention_tensor_of(bp_op op, int operand) {
    int pass = 0;
    while (bp__attention_passes[pass].info.op != op) {
        pass++;
    }
    return (bp_attention_tensor)bp__attention_passes[pass].operand[operand].shape;
}

static bp_status result_shape(const void *given, bp__call_result *result) {
    const bp_attention_call *call = given;
    bp__attention attention;
    BP__TRY(bp__attention_resolve(&attention, call, true));
    result->dtype = attention.dtype;
    result->ndim = bp__attention_output_shape(&attention, result->shape);
    if (result->pass->operand[result->operand].info.offset == offsetof(bp_attention_call, logsumexp)) {
        result->dtype = attention.dtype == BP_F64 ? BP_F64 : BP_F32;
        result->ndim--;
    }
    return BP_OK;
}

const bp_call bp__attention_call = {
    .info = {"attention", "scaled dot-product attention", sizeof(bp_attention_call), BP__COUNT(bp__attention_fields),
             sizeof(bp__attention_passes) / sizeof(bp__pass), 0, false},
    .op = BP_OP_ATTENTION,
    .ndim_offset = -1,
    .sparse_numbers = true,
    .fields = bp__attention_fields,
    .family = &bp__family_attention,
    .passes = bp__attention_passes,
    .pass = bp__attention_pass,
    .shape = result_shape,
};

static bp_status bp__attention_problem(bp_problem *problem, const bp_attention_call *call, bool data_optional) {
    bp__attention attention;
    BP__TRY(bp__attention_resolve(&attention, call, data_optional));
    BP__TRY(bp__attention_check(&attention, data_optional));
    return bp__attention_lower(problem, &attention);
}

static bp_status bp__attention_output(const bp_attention_call *call, bp_dtype *dtype, int *ndim, int64_t *shape) {
    bp__attention attention;
    BP__TRY(bp__attention_resolve(&attention, call, true));
    *dtype = attention.dtype;
    *ndim = bp__attention_output_shape(&attention, shape);
    return BP_OK;
}

BP__DEFINE_RUN(attention, bp_attention_call)
BP__DEFINE_PLAN(attention, bp_attention_call)
BP__DEFINE_SHAPE(attention, bp_attention_call)

bp_status bp_attention(const DLTensor *query, const DLTensor *key, const DLTensor *value, const DLTensor *mask,
                       int is_causal, DLTensor *output) {
    const bp_attention_call call = {.struct_size = sizeof call,
                                    .is_causal = is_causal,
                                    .query = query,
                                    .key = key,
                                    .value = value,
                                    .mask = mask,
                                    .output = output};
    return bp_attention_run(NULL, &call);
}
