/* elements.c - describes the elements of the operands of random numbers. */
#include "ops/random/random.h"

bool bp__random_elements(const bp_problem *problem, int operand, bp__elements *elements) {
    const bp_random_problem *p = &problem->of.random;
    elements->dtype = operand == 0 ? BP_I64 : (bp_dtype)problem->dtype;
    if (operand == 0) {
        bp__elements_add(elements, 2, 1); /* seed and offset */
        return true;
    }
    bp__elements_add_all(elements, p->ndim, p->size, p->stride);
    return p->total > 0;
}
