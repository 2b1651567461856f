/* conv.c - runs, plans and explains convolutions. */
#include "ops/conv/call.h"

const bp__pass *bp__conv_pass(const void *given) {
    const bp_conv_call *call = given;
    return (unsigned)call->pass <= BP_CONV_WEIGHT ? &bp__conv_passes[call->pass] : NULL;
}

static const bp__signature signature = {
    .name = "conv",
    .op = BP_OP_CONV,
    .ndim_offset = offsetof(bp_conv_call, ndim),
    .ndim_most = BP_CONV_NDIM,
    .fields = bp__conv_fields,
    .count = BP__COUNT(bp__conv_fields),
    .family = &bp__family_conv,
    .pass = bp__conv_pass,
};

static bp_status bp__conv_problem(bp_problem *problem, const bp_conv_call *call, bool data_optional) {
    bp__conv conv;
    BP__TRY(bp__conv_resolve(&conv, call, data_optional));
    BP__TRY(bp__conv_check(&conv, data_optional));
    bp__conv_lower(problem, &conv);
    return BP_OK;
}

static bp_status bp__conv_output(const bp_conv_call *call, bp_dtype *dtype, int *ndim, int64_t *shape) {
    bp__conv conv;
    BP__TRY(bp__conv_resolve(&conv, call, true));
    *dtype = conv.dtype;
    *ndim = bp__conv_output_shape(&conv, shape);
    return BP_OK;
}

BP__DEFINE_RUN(conv, bp_conv_call, signature)
BP__DEFINE_PLAN(conv, bp_conv_call, bp__family_conv)
BP__DEFINE_SHAPE(conv, bp_conv_call)
