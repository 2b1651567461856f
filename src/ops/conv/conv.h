/* conv.h - converts a convolution call to the problem that providers accept. The files of this folder share it. */
#ifndef BP_OPS_CONV_H
#define BP_OPS_CONV_H

#include "backplane/conv.h"
#include "ops/call.h"

/* A call, resolved: sizes, and parameters with their defaults applied. */
typedef struct bp__conv {
    const bp_conv_call *call;
    const DLTensor *input, *weight, *bias, *output; /* or the gradients by them, which the pass has instead */
    bp_dtype dtype;
    bool single; /* input and output have no dimension of items */
    int ndim;
    int64_t groups, items, in_channels, out_channels; /* channels of all groups */
    int64_t in[BP_CONV_NDIM], out[BP_CONV_NDIM], kernel[BP_CONV_NDIM];
    int64_t stride[BP_CONV_NDIM], dilation[BP_CONV_NDIM];
    int64_t begin[BP_CONV_NDIM], end[BP_CONV_NDIM]; /* padding */
} bp__conv;

/* Checks the parameters, and input and weight, and computes the sizes of the output. */
bp_status bp__conv_resolve(bp__conv *conv, const bp_conv_call *call, bool data_optional);

/* Checks output and bias, that there are no other tensors, and that the written ones overlap nothing. */
bp_status bp__conv_check(const bp__conv *conv, bool data_optional);

/* Writes the shape of the output. Returns its rank. */
int bp__conv_output_shape(const bp__conv *conv, int64_t *shape);

/* Fills a zeroed problem. */
void bp__conv_lower(bp_problem *problem, const bp__conv *conv);

const bp__pass *bp__conv_pass(const void *call); /* of bp_call */

bp_status bp__conv_make(bp_problem *problem, const void *request);

bool bp__conv_elements(const bp_problem *problem, int operand, bp__elements *elements); /* see bp__family */

#endif
