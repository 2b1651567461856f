/* measuring.c - what measuring random numbers needs. */
#include "ops/random/classes.h"
#include "ops/random/random.h"
#include "tuning/trial.h"

#include <math.h>

static void finish_trial(bp__trial *trial) {
    enum { LARGEST_ERROR = 16 }; /* of normal numbers */
    trial->roundings = LARGEST_ERROR;
}

static void place(const bp_problem *problem, const bp_verdict *verdict, bp__class_place *place) {
    const bp_random_problem *p = &problem->of.random;
    (void)verdict;
    place->class = bp__class_find((bp_op)problem->op, (bp_dtype)problem->dtype, 0);
    place->sizes[0] = p->ndim > 0 ? (double)p->size[p->ndim - 1] : 1;
    place->sizes[1] = (double)p->total / fmax(place->sizes[0], 1);
    place->differs = true;
}

static bp_status sample(bp_problem *problem, const bp__class *class, const int64_t sizes[BP__LATTICE_DIMENSIONS]) {
    const int64_t shape[] = {sizes[1], sizes[0]}, strides[] = {2 * sizes[0], 1};
    bp__sample_tensor output;
    bp__sample_tensor_init(&output, class->dtype, 2, shape, strides);
    const bp_random_call call = {.struct_size = sizeof call, .kind = BP_RANDOM_NORMAL, .output = &output.tensor};
    const bp__call_request request = {.call = &call, .data_optional = true};
    return bp__random_make(problem, &request);
}

const bp__measuring bp__measuring_random = {
    .sample = sample,
    .place = place,
    .finish_trial = finish_trial,
};
