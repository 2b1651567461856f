/* lower.c - converts resolved pooling to its problem. Equal calls become equal problems for any spelling: positions
 * without effect have stride 0, step 1 and no padding. */
#include "ops/pool/pool.h"

#include "tensor/internal.h"

static bp_op op_of(const bp_pool_call *call) {
    static const bp_op ops[2][2] = {
        [BP_POOL_MAX] = {BP_OP_MAX_POOL, BP_OP_MAX_POOL_BACKWARD},
        [BP_POOL_AVERAGE] = {BP_OP_AVG_POOL, BP_OP_AVG_POOL_BACKWARD},
    };
    return ops[call->kind][call->pass];
}

/* Writes the strides of items, channel and positions; 0 for sizes of 1. */
static void strides_of(const bp__pool *pool, const DLTensor *tensor, int64_t *item, int64_t *channel,
                       int64_t position[BP_POOL_NDIM]) {
    int64_t strides[BP_MAX_NDIM];
    const int first = pool->single ? 0 : 1;
    bp__tensor_strides(tensor, strides);
    *item = pool->single || tensor->shape[0] == 1 ? 0 : strides[0];
    *channel = tensor->shape[first] == 1 ? 0 : strides[first];
    for (int d = 0; d < pool->ndim; d++) {
        const int at = first + 1 + d;
        position[BP_POOL_NDIM - pool->ndim + d] = tensor->shape[at] == 1 ? 0 : strides[at];
    }
}

static void positions(const bp__pool *pool, bp_pool_problem *p) {
    for (int d = 0; d < BP_POOL_NDIM; d++) {
        const int from = d - (BP_POOL_NDIM - pool->ndim);
        p->in[d] = from < 0 ? 1 : pool->in[from];
        p->out[d] = from < 0 ? 1 : pool->out[from];
        if (pool->adaptive) {
            continue;
        }
        p->kernel[d] = from < 0 ? 1 : pool->kernel[from];
        p->padding[d] = from < 0 ? 0 : pool->padding[from];
        p->dilation[d] = p->kernel[d] == 1 ? 1 : pool->dilation[from];
        p->stride[d] = p->out[d] == 1 ? 1 : pool->stride[from];
    }
}

void bp__pool_lower(bp_problem *problem, const bp__pool *pool) {
    const bp_pool_call *call = pool->call;
    bp_pool_problem *p = &problem->of.pool;
    problem->op = (uint32_t)op_of(call);
    problem->dtype = (uint32_t)pool->dtype;
    p->batch = pool->items;
    p->channels = pool->channels;
    positions(pool, p);
    strides_of(pool, pool->input, &p->x_batch, &p->x_channel, p->x);
    strides_of(pool, pool->output, &p->y_batch, &p->y_channel, p->y);
    if (call->indices) {
        strides_of(pool, call->indices, &p->i_batch, &p->i_channel, p->i);
        p->has_indices = 1;
    }
    p->divisor = call->divisor;
    p->adaptive = pool->adaptive;
    p->exclude_padding = call->exclude_padding != 0;
}
