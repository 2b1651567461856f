/* measuring.c - what measuring contractions needs. */
#include "ops/einsum/einsum.h"
#include "tuning/trial.h"

#include <math.h>

static void finish_trial(bp__trial *trial) {
    const bp_contract_problem *p = &trial->problem->of.contract;
    double products = 1; /* in one sum */
    for (int d = p->output_ndim; d < p->ndim; d++) {
        products *= (double)p->size[d];
    }
    trial->roundings = sqrt(products);
    trial->scale = sqrt(products) / 3 + 1; /* of a sum of products of numbers in [-1, 1] */
}

const bp__measuring bp__measuring_contract = {
    .finish_trial = finish_trial,
};
