/* transforms.h - runs transforms of any layout, and compares them with the reference. */
#ifndef BP_TESTS_TRANSFORMS_H
#define BP_TESTS_TRANSFORMS_H

#include "ops/reference.h"

/* Returns the largest error of an element of out by the reference, divided by its bound; at most 1 is right. */
double test_transform_error(const bp_fft_call *call, const DLTensor *in, const DLTensor *out);

/* Runs the call on random input in one layout, into output in another, twice (the second call takes the fast path).
 * Fails the test if the result is wrong or memory around it was written. */
void test_transform(const bp_fft_call *call, bp_dtype dtype, int ndim, const int64_t *shape, test_order in_order,
                    test_order out_order, unsigned *seed);

/* The libraries that each test runs on, ending with NULL; and a setup function with such a name as its state. */
extern const char *const test_transform_libraries[];
int test_transform_setup(void **state);

/* For main(): makes the provider of plain sums available, and no library of the machine. */
void test_transform_environment(void);

#endif
