/* elements.c - describes the elements of the operands of functions of single elements. */
#include "ops/elementwise/elementwise.h"

bool bp__elementwise_elements(const bp_problem *problem, int operand, bp__elements *elements) {
    const bp_elementwise_problem *p = &problem->of.elementwise;
    const bool selects = problem->op == BP_OP_TAKE || problem->op == BP_OP_GATHER;
    if (bp__elements_none(p->ndim, p->size)) { /* nothing is read then */
        return false;
    }
    elements->dtype = (bp_dtype)p->type[operand];
    if (selects && operand == 0) {
        bp__elements_add(elements, p->axis_size, p->axis);
    }
    bp__elements_add_all(elements, p->ndim, p->size, p->stride[operand]);
    return true;
}
