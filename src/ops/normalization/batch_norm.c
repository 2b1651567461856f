/* batch_norm.c - runs, plans and explains batch normalization. */
#include "ops/normalization/call.h"
#include "ops/normalization/batch_norm.h"

/* A gradient without the statistics of the batch has constant ones. */
const bp__pass *bp__batch_norm_pass(const void *given) {
    const bp_batch_norm_call *call = given;
    const bool constant = call->pass == BP_BATCH_NORM_BACKWARD && !call->mean && !call->inverse_std;
    return (unsigned)call->pass > BP_BATCH_NORM_BACKWARD
               ? NULL
               : &bp__batch_norm_passes[constant ? BP__NORM_BACKWARD_CONSTANT : (int)call->pass];
}

const bp_call bp__batch_norm_call = {
    .info = {"batch_norm", "batch normalization", sizeof(bp_batch_norm_call), BP__COUNT(bp__batch_norm_fields),
             sizeof(bp__batch_norm_passes) / sizeof(bp__pass), 0, false},
    .op = BP_OP_BATCH_NORM,
    .ndim_offset = -1,
    .images = true,
    .fields = bp__batch_norm_fields,
    .family = &bp__family_batch_norm,
    .passes = bp__batch_norm_passes,
    .pass = bp__batch_norm_pass,
    .shape = bp__batch_norm_result,
};

static bp_status bp__batch_norm_problem(bp_problem *problem, const bp_batch_norm_call *call, bool data_optional) {
    BP__TRY(bp__batch_norm_check(call, data_optional));
    bp__batch_norm_lower(problem, call);
    return BP_OK;
}

BP__DEFINE_RUN(batch_norm, bp_batch_norm_call)
BP__DEFINE_PLAN(batch_norm, bp_batch_norm_call)

bp_status bp_batch_norm(const DLTensor *input, const DLTensor *running_mean, const DLTensor *running_var,
                        const DLTensor *weight, const DLTensor *bias, double eps, DLTensor *output) {
    /* Inference only reads the statistics. */
    const bp_batch_norm_call call = {.struct_size = sizeof call,
                                     .eps = eps,
                                     .input = input,
                                     .weight = weight,
                                     .bias = bias,
                                     .output = output,
                                     .running_mean = (DLTensor *)(uintptr_t)running_mean,
                                     .running_var = (DLTensor *)(uintptr_t)running_var};
    return bp_batch_norm_run(NULL, &call);
}
