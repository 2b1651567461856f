/* measuring.c - what measuring contractions needs. */
#include "ops/einsum/classes.h"
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

static void place(const bp_problem *problem, const bp_verdict *verdict, bp__class_place *place) {
    const bp_contract_problem *p = &problem->of.contract;
    double kept = 1, summed = 1;
    (void)verdict;
    for (int d = 0; d < p->ndim; d++) {
        *(d < p->output_ndim ? &kept : &summed) *= (double)p->size[d];
    }
    const bool sums = p->ndim > p->output_ndim;
    place->class =
        bp__class_find((bp_op)problem->op, (bp_dtype)problem->dtype, sums ? BP__CONTRACT_SUMS : BP__CONTRACT_COPIES);
    place->sizes[0] = sums ? kept : sqrt(kept);
    place->sizes[1] = sums ? summed : sqrt(kept);
    place->differs = true;
}

/* The transpose of a matrix, or the sums of its rows. */
static bp_status sample(bp_problem *problem, const bp__class *class, const int64_t sizes[BP__LATTICE_DIMENSIONS]) {
    bp_contract_problem *p = &problem->of.contract;
    const int64_t rows = sizes[0], columns = sizes[1];
    const bool sums = class->variant == BP__CONTRACT_SUMS;
    problem->dtype = (uint32_t) class->dtype;
    p->ndim = 2;
    p->output_ndim = sums ? 1 : 2;
    p->size[0] = sums ? rows : columns;
    p->size[1] = sums ? columns : rows;
    p->a[0] = sums ? columns : 1;
    p->a[1] = sums ? 1 : columns;
    p->c[0] = sums ? 1 : rows;
    p->c[1] = !sums;
    return BP_OK;
}

const bp__measuring bp__measuring_contract = {
    .sample = sample,
    .place = place,
    .finish_trial = finish_trial,
};
