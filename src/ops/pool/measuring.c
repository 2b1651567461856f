/* measuring.c - what measuring pooling needs. */
#include "ops/pool/pool.h"
#include "tuning/trial.h"

#include <math.h>

static double product_of(const int64_t size[BP_MAX_CONV_NDIM]) {
    return (double)size[0] * (double)size[1] * (double)size[2];
}

static void finish_trial(bp__trial *trial) {
    const bp_pool_problem *p = &trial->problem->of.pool;
    if (trial->problem->op == BP_OP_MAX_POOL_BACKWARD) {
        bp__trial_operand *indices = &trial->operand[1];
        indices->values = BP__VALUES_INDICES;
        indices->limit = p->in[0] * p->in[1] * p->in[2];
    }
    trial->roundings = sqrt(p->adaptive ? product_of(p->in) / product_of(p->out) + 1 : product_of(p->kernel));
}

const bp__measuring bp__measuring_pool = {
    .finish_trial = finish_trial,
};
