/* results.h - compares the results of a call with their references. Linked into every test program. */
#ifndef BP_TESTS_SUPPORT_RESULTS_H
#define BP_TESTS_SUPPORT_RESULTS_H

#include "reference/results.h"

/* Fails the test if a result differs from its reference by more than its bound, or has none. Frees the references.
 * `text` says which call it is. */
void test_check_results(reference_results *made, const char *text);

/* The same with a part of the bound, from 0 to 1, where a test has a lower one. The second one frees nothing. */
void test_check_results_within(reference_results *made, double part, const char *text);
void test_compare_results(const reference_results *made, double part, const char *text);

/* The same for results that no rounding changes. */
void test_check_exact(reference_results *made, const char *text);

#endif
