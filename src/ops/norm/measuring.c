/* measuring.c - what measuring batch normalization and the normalization of rows needs. */
#include "ops/norm/norm.h"
#include "ops/norm/layer.h"
#include "tuning/trial.h"

#include <math.h>

/* Returns how many rounding errors a normalized value has, for statistics of `values` values. If these are few, they
 * may be nearly equal: then their small deviation divides the errors. */
static double roundings_of(double values) {
    return sqrt(values) + 512 / fmax(values, 1);
}

/* ---- Batch normalization ---- */

static void finish_batch_norm(bp__trial *trial) {
    enum { RUNNING_MEAN = 6, RUNNING_VARIANCE = 7, VARIANCE = 4 };
    const bp_batch_norm_problem *p = &trial->problem->of.batch_norm;
    const int positive = trial->problem->op == BP_OP_BATCH_NORM_TRAINING ? RUNNING_VARIANCE : VARIANCE;
    if (trial->problem->op == BP_OP_BATCH_NORM_TRAINING) {
        trial->operand[RUNNING_MEAN].reads = trial->operand[RUNNING_VARIANCE].reads = true;
    }
    trial->operand[positive].values = BP__VALUES_POSITIVE;
    trial->roundings = roundings_of((double)p->size[0] * (double)p->size[1] * (double)p->size[2] * (double)p->size[3]);
}

const bp__measuring bp__measuring_norm = {
    .finish_trial = finish_batch_norm,
};

/* ---- Normalization of rows ---- */

static void finish_layer_norm(bp__trial *trial) {
    enum { INVERSE_STD = 4 };
    const bp_layer_norm_problem *p = &trial->problem->of.layer_norm;
    double rows = 1, row = 1;
    for (int d = 0; d < p->ndim; d++) {
        *(d < p->row_ndim ? &rows : &row) *= (double)p->size[d];
    }
    if (trial->problem->op == BP_OP_LAYER_NORM_BACKWARD) {
        trial->operand[INVERSE_STD].values = BP__VALUES_POSITIVE;
    }
    trial->roundings = roundings_of(row) + sqrt(rows);
}

const bp__measuring bp__measuring_layer_norm = {
    .finish_trial = finish_layer_norm,
};
