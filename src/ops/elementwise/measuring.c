/* measuring.c - what measuring functions of single elements needs. */
#include "ops/elementwise/elementwise.h"
#include "tuning/trial.h"

/* Whether an input must be positive, so that the result is a number. */
static bool is_positive(const bp_problem *problem, int input) {
    const uint32_t kind = problem->of.elementwise.kind;
    return problem->op == BP_OP_UNARY ? kind == BP_UNARY_LOG || kind == BP_UNARY_SQRT
                                      : problem->op == BP_OP_BINARY && kind == BP_BINARY_DIVIDE && input == 1;
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

const bp__measuring bp__measuring_elementwise = {
    .finish_trial = finish_trial,
};
