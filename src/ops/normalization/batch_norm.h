/* batch_norm.h - converts a call of batch normalization to the problem that providers accept. The files of this folder
 * share it. */
#ifndef BP_OPS_BATCH_NORM_H
#define BP_OPS_BATCH_NORM_H

#include "backplane/norm.h"
#include "ops/call.h"

/* The shape of an operand (bp__call_operand.shape). */
typedef enum bp__batch_norm_shape {
    BP__NORM_IMAGE,   /* the shape of the input */
    BP__NORM_CHANNELS /* one element for each channel */
} bp__batch_norm_shape;

const bp__pass *bp__batch_norm_pass(const void *call); /* of bp_call */

/* Checks everything about a call. */
bp_status bp__batch_norm_check(const bp_batch_norm_call *call, bool data_optional);

bp_status bp__batch_norm_result(const void *call, bp__call_result *result); /* bp_call.shape */

/* Fills a zeroed problem. */
void bp__batch_norm_lower(bp_problem *problem, const bp_batch_norm_call *call);

bp_status bp__batch_norm_make(bp_problem *problem, const void *request);

bool bp__batch_norm_elements(const bp_problem *problem, int operand, bp__elements *elements); /* see bp__family */

#endif
