/* results.h - compares the results of a call with their references. Linked into every test program. */
#ifndef BP_TESTS_SUPPORT_RESULTS_H
#define BP_TESTS_SUPPORT_RESULTS_H

#include "reference/results.h"

/* Fails the test if a result differs from its reference by more than its bound, or has none. Frees the references.
 * `text` says which call it is. */
void test_check_results(reference_results *made, const char *text);

/* The same for results that no rounding changes. */
void test_check_exact(reference_results *made, const char *text);

#endif
