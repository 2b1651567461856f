/* elements.c - describes the elements of the operands of linear algebra. */
#include "ops/linalg/linalg.h"

bool bp__linalg_elements(const bp_problem *problem, int operand, bp__elements *elements) {
    const bp_linalg_problem *l = &problem->of.linalg;
    const bp_linalg_operand *o = &l->operand[operand];
    if (operand >= BP_LINALG_OPERANDS || o->dtype == 0 || o->rows == 0 || o->columns == 0) {
        return false;
    }
    elements->dtype = (bp_dtype)o->dtype;
    elements->exact = operand >= bp__input_count((bp_op)problem->op);
    bp__elements_add_all(elements, l->batch_ndim, l->batch_shape, o->batch);
    bp__elements_add(elements, o->rows, o->row);
    bp__elements_add(elements, o->columns, o->column);
    return true;
}
