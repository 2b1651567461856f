/* reduce.h - converts calls of reductions and softmax to the problem that providers accept. The files of this folder
 * share it. */
#ifndef BP_OPS_REDUCE_H
#define BP_OPS_REDUCE_H

#include "backplane/reduce.h"
#include "dispatch/internal.h"

/* The arguments of a call, for bp__family.make. */
typedef struct bp__reduce_request {
    bp_op op;
    int kind;                   /* a bp_reduce_kind or a bp_softmax_kind */
    const DLTensor *operand[3]; /* inputs, then the output */
    const int32_t *axes;        /* NULL: all */
    int32_t axis_count;
    bool keep, data_optional;
} bp__reduce_request;

static inline int bp__reduce_inputs(bp_op op) {
    return op == BP_OP_SOFTMAX_BACKWARD ? 2 : 1;
}

/* Checks everything about a call, and writes which dimensions are reduced, bit i for dimension i. */
bp_status bp__reduce_check(const bp__reduce_request *request, uint64_t *reduced);

/* The same for the axes of a tensor with `ndim` dimensions alone. */
bp_status bp__reduce_axes(int ndim, const int32_t *axes, int32_t count, uint64_t *reduced);

/* Writes the shape of the output. Returns its rank. */
int bp__reduce_output_shape(const DLTensor *input, uint64_t reduced, bool keep, int64_t *shape);

/* Returns whether the output of a softmax is its input: the same address and strides. */
bool bp__reduce_in_place(const bp__reduce_request *request);

/* Fills a zeroed problem. */
void bp__reduce_lower(bp_problem *problem, const bp__reduce_request *request, uint64_t reduced);

bp_status bp__reduce_make(bp_problem *problem, const void *request);

bool bp__reduce_elements(const bp_problem *problem, int operand, bp__elements *elements); /* see bp__family */

#endif
