/* measuring.c - what measuring pooling needs. */
#include "ops/pool/classes.h"
#include "ops/pool/pool.h"
#include "ops/sample.h"

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

/* A window of 3x3 elements in steps of 2 was measured. */
static void place(const bp_problem *problem, const bp_verdict *verdict, bp__class_place *place) {
    const bp_pool_problem *p = &problem->of.pool;
    (void)verdict;
    place->class = bp__class_find((bp_op)problem->op, (bp_dtype)problem->dtype, 0);
    place->sizes[0] = (double)p->channels;
    place->sizes[1] = sqrt((double)p->batch * product_of(p->in));
    place->differs = true;
}

static bp_status sample(bp_problem *problem, const bp__class *class, const int64_t sizes[BP__LATTICE_DIMENSIONS]) {
    static const int64_t kernel[] = {3, 3}, stride[] = {2, 2}, padding[] = {1, 1};
    const int64_t channels = sizes[0], side = sizes[1], half = (side - 1) / 2 + 1;
    const int64_t in[] = {1, channels, side, side}, out[] = {1, channels, half, half};
    bp__sample_tensor input, output;
    bp__sample_tensor_init(&input, class->dtype, 4, in, NULL);
    bp__sample_tensor_init(&output, class->dtype, 4, out, NULL);
    const bool max = class->op == BP_OP_MAX_POOL || class->op == BP_OP_MAX_POOL_BACKWARD;
    bp_pool_call call = {.struct_size = sizeof call,
                         .kind = max ? BP_POOL_MAX : BP_POOL_AVERAGE,
                         .ndim = 2,
                         .kernel = kernel,
                         .stride = stride,
                         .padding = padding,
                         .input = &input.tensor,
                         .output = &output.tensor};
    if (class->op == BP_OP_MAX_POOL_BACKWARD || class->op == BP_OP_AVG_POOL_BACKWARD) {
        return bp__sample_gradient(problem, &bp__pool_call, &call, BP_POOL_BACKWARD, bp__pool_make);
    }
    const bp__call_request request = {.call = &call, .data_optional = true};
    return bp__pool_make(problem, &request);
}

const bp__measuring bp__measuring_pool = {
    .sample = sample,
    .place = place,
    .finish_trial = finish_trial,
};
