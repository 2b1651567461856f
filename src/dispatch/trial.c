/* trial.c - describes the private operands of a problem, and runs problems on operands of the library. */
#include "dispatch/trial.h"

#include <string.h>

_Static_assert(BP__TRIAL_OPERANDS >= BP__MOST_OPERANDS, "a trial has the operands of every operation");

bool bp__operand_elements(const bp_problem *problem, int operand, bp__elements *elements) {
    const bp__family *family = bp__family_of(problem);
    elements->dtype = BP_DTYPE_NONE;
    elements->ndim = 0;
    elements->exact = elements->unsure = false;
    if (!family->elements || !family->elements(problem, operand, elements) ||
        (elements->unsure && operand < bp__input_count((bp_op)problem->op))) {
        return false;
    }
    return elements->dtype != BP_DTYPE_NONE && !bp__elements_none(elements->ndim, elements->shape);
}

bool bp__writes_nothing(const bp_problem *problem) {
    bp__elements elements;
    const int count = bp__operand_count((bp_op)problem->op);
    for (int i = bp__input_count((bp_op)problem->op); i < count; i++) {
        if (bp__operand_elements(problem, i, &elements)) {
            return false;
        }
    }
    return true;
}

bp__sharing bp__operand_sharing(const bp_problem *problem, int input) {
    const bp__family *family = bp__family_of(problem);
    return family->sharing ? family->sharing(problem, input) : BP__APART;
}

bp_status bp__trial_describe(bp__trial *trial, const bp_problem *problem) {
    const int count = bp__operand_count((bp_op)problem->op), inputs = bp__input_count((bp_op)problem->op);
    const bp__measuring *measuring = bp__family_of(problem)->measuring;
    bp__elements *elements = bp__alloc(sizeof *elements); /* large: not on the stack */
    bool any = false;
    if (!elements) {
        return bp__fail_memory(sizeof *elements, "the operands to measure with");
    }
    memset(trial, 0, sizeof *trial); /* not a literal: clang makes a copy of one on the stack */
    trial->problem = problem;
    trial->scalars[0].re = 1;
    for (int i = 0; measuring && i < count; i++) {
        const bool present = bp__operand_elements(problem, i, elements);
        bp__trial_operand *o = bp__trial_add(trial, elements->dtype, i >= inputs);
        o->present = present;
        bp__trial_add_dimensions(o, present ? elements->ndim : 0, elements->shape, elements->strides);
        any = any || (present && i >= inputs);
    }
    bp__free(elements);
    if (!any) {
        return bp__fail(BP_E_UNSUPPORTED, "its result has no elements");
    }
    for (int i = 0; i < inputs; i++) {
        if (bp__operand_sharing(problem, i) == BP__SHARED) {
            bp__trial_share(trial, inputs, i);
        }
    }
    if (measuring->finish_trial) {
        measuring->finish_trial(trial);
    }
    return BP_OK;
}

bp_status bp__sample_make(bp_problem *problem, const bp__class *class, const int64_t sizes[BP__LATTICE_DIMENSIONS]) {
    memset(problem, 0, sizeof *problem);
    problem->struct_size = sizeof *problem;
    problem->op = class->op;
    problem->policy.threads = 1;
    return bp__family_of(problem)->measuring->sample(problem, class, sizes);
}

bp_status bp__class_sample(bp_problem *problem, const bp__class *class) {
    const bp__lattice *lattice = class->lattice;
    int64_t sizes[BP__LATTICE_DIMENSIONS] = {1, 1, 1};
    for (int d = 0; d < lattice->dimensions; d++) {
        sizes[d] = lattice->knot[d][lattice->count[d] > 2 ? 2 : 0];
    }
    return bp__sample_make(problem, class, sizes);
}

bp_status bp__problem_run(const bp_problem *problem, const bp_operand *operands) {
    const bp_exec exec = {.struct_size = sizeof exec, .scalars = bp__plain_scalars};
    bp_plan *plan;
    BP__TRY(bp__plan_make(&plan, problem, NULL));
    const bp_status status = bp__plan_run(plan, operands, &exec);
    bp__plan_release(plan);
    return status;
}
