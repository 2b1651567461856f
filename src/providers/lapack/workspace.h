/* workspace.h - declares the workspace of LAPACK routines. Its size is queried once, when a plan is made. */
#ifndef BP_LAPACK_WORKSPACE_H
#define BP_LAPACK_WORKSPACE_H

#include "providers/lapack/lapack.h"
#include "providers/least.h"

/* Entries of plan->at for operations whose routines need workspace; the first three also index plan->workspace. */
enum {
    BP__LAPACK_AT_WORK,
    BP__LAPACK_AT_REALS,
    BP__LAPACK_AT_INTEGERS,
    BP__LAPACK_AT_VALUES, /* singular values, eigenvalues, factors of reflectors */
    BP__LAPACK_AT_MORE
};

/* Sufficient sizes according to LAPACK's documentation: in elements, reals and the library's integers. */
typedef struct bp__lapack_needs {
    int64_t work, reals, integers;
} bp__lapack_needs;

/* LAPACK workspace arguments: pointers and sizes; or, for a workspace query (size -1), where the routine writes the
 * required sizes. */
typedef struct bp__lapack_workspace {
    void *work, *reals, *integers;
    bp__lapack_int work_size, reals_size, integers_size;
} bp__lapack_workspace;

typedef struct bp__lapack_query_result {
    double work[2]; /* an element of any type */
    double reals[2];
    bp__lapack_int integers;
} bp__lapack_query_result;

/* Returns the arguments of a workspace query, and clears its result. */
bp__lapack_workspace bp__lapack_query_args(const bp__lapack_plan *plan, bp__lapack_query_result *result);
/* Raises the needs to the result of a query, at most to the largest integer argument. */
void bp__lapack_apply_query(const bp__lapack_plan *plan, bp__lapack_needs *needs,
                            const bp__lapack_query_result *result);
void bp__lapack_reserve_workspace(bp__lapack_plan *plan, const bp__lapack_needs *needs);
bp__lapack_workspace bp__lapack_workspace_of(const bp__lapack_plan *plan, const bp__lapack_item *item);

/* Returns a matrix of the problem's element type in scratch memory that belongs to no operand. */
bp__lapack_view bp__lapack_scratch_matrix(bp__lapack_plan *plan, int64_t rows, int64_t columns);

/* C = alpha op(A) op(B) + beta C in column-major memory, by routine gemm. m x n is the size of C, k the inner size. */
typedef struct bp__lapack_product {
    char op_a, op_b;
    double alpha, beta;
    int64_t m, n, k, lda, ldb, ldc;
    const void *a, *b;
    void *c;
} bp__lapack_product;

void bp__lapack_gemm(const bp__lapack_plan *plan, const bp__lapack_product *product);

/* Reserves memory for `count` reals at BP__LAPACK_AT_VALUES. */
void bp__lapack_reserve_values(bp__lapack_plan *plan, int64_t count);
static inline void *bp__lapack_values(const bp__lapack_plan *plan, const bp__lapack_item *item) {
    return item->scratch + plan->at[BP__LAPACK_AT_VALUES];
}
static inline double bp__lapack_value_of(const bp__lapack_plan *plan, const bp__lapack_item *item, int64_t index) {
    const char *values = bp__lapack_values(plan, item);
    return bp__lapack_get(plan->real_type, values + (size_t)index * plan->real_size).re;
}

#endif
