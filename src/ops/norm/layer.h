/* layer.h - converts a call of layer, RMS or group normalization to the problem that providers accept. */
#ifndef BP_OPS_NORM_LAYER_H
#define BP_OPS_NORM_LAYER_H

#include "backplane/norm.h"
#include "dispatch/internal.h"

typedef enum bp__layer_kind {
    BP__LAYER_IMAGE,  /* has the shape of the input */
    BP__LAYER_WEIGHT, /* has an element for each weight */
    BP__LAYER_ROWS    /* has an element for each row */
} bp__layer_kind;

typedef struct bp__layer_operand {
    const char *name;
    const DLTensor *tensor; /* NULL: absent */
    bp__layer_kind kind;
    bool required, output;
} bp__layer_operand;

/* Writes the operands of the call's plan. Returns how many there are. */
int bp__layer_operands(const bp_layer_norm_call *call, bp__layer_operand operands[BP_LAYER_NORM_OPERANDS]);

bp_status bp__layer_check(const bp_layer_norm_call *call, bool data_optional);

/* Fills a zeroed problem. */
void bp__layer_lower(bp_problem *problem, const bp_layer_norm_call *call);

/* The arguments of a call, for bp__family.make. */
typedef struct bp__layer_request {
    const bp_layer_norm_call *call;
    bool data_optional;
} bp__layer_request;

bool bp__layer_norm_elements(const bp_problem *problem, int operand, bp__elements *elements); /* see bp__family */

#endif
