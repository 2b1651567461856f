/* elements.c - describes the elements of the operands of a matrix product. */
#include "ops/gemm/gemm.h"

bool bp__gemm_elements(const bp_problem *problem, int operand, bp__elements *elements) {
    const bp_gemm_problem *g = &problem->of.gemm;
    const int64_t *const batch[] = {g->batch_a, g->batch_b, g->batch_c};
    const int64_t rows[] = {g->m, g->k, g->m}, columns[] = {g->k, g->n, g->n};
    const int64_t row[] = {g->a_row, g->b_row, g->c_row}, column[] = {g->a_column, g->b_column, g->c_column};
    elements->dtype =
        operand == 0 ? (bp_dtype)problem->dtype : bp_gemm_type(problem, operand == 1 ? g->b_type : g->c_type);
    elements->exact = operand == 2;
    bp__elements_add_all(elements, g->batch_ndim, g->batch_shape, batch[operand]);
    bp__elements_add(elements, rows[operand], row[operand]);
    bp__elements_add(elements, columns[operand], column[operand]);
    return true;
}
