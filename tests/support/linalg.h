/* linalg.h - checks the results of linear algebra against the reference. Linked into every test program.
 */
#ifndef BP_TESTS_SUPPORT_LINALG_H
#define BP_TESTS_SUPPORT_LINALG_H

#include "backplane/provider.h"
#include "reference/linalg.h"
#include "reference/results.h"

/* The public call of a problem, with tensors of all items. */
typedef struct test_linalg {
    bp_linalg_call call;
    bp_view views[BP_LINALG_OPERANDS];
} test_linalg;

/* Makes the call of a problem whose operands have these addresses; NULL: absent. The tolerances are the defaults. */
void test_linalg_make(test_linalg *made, const bp_problem *problem, void *const *addresses);

/* Fails the test unless the results satisfy the equations of the reference, or the values without vectors their sums,
 * within a part of its bound, from 0 to 1. */
void test_check_equations(const bp_linalg_call *call, double part, const char *text);

/* Makes the reference of det, slogdet, matrix_rank, cond or matrix_norm. With `most` above 0 no error may be larger
 * than so many units of rounding of the value, a lower bound for well-conditioned matrices; a logarithm has this error
 * and its own rounding. */
void test_linalg_values(reference_results *made, const bp_linalg_call *call, double most);

#endif
