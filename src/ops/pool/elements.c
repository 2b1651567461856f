/* elements.c - describes the elements of the operands of pooling. */
#include "ops/pool/pool.h"

static bool add(bp__elements *elements, const bp_pool_problem *p, const int64_t *size, int64_t batch, int64_t channel,
                const int64_t *stride) {
    elements->exact = true;
    bp__elements_add(elements, p->batch, batch);
    bp__elements_add(elements, p->channels, channel);
    bp__elements_add_all(elements, BP_MAX_CONV_NDIM, size, stride);
    return true;
}

bool bp__pool_elements(const bp_problem *problem, int operand, bp__elements *elements) {
    /* The letters of problems.h, in the order of the operands. */
    static const char *const letters[] = {[BP_OP_MAX_POOL] = "xyi",
                                          [BP_OP_AVG_POOL] = "xy",
                                          [BP_OP_MAX_POOL_BACKWARD] = "yix",
                                          [BP_OP_AVG_POOL_BACKWARD] = "yx"};
    const bp_pool_problem *p = &problem->of.pool;
    elements->dtype = (bp_dtype)problem->dtype;
    switch (letters[problem->op][operand]) {
    case 'x':
        return add(elements, p, p->in, p->x_batch, p->x_channel, p->x);
    case 'y':
        return add(elements, p, p->out, p->y_batch, p->y_channel, p->y);
    default:
        elements->dtype = BP_I64;
        return p->has_indices && add(elements, p, p->out, p->i_batch, p->i_channel, p->i);
    }
}
