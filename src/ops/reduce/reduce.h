/* reduce.h - converts calls of reductions and softmax to the problem that providers accept. The files of this folder
 * share it. */
#ifndef BP_OPS_REDUCE_H
#define BP_OPS_REDUCE_H

#include "backplane/reduce.h"
#include "ops/call.h"

/* The arguments of the public functions. */
typedef struct bp__reduce_arguments {
    size_t struct_size;
    bp_reduce_kind kind;
    int axis_count;
    int keep;
    const int *axes;
    const DLTensor *input, *output;
} bp__reduce_arguments;

typedef struct bp__variance_arguments {
    size_t struct_size;
    bp_variance_kind kind;
    int axis_count;
    double correction;
    int keep;
    const int *axes;
    const DLTensor *input, *output;
} bp__variance_arguments;

typedef struct bp__softmax_arguments {
    size_t struct_size;
    bp_softmax_kind kind;
    int axis;
    const DLTensor *input, *output;
} bp__softmax_arguments;

typedef struct bp__softmax_backward_arguments {
    size_t struct_size;
    bp_softmax_kind kind;
    int axis;
    const DLTensor *output, *output_gradient, *input_gradient;
} bp__softmax_backward_arguments;

/* A call with what its description tells. */
typedef struct bp__reduction {
    const bp_call *described;
    const bp__pass *pass;
    const void *call;
    bp_op op;
    int kind; /* a bp_reduce_kind, a bp_variance_kind or a bp_softmax_kind */
    int inputs;
    const DLTensor *operand[3]; /* inputs, then the output */
    int axis;                   /* of softmax */
    const int *axes;            /* NULL: all */
    int axis_count;
    double correction; /* of a variance */
    bool joins;        /* a reduction, not softmax */
    bool keep, data_optional;
} bp__reduction;

/* The words of the enumerations. */
const char *bp__reduce_word(bp_op op, uint32_t kind);

/* Checks everything about a call, and writes which dimensions are reduced, bit i for dimension i. */
bp_status bp__reduce_check(const bp__reduction *reduction, uint64_t *reduced);

/* Writes type and shape of the output: see bp_call. */
bp_status bp__reduce_result(const bp__reduction *reduction, bp__call_result *result);

/* Writes the shape of the output. Returns its rank. */
int bp__reduce_output_shape(const bp__reduction *reduction, uint64_t reduced, int64_t *shape);

/* Fills a zeroed problem. */
void bp__reduce_lower(bp_problem *problem, const bp__reduction *reduction, uint64_t reduced);

bp_status bp__reduce_make(bp_problem *problem, const void *request);

bool bp__reduce_elements(const bp_problem *problem, int operand, bp__elements *elements); /* see bp__family */

#endif
