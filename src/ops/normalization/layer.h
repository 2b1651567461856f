/* layer.h - converts a call of layer, RMS or group normalization to the problem that providers accept. */
#ifndef BP_OPS_NORMALIZATION_LAYER_H
#define BP_OPS_NORMALIZATION_LAYER_H

#include "backplane/norm.h"
#include "ops/call.h"

/* The shape of an operand (bp__call_operand.shape). */
typedef enum bp__layer_shape {
    BP__LAYER_IMAGE,  /* the shape of the input */
    BP__LAYER_WEIGHT, /* an element for each weight */
    BP__LAYER_ROWS    /* an element for each row */
} bp__layer_shape;

const bp__pass *bp__layer_pass(const void *call); /* of bp_call */

bp_status bp__layer_check(const bp_layer_norm_call *call, bool data_optional);

bp_status bp__layer_result(const void *call, bp__call_result *result); /* bp_call.shape */

/* Fills a zeroed problem. */
void bp__layer_lower(bp_problem *problem, const bp_layer_norm_call *call);

bp_status bp__layer_norm_make(bp_problem *problem, const void *request); /* see bp__family */

bool bp__layer_norm_elements(const bp_problem *problem, int operand, bp__elements *elements); /* see bp__family */

#endif
