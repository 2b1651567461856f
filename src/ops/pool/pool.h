/* pool.h - converts a pooling call to the problem that providers accept. The files of this folder share it. */
#ifndef BP_OPS_POOL_H
#define BP_OPS_POOL_H

#include "backplane/pool.h"
#include "ops/call.h"

/* A call, resolved: sizes, and parameters with their defaults applied. */
typedef struct bp__pool {
    const bp_pool_call *call;
    const DLTensor *input, *output; /* or the gradients by them, which BACKWARD has */
    bp_dtype dtype;
    bool single; /* the tensors have no dimension of items */
    bool adaptive;
    int ndim;
    int64_t items, channels;
    int64_t in[BP_POOL_NDIM], out[BP_POOL_NDIM];
    int64_t kernel[BP_POOL_NDIM], stride[BP_POOL_NDIM], dilation[BP_POOL_NDIM], padding[BP_POOL_NDIM];
} bp__pool;

/* Checks the parameters and the input, and computes the sizes of the output. */
bp_status bp__pool_resolve(bp__pool *pool, const bp_pool_call *call, bool data_optional);

/* Checks output and indices, that there are no other tensors, and that the written ones overlap nothing. */
bp_status bp__pool_check(const bp__pool *pool, bool data_optional);

/* Writes the shape of the output. Returns its rank. */
int bp__pool_output_shape(const bp__pool *pool, int64_t *shape);

/* Returns the pass of a call; NULL if it has none. */
const bp__pass *bp__pool_pass(const void *call);

/* Fills a zeroed problem. */
void bp__pool_lower(bp_problem *problem, const bp__pool *pool);

bp_status bp__pool_make(bp_problem *problem, const void *request);

bool bp__pool_elements(const bp_problem *problem, int operand, bp__elements *elements); /* see bp__family */

#endif
