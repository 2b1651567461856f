/* elements.c - describes the elements of the operands of a contraction. */
#include "ops/einsum/einsum.h"

bool bp__contract_elements(const bp_problem *problem, int operand, bp__elements *elements) {
    const bp_contract_problem *p = &problem->of.contract;
    const int64_t *const strides[] = {p->a, p->b, p->c};
    if (operand == BP__B && !p->has_b) {
        return false;
    }
    elements->dtype = (bp_dtype)problem->dtype;
    elements->exact = operand == BP__C;
    bp__elements_add_all(elements, operand == BP__C ? p->output_ndim : p->ndim, p->size, strides[operand]);
    return true;
}
