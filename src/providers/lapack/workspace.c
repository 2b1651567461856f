/* workspace.c - queries the workspace of LAPACK routines once, and reserves it in the plan's scratch memory. */
#include "providers/lapack/workspace.h"

bp__lapack_workspace bp__lapack_query_args(const bp__lapack_plan *plan, bp__lapack_query_result *result) {
    bp__lapack_int asks = bp__lapack_integer(plan, -1);
    *result = (bp__lapack_query_result){0};
    return (bp__lapack_workspace){result->work, result->reals, &result->integers, asks, asks, asks};
}

/* Query results of some libraries are smaller than what the routine then requires, and large ones are rounded. So the
 * documented size is the minimum. */
void bp__lapack_apply_query(const bp__lapack_plan *plan, bp__lapack_needs *needs,
                            const bp__lapack_query_result *result) {
    int64_t most = plan->driver->int_max, integers = bp__lapack_value(plan, &result->integers);
    needs->work = bp__least(bp__most(needs->work, bp__lapack_queried(plan, result->work)), most);
    needs->reals = bp__least(bp__most(needs->reals, bp__lapack_queried(plan, result->reals)), most);
    needs->integers = bp__most(needs->integers, integers);
}

void bp__lapack_reserve_workspace(bp__lapack_plan *plan, const bp__lapack_needs *needs) {
    plan->workspace[BP__LAPACK_AT_WORK] = bp__most(needs->work, 1);
    plan->workspace[BP__LAPACK_AT_REALS] = bp__most(needs->reals, 1);
    plan->workspace[BP__LAPACK_AT_INTEGERS] = bp__most(needs->integers, 1);
    plan->at[BP__LAPACK_AT_WORK] = bp__lapack_reserve(plan, plan->workspace[BP__LAPACK_AT_WORK], plan->size);
    plan->at[BP__LAPACK_AT_REALS] = bp__lapack_reserve(plan, plan->workspace[BP__LAPACK_AT_REALS], plan->real_size);
    plan->at[BP__LAPACK_AT_INTEGERS] = bp__lapack_reserve(plan, plan->workspace[BP__LAPACK_AT_INTEGERS], plan->integer);
}

bp__lapack_workspace bp__lapack_workspace_of(const bp__lapack_plan *plan, const bp__lapack_item *item) {
    return (bp__lapack_workspace){
        .work = item->scratch + plan->at[BP__LAPACK_AT_WORK],
        .reals = item->scratch + plan->at[BP__LAPACK_AT_REALS],
        .integers = item->scratch + plan->at[BP__LAPACK_AT_INTEGERS],
        .work_size = bp__lapack_integer(plan, plan->workspace[BP__LAPACK_AT_WORK]),
        .reals_size = bp__lapack_integer(plan, plan->workspace[BP__LAPACK_AT_REALS]),
        .integers_size = bp__lapack_integer(plan, plan->workspace[BP__LAPACK_AT_INTEGERS]),
    };
}

void bp__lapack_reserve_values(bp__lapack_plan *plan, int64_t count) {
    plan->at[BP__LAPACK_AT_VALUES] = bp__lapack_reserve(plan, count, plan->real_size);
}

bp__lapack_view bp__lapack_scratch_matrix(bp__lapack_plan *plan, int64_t rows, int64_t columns) {
    size_t at = bp__lapack_reserve(plan, rows, plan->size * (size_t)columns);
    return (bp__lapack_view){.operand = -1, .rows = rows, .columns = columns, .ld = rows, .at = at};
}

void bp__lapack_gemm(const bp__lapack_plan *plan, const bp__lapack_product *product) {
    double alpha[2], beta[2]; /* an element of any type */
    bp__lapack_int m = bp__lapack_integer(plan, product->m), n = bp__lapack_integer(plan, product->n);
    bp__lapack_int k = bp__lapack_integer(plan, product->k), lda = bp__lapack_integer(plan, product->lda);
    bp__lapack_int ldb = bp__lapack_integer(plan, product->ldb), ldc = bp__lapack_integer(plan, product->ldc);
    bp__lapack_put(plan->dtype, alpha, (bp_scalar){product->alpha, 0});
    bp__lapack_put(plan->dtype, beta, (bp_scalar){product->beta, 0});
    BP__LAPACK_CALL(plan, gemm)
    (&product->op_a, &product->op_b, &m, &n, &k, alpha, product->a, &lda, product->b, &ldb, beta, product->c, &ldc, 1,
     1);
}
