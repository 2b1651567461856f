/* transforms.h - transforms computed the slow and certain way, for comparing: the sums of the definition in long
 * double, over any layout. */
#ifndef BP_TESTS_TRANSFORMS_H
#define BP_TESTS_TRANSFORMS_H

#include "ops/reference.h"

/* Largest |out - exact| over all elements, in units of what a good transform may err: up to 1 is right. */
double test_transform_error(const bp_fft_call *call, const DLTensor *in, const DLTensor *out);

/* Runs the call on random input in one layout, into output in another, twice (the second time takes the short way), and
 * fails the test where the result is wrong or memory around it was written. */
void test_transform(const bp_fft_call *call, bp_dtype dtype, int ndim, const int64_t *shape, test_order in_order,
                    test_order out_order, unsigned *seed);

/* The libraries that each test runs on, ending with NULL; a setup function that takes such a name as its state. */
extern const char *const test_transform_libraries[];
int test_transform_setup(void **state);

/* For main(): the provider of plain sums is found, and nothing of the machine is. */
void test_transform_environment(void);

#endif
