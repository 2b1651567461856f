/* measuring.c - what measuring reductions and softmax needs. */
#include "ops/reduce/classes.h"
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

static void place(const bp_problem *problem, const bp_verdict *verdict, bp__class_place *place) {
    const bp_reduce_problem *p = &problem->of.reduce;
    double kept = 1, reduced = 1;
    (void)verdict;
    for (int d = 0; d < p->ndim; d++) {
        *(d < p->kept_ndim ? &kept : &reduced) *= (double)p->size[d];
    }
    /* Variances have the times of sums. */
    const bp_op op = problem->op == BP_OP_VARIANCE ? BP_OP_REDUCE : (bp_op)problem->op;
    place->class = bp__class_find(op, (bp_dtype)problem->dtype, 0);
    place->sizes[0] = reduced;
    place->sizes[1] = kept;
    place->differs = true;
}

/* Sums or softmax of rows. */
static bp_status sample(bp_problem *problem, const bp__class *class, const int64_t sizes[BP__LATTICE_DIMENSIONS]) {
    static const int axes[] = {1};
    const int64_t shape[] = {sizes[1], sizes[0]};
    const bool sums = class->op == BP_OP_REDUCE;
    bp__sample_tensor input, output;
    bp__sample_tensor_init(&input, class->dtype, 2, shape, NULL);
    bp__sample_tensor_init(&output, class->dtype, sums ? 1 : 2, shape, NULL);
    const bp__reduce_arguments reduce = {sizeof reduce, BP_REDUCE_SUM, 1, 0, axes, &input.tensor, &output.tensor};
    const bp__softmax_arguments softmax = {sizeof softmax, BP_SOFTMAX, 1, &input.tensor, &output.tensor};
    const bp__softmax_backward_arguments backward = {sizeof backward, BP_SOFTMAX,    1,
                                                     &input.tensor,   &input.tensor, &output.tensor};
    const bp__call_request request = {.call = sums                         ? (const void *)&reduce
                                              : class->op == BP_OP_SOFTMAX ? (const void *)&softmax
                                                                           : &backward,
                                      .data_optional = true,
                                      .described = sums                         ? &bp__reduce_call
                                                   : class->op == BP_OP_SOFTMAX ? &bp__softmax_call
                                                                                : &bp__softmax_backward_call};
    return bp__reduce_make(problem, &request);
}

const bp__measuring bp__measuring_reduce = {
    .sample = sample,
    .place = place,
    .finish_trial = finish_trial,
};
