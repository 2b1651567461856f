/* elements.c - describes the elements of the operands of calls that pad, reverse and rotate tensors. */
#include "ops/pad/pad.h"

bool bp__pad_elements(const bp_problem *problem, int operand, bp__elements *elements) {
    const bp_pad_problem *p = &problem->of.pad;
    if (bp__elements_none(p->ndim, p->size) || (operand == 0 && bp__elements_none(p->ndim, p->inner))) {
        return false;
    }
    elements->dtype = (bp_dtype)problem->dtype;
    bp__elements_add_all(elements, p->ndim, operand == 0 ? p->inner : p->size, operand == 0 ? p->x : p->y);
    return true;
}
