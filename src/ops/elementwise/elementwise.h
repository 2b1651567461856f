/* elementwise.h - converts operations on single elements to the problem that providers accept. The files of this folder
 * share it. */
#ifndef BP_OPS_ELEMENTWISE_H
#define BP_OPS_ELEMENTWISE_H

#include "backplane/elementwise.h"
#include "dispatch/internal.h"

/* The arguments of a call, for bp__family.make. Operands are in the order of BP_OP_MAP. */
typedef struct bp__elementwise_request {
    bp_op op;
    uint32_t kind; /* UNARY, BINARY */
    int axis;      /* TAKE, GATHER */
    int count;     /* operands; the last one is the output */
    const DLTensor *operand[BP_ELEMENTWISE_OPERANDS];
    bool data_optional;
} bp__elementwise_request;

bp_status bp__elementwise_make(bp_problem *problem, const void *request);

/* Writes the shape of the output, which the request need not have. */
bp_status bp__elementwise_shape(const bp__elementwise_request *request, int *ndim, int64_t *shape);

/* Returns whether both tensors have one type, and an element of each index at one address. */
bool bp__elementwise_same(const DLTensor *a, const DLTensor *b);

/* Converts an axis that may count from the last dimension. */
bp_status bp__elementwise_axis(const char *name, int axis, int ndim, int *from_first);

/* Returns the plan of a call whose output is not empty, with a reference, under the settings of the calling thread. */
bp_status bp__elementwise_prepare(const bp__elementwise_request *request, bp_plan **plan);

/* Runs a request with its plan. */
bp_status bp__elementwise_run_prepared(const bp__elementwise_request *request, const bp_plan *plan);

bool bp__elementwise_elements(const bp_problem *problem, int operand, bp__elements *elements); /* see bp__family */

#endif
