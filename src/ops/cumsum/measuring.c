/* measuring.c - what measuring cumulative sums needs. */
#include "ops/cumsum/classes.h"
#include "ops/cumsum/cumsum.h"
#include "tuning/trial.h"

#include <math.h>

/* A sum of n random numbers between -1 and 1 has a standard deviation of the square root of n / 3. */
static void finish_trial(bp__trial *trial) {
    const double length = (double)trial->problem->of.cumsum.length;
    trial->roundings = sqrt(length) + 4;
    trial->scale = sqrt(length / 3);
}

static void place(const bp_problem *problem, const bp_verdict *verdict, bp__class_place *place) {
    const bp_cumsum_problem *p = &problem->of.cumsum;
    (void)verdict;
    place->class = bp__class_find((bp_op)problem->op, (bp_dtype)problem->dtype, 0);
    place->sizes[0] = (double)p->length;
    place->sizes[1] = 1;
    for (int d = 0; d < p->ndim; d++) {
        place->sizes[1] *= (double)p->size[d];
    }
    place->differs = true;
}

static bp_status sample(bp_problem *problem, const bp__class *class, const int64_t sizes[BP__LATTICE_DIMENSIONS]) {
    const int64_t shape[] = {sizes[1], sizes[0]};
    bp__sample_tensor input, output;
    bp__sample_tensor_init(&input, class->dtype, 2, shape, NULL);
    bp__sample_tensor_init(&output, class->dtype, 2, shape, NULL);
    const bp_cumsum_call call = {
        .struct_size = sizeof call, .axis = 1, .input = &input.tensor, .output = &output.tensor};
    const bp__call_request request = {.call = &call, .data_optional = true};
    return bp__cumsum_make(problem, &request);
}

const bp__measuring bp__measuring_cumsum = {
    .sample = sample,
    .place = place,
    .finish_trial = finish_trial,
};
