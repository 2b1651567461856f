/* arrays.h - random tensors of any layout for tests of operations. Linked into every test program. */
#ifndef BP_TESTS_SUPPORT_ARRAYS_H
#define BP_TESTS_SUPPORT_ARRAYS_H

#include "backplane.h"

extern uint64_t test_array_random; /* state of the random numbers, not 0 */
int64_t test_array_between(int64_t low, int64_t high);
double test_array_uniform(void); /* between -1 and 1 */

/* A tensor with memory of its own, and a part of it may lie between its elements. */
typedef struct test_array {
    bp_view view;
    bp_dtype dtype;
    char *memory;
    int64_t all; /* elements of the memory */
} test_array;

typedef enum test_layout {
    TEST_COMPACT,
    TEST_GAPS,                        /* with memory between the elements */
    TEST_PERMUTED,                    /* dimensions in a random order */
    TEST_REVERSED,                    /* negative strides */
    TEST_LAYOUTS,                     /* number of those above */
    TEST_CHANNELS_LAST = TEST_LAYOUTS /* compact, with dimension 1 the fastest */
} test_layout;

/* Makes a tensor whose memory has a mark everywhere. */
void test_array_make(test_array *t, bp_dtype dtype, int ndim, const int64_t *shape, test_layout layout);
void test_array_free(test_array *t);

int64_t test_array_count(const test_array *t);
char *test_array_at(const test_array *t, int64_t index); /* in row-major order */

/* Read and write elements; of i64 as f64 only those below 2^53. Written numbers are rounded once. */
double test_array_get(const test_array *t, int64_t index);
void test_array_set(test_array *t, int64_t index, double value);
int64_t test_array_get_i64(const test_array *t, int64_t index);
void test_array_set_i64(test_array *t, int64_t index, int64_t value);

/* Fails the test if memory between the elements was written. */
void test_array_check_gaps(const test_array *t, const char *text);

/* Half of a unit in the last place of 1, and half of the smallest number above 0. */
double test_array_eps(bp_dtype dtype);
double test_array_tiny(bp_dtype dtype);

#endif
