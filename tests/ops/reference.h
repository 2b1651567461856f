/* reference.h - tensors of certain layouts, and the error of a product by the reference. */
#ifndef BP_TESTS_REFERENCE_H
#define BP_TESTS_REFERENCE_H

#include "support/arrays.h"

#include <complex.h>
#include <stdbool.h>

#ifndef CMPLXL /* glibc defines it for gcc only */
#define CMPLXL(re, im) __builtin_complex((long double)(re), (long double)(im))
#endif

/* A tensor in separate memory, whose first element is at an offset, and a copy of it. */
typedef struct test_tensor {
    bp_view view;
    test_array array, before;
} test_tensor;

typedef enum test_order { ROW_MAJOR, COLUMN_MAJOR, PADDED, REVERSED, EVERY_OTHER, ORDERS } test_order;

/* Makes random elements in (-1, 1). The stride of a dimension of size 0 or 1 is unusual on purpose. */
void test_tensor_new(test_tensor *t, bp_dtype dtype, int ndim, const int64_t *shape, test_order order, unsigned *seed);
void test_tensor_free(test_tensor *t);

/* Fails the test if bytes outside the tensor's elements were written. */
void test_tensor_check_guards(const test_tensor *t);

long double complex test_get(const DLTensor *t, const int64_t *index);
void test_set(DLTensor *t, const int64_t *index, long double complex value);

/* Returns the largest error of an element of c by the reference, divided by its bound; at most 1 is right. c_before may
 * be NULL if beta is 0. The conj flags are as in bp_gemm. All operands have rank >= 2; a and b broadcast over c's
 * batch.
 */
double test_product_error(const DLTensor *a, bool conj_a, const DLTensor *b, bool conj_b, long double complex alpha,
                          long double complex beta, const DLTensor *c_before, const DLTensor *c);

#endif
