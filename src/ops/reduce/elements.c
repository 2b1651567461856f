/* elements.c - describes the elements of the operands of reductions and softmax. */
#include "ops/reduce/reduce.h"

bool bp__reduce_elements(const bp_problem *problem, int operand, bp__elements *elements) {
    const bp_reduce_problem *p = &problem->of.reduce;
    const int64_t *const strides[] = {p->x, p->y, p->z};
    const bool joins = problem->op == BP_OP_REDUCE || problem->op == BP_OP_VARIANCE, reduced = joins && operand == 1;
    const int ndim = reduced ? p->kept_ndim : p->ndim;
    if (bp__elements_none(ndim, p->size)) {
        return false;
    }
    elements->dtype = (bp_dtype)(reduced ? p->output : problem->dtype);
    bp__elements_add_all(elements, ndim, p->size, strides[operand]);
    return true;
}
