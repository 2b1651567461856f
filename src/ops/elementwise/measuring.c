/* measuring.c - what measuring functions of single elements needs. */
#include "ops/elementwise/classes.h"
#include "ops/elementwise/elementwise.h"
#include "tuning/trial.h"

#include <math.h>

/* Whether an input must be positive, so that the result is a number. */
static bool is_positive(const bp_problem *problem, int input) {
    const uint32_t kind = problem->of.elementwise.kind;
    switch (problem->op == BP_OP_UNARY ? kind : BP_UNARY_KINDS) {
    case BP_UNARY_LOG:
    case BP_UNARY_SQRT:
    case BP_UNARY_RECIPROCAL:
    case BP_UNARY_RSQRT:
    case BP_UNARY_LOG1P:
    case BP_UNARY_LOG2:
    case BP_UNARY_LOG10:
        return true;
    default:
        return problem->op == BP_OP_BINARY &&
               (kind == BP_BINARY_POW ? input == 0 : kind == BP_BINARY_DIVIDE && input == 1);
    }
}

static void finish_trial(bp__trial *trial) {
    enum { LARGEST_ERROR = 16 };
    const bp_problem *problem = trial->problem;
    for (int i = 0; i < trial->count; i++) {
        trial->operand[i].values = is_positive(problem, i) ? BP__VALUES_POSITIVE : BP__VALUES_ANY;
    }
    if (problem->op == BP_OP_TAKE || problem->op == BP_OP_GATHER) {
        trial->operand[1].values = BP__VALUES_INDICES;
        trial->operand[1].limit = problem->of.elementwise.axis_size;
    }
    trial->roundings = LARGEST_ERROR;
}

static void place(const bp_problem *problem, const bp_verdict *verdict, bp__class_place *place) {
    const bp_elementwise_problem *p = &problem->of.elementwise;
    double all = 1;
    (void)verdict;
    for (int d = 0; d < p->ndim; d++) {
        all *= (double)p->size[d];
    }
    place->class = bp__class_find((bp_op)problem->op, (bp_dtype)problem->dtype, 0);
    place->sizes[0] = p->ndim > 0 ? (double)p->size[p->ndim - 1] : 1;
    place->sizes[1] = all / fmax(place->sizes[0], 1);
    place->differs = true;
}

/* A function of one element, a sum, or rows of a table of as many rows. There are gaps between the rows, because rows
 * without gaps are one. */
static bp_status sample(bp_problem *problem, const bp__class *class, const int64_t sizes[BP__LATTICE_DIMENSIONS]) {
    const int64_t rows[] = {sizes[1], sizes[0]}, strides[] = {2 * sizes[0], 1};
    bp__sample_tensor input, other, output;
    bp__sample_tensor_init(&input, class->dtype, 2, rows, strides);
    bp__sample_tensor_init(&output, class->dtype, 2, rows, strides);
    if (class->op == BP_OP_TAKE) {
        bp__sample_tensor_init(&other, BP_I64, 1, rows, NULL);
        const bp__indexed_arguments call = {sizeof call, 0, &input.tensor, &other.tensor, &output.tensor};
        const bp__call_request request = {.call = &call, .data_optional = true, .described = &bp__take_call};
        return bp__elementwise_make(problem, &request);
    }
    if (class->op == BP_OP_BINARY) {
        bp__sample_tensor_init(&other, class->dtype, 2, rows, strides);
        const bp__binary_arguments call = {sizeof call, BP_BINARY_ADD, &input.tensor, &other.tensor, &output.tensor};
        const bp__call_request request = {.call = &call, .data_optional = true, .described = &bp__binary_call};
        return bp__elementwise_make(problem, &request);
    }
    const bp__unary_arguments call = {sizeof call, BP_UNARY_EXP,  BP_DTYPE_NONE, NULL,
                                      NULL,        &input.tensor, &output.tensor};
    const bp__call_request request = {.call = &call, .data_optional = true, .described = &bp__unary_call};
    return bp__elementwise_make(problem, &request);
}

const bp__measuring bp__measuring_elementwise = {
    .sample = sample,
    .place = place,
    .finish_trial = finish_trial,
};
