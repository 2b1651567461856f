/* layer.c - runs, plans, explains and describes layer, RMS and group normalization. */
#include "ops/normalization/layer_call.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Problems are hashed and compared byte by byte, so there must be no padding. */
_Static_assert(sizeof(bp_layer_norm_problem) == (3 + (1 + BP_LAYER_NORM_OPERANDS) * BP_MAX_LAYER_NORM_NDIM) * 8,
               "bytes between the fields");

/* Writes "f32 128 rows of 768 elements". */
static void text(const bp_problem *problem, char *buffer, size_t size) {
    const bp_layer_norm_problem *p = &problem->of.layer_norm;
    int64_t rows = 1, elements = 1;
    char parameters[32] = "";
    for (int d = 0; d < p->ndim; d++) {
        *(d < p->row_ndim ? &rows : &elements) *= p->size[d];
    }
    if (p->parameters != problem->dtype) {
        snprintf(parameters, sizeof parameters, ", parameters %s", bp_dtype_name((bp_dtype)p->parameters));
    }
    snprintf(buffer, size, "%s %" PRId64 " rows of %" PRId64 " elements%s%s", bp_dtype_name((bp_dtype)problem->dtype),
             rows, elements, parameters, p->subtract_mean ? "" : ", mean 0");
}

const bp__family bp__family_layer_norm = {
    .size = sizeof(bp_layer_norm_problem),
    .preference = BP_SET_layer_norm_preferred,
    .preferred = &(const bp__preference){"the normalization of rows is", "normalization of rows", 0},
    .enabled = BP_SET_layer_norm_enabled,
    .precision = BP__NO_SETTING,
    .benchmark = BP_SET_layer_norm_benchmark,
    .make = bp__layer_norm_make,
    .describe = text,
    .elements = bp__layer_norm_elements,
    .measuring = &bp__measuring_layer_norm,
};

const bp__pass *bp__layer_pass(const void *given) {
    const bp_layer_norm_call *call = given;
    const bool known = (unsigned)call->pass <= BP_LAYER_NORM_BACKWARD && (unsigned)call->kind <= BP_GROUP_NORM;
    return known ? &bp__layer_passes[call->pass] : NULL;
}

const bp_call bp__layer_norm_call = {
    .info = {"layer_norm", "layer, RMS and group normalization", sizeof(bp_layer_norm_call),
             BP__COUNT(bp__layer_fields), sizeof(bp__layer_passes) / sizeof(bp__pass), 0, false},
    .op = BP_OP_LAYER_NORM,
    .ndim_offset = -1,
    .fields = bp__layer_fields,
    .family = &bp__family_layer_norm,
    .passes = bp__layer_passes,
    .pass = bp__layer_pass,
    .shape = bp__layer_result,
};

static bp_status bp__layer_norm_problem(bp_problem *problem, const bp_layer_norm_call *call, bool data_optional) {
    BP__TRY(bp__layer_check(call, data_optional));
    bp__layer_lower(problem, call);
    return BP_OK;
}

BP__DEFINE_RUN(layer_norm, bp_layer_norm_call)
BP__DEFINE_PLAN(layer_norm, bp_layer_norm_call)

/* ---- Short forms ---- */

static bp_status normalize(bp_layer_norm_kind kind, const DLTensor *input, const DLTensor *weight, const DLTensor *bias,
                           double eps, DLTensor *output) {
    const bp_layer_norm_call call = {.struct_size = sizeof call,
                                     .kind = kind,
                                     .row_ndim = weight ? weight->ndim
                                                 : bias ? bias->ndim
                                                        : 1,
                                     .eps = eps,
                                     .input = input,
                                     .weight = weight,
                                     .bias = bias,
                                     .output = output};
    return bp_layer_norm_run(NULL, &call);
}

bp_status bp_layer_norm(const DLTensor *input, const DLTensor *weight, const DLTensor *bias, double eps,
                        DLTensor *output) {
    return normalize(BP_LAYER_NORM, input, weight, bias, eps, output);
}

bp_status bp_rms_norm(const DLTensor *input, const DLTensor *weight, double eps, DLTensor *output) {
    return normalize(BP_RMS_NORM, input, weight, NULL, eps, output);
}
