/* factor.h - declares the LU factorization as a step of the operations in lu.c, solve.c and det.c, and pivots, which
 * ldl.c has too. */
#ifndef BP_LAPACK_FACTOR_H
#define BP_LAPACK_FACTOR_H

#include "providers/lapack/lapack.h"

/* Loads `view` from operand A (number 0) or its transpose, and factors it. Writes the pivots in the library's integers.
 */
void bp__lapack_factor(const bp__lapack_plan *plan, const bp__lapack_item *item, const bp__lapack_view *view,
                       bool transposed, void *pivots, int64_t *info);
/* Factors a square A in scratch memory, or its transpose if A is row-major, so that the copy is contiguous. Sets
 * item->transposed. If the transpose is singular, factors A itself, so that info refers to A's columns. */
void bp__lapack_factor_either(const bp__lapack_plan *plan, bp__lapack_item *item, const bp__lapack_view *view,
                              void *pivots, int64_t *info);
/* Solves op(A) X = B in the memory of `x`, with existing factors. */
void bp__lapack_getrs(const bp__lapack_plan *plan, char trans, const bp__lapack_view *factors, const void *a,
                      const void *pivots, const bp__lapack_view *x, void *b, int64_t *info);

/* Write the pivots of a factorization, operand 2; and convert the pivots of a solution, operand 1, which were checked
 * before, to the library's integers. */
void bp__lapack_write_pivots(const bp__lapack_plan *plan, const bp__lapack_item *item, const void *pivots);
void bp__lapack_read_pivots(const bp__lapack_plan *plan, const bp__lapack_item *item, void *pivots);

double bp__lapack_work_lu(const bp_linalg_problem *problem);

#endif
