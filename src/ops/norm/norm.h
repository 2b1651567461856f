/* norm.h - converts a call of batch normalization to the problem that providers accept. The files of this folder share
 * it. */
#ifndef BP_OPS_NORM_H
#define BP_OPS_NORM_H

#include "backplane/norm.h"
#include "dispatch/internal.h"

#define BP__NORM_OPERANDS 8

typedef enum bp__norm_kind {
    BP__NORM_IMAGE,   /* has the shape of the input */
    BP__NORM_CHANNELS /* has one element for each channel */
} bp__norm_kind;

/* An operand of a pass. */
typedef struct bp__norm_operand {
    const char *name;
    const DLTensor *tensor; /* NULL: absent */
    bp__norm_kind kind;
    bool required, output;
} bp__norm_operand;

/* Writes the operands of the call's plan. Returns how many there are. */
int bp__norm_operands(const bp_batch_norm_call *call, bp__norm_operand operands[BP__NORM_OPERANDS]);

/* Checks everything about a call. */
bp_status bp__norm_check(const bp_batch_norm_call *call, bool data_optional);

/* Fills a zeroed problem. */
void bp__norm_lower(bp_problem *problem, const bp_batch_norm_call *call);

/* The arguments of a call, for bp__family.make. */
typedef struct bp__norm_request {
    const bp_batch_norm_call *call;
    bool data_optional;
} bp__norm_request;

bp_status bp__norm_make(bp_problem *problem, const void *request);

bool bp__norm_elements(const bp_problem *problem, int operand, bp__elements *elements); /* see bp__family */

#endif
