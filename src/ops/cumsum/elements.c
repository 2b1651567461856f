/* elements.c - describes the elements of the operands of cumulative sums. */
#include "ops/cumsum/cumsum.h"

bool bp__cumsum_elements(const bp_problem *problem, int operand, bp__elements *elements) {
    const bp_cumsum_problem *p = &problem->of.cumsum;
    elements->dtype = (bp_dtype)(operand == 1 ? p->output : problem->dtype);
    bp__elements_add_all(elements, p->ndim, p->size, operand == 1 ? p->y : p->x);
    bp__elements_add(elements, p->length, operand == 1 ? p->y_axis : p->x_axis);
    return p->length > 0;
}
