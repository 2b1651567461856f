/* pad.h - converts calls that pad, reverse and rotate tensors to the problem that providers accept. The files of this
 * folder share it. */
#ifndef BP_OPS_PAD_H
#define BP_OPS_PAD_H

#include "backplane/pad.h"
#include "ops/call.h"

/* The arguments of the public functions. */
typedef struct bp__pad_arguments {
    size_t struct_size;
    bp_pad_mode mode;
    int ndim;
    double value;
    const int64_t *before, *after;
    const DLTensor *input, *output;
} bp__pad_arguments;

typedef struct bp__flip_arguments {
    size_t struct_size;
    int axis_count;
    const int *axes;
    const DLTensor *input, *output;
} bp__flip_arguments;

typedef struct bp__roll_arguments {
    size_t struct_size;
    int axis_count;
    const int *axes;
    const int64_t *shifts;
    const DLTensor *input, *output;
} bp__roll_arguments;

/* The place of the elements of each dimension in the output. */
typedef struct bp__pad_map {
    bp_pad_mode mode;
    uint64_t flipped;            /* bit d: dimension d is reversed */
    int64_t before[BP_MAX_NDIM]; /* where the first element is in the output */
    int64_t shape[BP_MAX_NDIM];  /* of the output */
} bp__pad_map;

/* Checks the arguments but the output, and finds where elements go. */
bp_status bp__pad_find(bp__pad_map *map, const bp_call *described, const void *call);

/* Writes the bytes of a value of a type; the others of the 16 are 0. */
bp_status bp__pad_value(uint8_t bytes[16], double value, bp_dtype dtype);

bp_status bp__pad_make(bp_problem *problem, const void *request);

bool bp__pad_elements(const bp_problem *problem, int operand, bp__elements *elements); /* see bp__family */

#endif
