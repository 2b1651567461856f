/* measuring.c - what measuring batch normalization and the normalization of rows needs. */
#include "ops/normalization/classes.h"
#include "ops/normalization/batch_norm.h"
#include "ops/normalization/layer.h"
#include "ops/sample.h"

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

static void place_batch_norm(const bp_problem *problem, const bp_verdict *verdict, bp__class_place *place) {
    const bp_batch_norm_problem *p = &problem->of.batch_norm;
    (void)verdict;
    place->class = bp__class_find((bp_op)problem->op, (bp_dtype)problem->dtype, 0);
    place->sizes[0] = (double)p->channels;
    place->sizes[1] = sqrt((double)p->size[0] * (double)p->size[1] * (double)p->size[2] * (double)p->size[3]);
}

static bp_status sample_batch_norm(bp_problem *problem, const bp__class *class,
                                   const int64_t sizes[BP__LATTICE_DIMENSIONS]) {
    enum { IMAGE, OUTPUT, WEIGHT, BIAS, MEAN, OTHER, VIEWS };
    const bool training = class->op != BP_OP_BATCH_NORM, gradient = class->op == BP_OP_BATCH_NORM_BACKWARD;
    const int64_t image[] = {1, sizes[0], sizes[1], sizes[1]};
    bp__sample_tensor views[VIEWS];
    for (int i = 0; i < VIEWS; i++) {
        bp__sample_tensor_init(&views[i], class->dtype, i < WEIGHT ? 4 : 1, i < WEIGHT ? image : sizes, NULL);
    }
    DLTensor *mean = &views[MEAN].tensor, *other = &views[OTHER].tensor;
    bp_batch_norm_call call = {.struct_size = sizeof call,
                               .pass = training ? BP_BATCH_NORM_TRAINING : BP_BATCH_NORM_INFERENCE,
                               .eps = gradient ? 0 : 1e-5, /* inverse_std has it */
                               .input = &views[IMAGE].tensor,
                               .weight = &views[WEIGHT].tensor,
                               .bias = &views[BIAS].tensor,
                               .output = &views[OUTPUT].tensor,
                               .running_mean = training ? NULL : mean,
                               .running_var = training ? NULL : other,
                               .mean = training ? mean : NULL,
                               .inverse_std = training ? other : NULL};
    if (gradient) {
        return bp__sample_gradient(problem, &bp__batch_norm_call, &call, BP_BATCH_NORM_BACKWARD, bp__batch_norm_make);
    }
    const bp__call_request request = {.call = &call, .data_optional = true};
    return bp__batch_norm_make(problem, &request);
}

const bp__measuring bp__measuring_batch_norm = {
    .sample = sample_batch_norm,
    .place = place_batch_norm,
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

static void place_layer_norm(const bp_problem *problem, const bp_verdict *verdict, bp__class_place *place) {
    const bp_layer_norm_problem *p = &problem->of.layer_norm;
    double rows = 1, row = 1;
    (void)verdict;
    for (int d = 0; d < p->ndim; d++) {
        *(d < p->row_ndim ? &rows : &row) *= (double)p->size[d];
    }
    place->class = bp__class_find((bp_op)problem->op, (bp_dtype)problem->dtype, 0);
    place->sizes[0] = row;
    place->sizes[1] = rows;
}

static bp_status sample_layer_norm(bp_problem *problem, const bp__class *class,
                                   const int64_t sizes[BP__LATTICE_DIMENSIONS]) {
    enum { INPUT, OUTPUT, WEIGHT, BIAS, VIEWS };
    const int64_t rows[] = {sizes[1], sizes[0]};
    bp__sample_tensor views[VIEWS];
    for (int i = 0; i < VIEWS; i++) {
        bp__sample_tensor_init(&views[i], class->dtype, i < WEIGHT ? 2 : 1, i < WEIGHT ? rows : sizes, NULL);
    }
    const bool gradient = class->op == BP_OP_LAYER_NORM_BACKWARD;
    bp_layer_norm_call call = {.struct_size = sizeof call,
                               .row_ndim = 1,
                               .eps = gradient ? 0 : 1e-5, /* inverse_std has it */
                               .input = &views[INPUT].tensor,
                               .weight = &views[WEIGHT].tensor,
                               .bias = &views[BIAS].tensor,
                               .output = &views[OUTPUT].tensor};
    if (gradient) {
        return bp__sample_gradient(problem, &bp__layer_norm_call, &call, BP_LAYER_NORM_BACKWARD, bp__layer_norm_make);
    }
    const bp__call_request request = {.call = &call, .data_optional = true};
    return bp__layer_norm_make(problem, &request);
}

const bp__measuring bp__measuring_layer_norm = {
    .sample = sample_layer_norm,
    .place = place_layer_norm,
    .finish_trial = finish_layer_norm,
};
