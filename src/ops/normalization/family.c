/* family.c - describes batch normalization to dispatch. */
#include "ops/normalization/batch_norm.h"

#include <inttypes.h>
#include <stdio.h>

/* Problems are hashed and compared byte by byte, so there must be no padding. */
_Static_assert(sizeof(bp_batch_norm_problem) == (1 + 4 * BP_MAX_NORM_NDIM + 3 + BP_NORM_OPERANDS + 2 + 1) * 8,
               "bytes between the fields");

/* Writes "f32 100352 values of 64 channels, parameters f32". */
static void describe(const bp_problem *problem, char *buffer, size_t size) {
    const bp_batch_norm_problem *p = &problem->of.batch_norm;
    const int64_t values = p->size[0] * p->size[1] * p->size[2] * p->size[3];
    char parameters[32] = "";
    if (p->parameters != problem->dtype) {
        snprintf(parameters, sizeof parameters, ", parameters %s", bp_dtype_name((bp_dtype)p->parameters));
    }
    snprintf(buffer, size, "%s %" PRId64 " channels of %" PRId64 " values%s%s%s",
             bp_dtype_name((bp_dtype)problem->dtype), p->channels, values, parameters, p->relu ? ", relu" : "",
             problem->op == BP_OP_BATCH_NORM_BACKWARD && p->constant ? ", constant statistics" : "");
}

const bp__family bp__family_batch_norm = {
    .size = sizeof(bp_batch_norm_problem),
    .preference = BP_SET_batch_norm_preferred,
    .preferred = &(const bp__preference){"batch normalization is", "batch normalization", BP_LIB_DNN},
    .enabled = BP_SET_batch_norm_enabled,
    .precision = BP__NO_SETTING,
    .benchmark = BP_SET_batch_norm_benchmark,
    .make = bp__batch_norm_make,
    .describe = describe,
    .elements = bp__batch_norm_elements,
    .measuring = &bp__measuring_batch_norm,
};
