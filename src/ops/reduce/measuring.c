/* measuring.c - what measuring reductions and softmax needs. */
#include "ops/reduce/reduce.h"
#include "tuning/trial.h"

#include <math.h>

static void finish_trial(bp__trial *trial) {
    const bp_reduce_problem *p = &trial->problem->of.reduce;
    const bool reduces = trial->problem->op == BP_OP_REDUCE;
    double count = 1; /* elements of one reduction */
    for (int d = p->kept_ndim; d < p->ndim; d++) {
        count *= (double)p->size[d];
    }
    trial->roundings = sqrt(count) + 4;
    if (reduces && p->kind == BP_REDUCE_PROD) {
        trial->operand[0].values = BP__VALUES_NEAR_ONE; /* else a long product is 0 */
        trial->operand[0].limit = (int64_t)count;
    } else if (reduces && (p->kind == BP_REDUCE_SUM || p->kind == BP_REDUCE_MEAN)) {
        trial->scale = (p->kind == BP_REDUCE_SUM ? sqrt(count) : 1 / sqrt(count + 1)) / 3;
    }
}

const bp__measuring bp__measuring_reduce = {
    .finish_trial = finish_trial,
};
