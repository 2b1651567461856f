/* measuring.c - what measuring convolutions needs. */
#include "ops/conv/conv.h"
#include "tuning/trial.h"

#include <math.h>

static double product_of(const int64_t size[BP_MAX_CONV_NDIM]) {
    return (double)size[0] * (double)size[1] * (double)size[2];
}

static void finish_trial(bp__trial *trial) {
    const bp_problem *problem = trial->problem;
    const bp_conv_problem *c = &problem->of.conv;
    const double products = /* in one sum */
        problem->op == BP_OP_CONV_WEIGHT
            ? (double)c->batch * product_of(c->out)
            : product_of(c->kernel) * (double)(problem->op == BP_OP_CONV ? c->in_channels : c->out_channels);
    trial->roundings = sqrt(products);
    trial->scale = sqrt(products) / 3 + 1; /* of a sum of products of numbers in [-1, 1] */
}

const bp__measuring bp__measuring_conv = {
    .finish_trial = finish_trial,
};
