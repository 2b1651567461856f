/* elementwise.h - converts operations on single elements to the problem that providers accept. The files of this folder
 * share it. */
#ifndef BP_OPS_ELEMENTWISE_H
#define BP_OPS_ELEMENTWISE_H

#include "backplane/elementwise.h"
#include "ops/call.h"

/* The arguments of the public functions. */
typedef struct bp__unary_arguments {
    size_t struct_size;
    bp_unary_kind kind;
    bp_dtype dtype; /* of copies: the type of the output; BP_DTYPE_NONE: the output's own */
    const double *first, *second; /* NULL: the usual number of the function, or it takes none */
    const DLTensor *input, *output;
} bp__unary_arguments;

typedef struct bp__binary_arguments {
    size_t struct_size;
    bp_binary_kind kind;
    const DLTensor *a, *b, *output;
} bp__binary_arguments;

typedef struct bp__where_arguments {
    size_t struct_size;
    const DLTensor *condition, *a, *b, *output;
} bp__where_arguments;

typedef struct bp__indexed_arguments { /* of take and gather */
    size_t struct_size;
    int axis;
    const DLTensor *input, *indices, *output;
} bp__indexed_arguments;

typedef struct bp__concat_arguments {
    size_t struct_size;
    int axis, count;
    const DLTensor *const *tensors;
    const DLTensor *output;
} bp__concat_arguments;

bp_status bp__elementwise_make(bp_problem *problem, const void *request);

/* Write type and shape of the output: see bp_call. */
bp_status bp__elementwise_shape(const void *call, bp__call_result *result);

/* Writes the numbers of a function of one element of this type, of a call whose kind is known. Fails if it takes no
 * such numbers. */
bp_status bp__elementwise_numbers(double *numbers, const bp__unary_arguments *call, bp_dtype dtype);

/* Converts an axis that may count from the last dimension. */
bp_status bp__elementwise_axis(const char *name, int axis, int ndim, int *from_first);

/* Returns the plan of a copy whose output is not empty, with a reference, under the settings of the calling thread. */
bp_status bp__copy_prepare(const DLTensor *input, const DLTensor *output, bp_plan **plan);

/* Runs a copy with its plan. */
bp_status bp__copy_run_prepared(const DLTensor *input, const DLTensor *output, const bp_plan *plan);

bool bp__elementwise_elements(const bp_problem *problem, int operand, bp__elements *elements); /* see bp__family */

#endif
