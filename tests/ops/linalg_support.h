/* linalg_support.h - calls of linear algebra with outputs of the right shapes, for the tests of this folder. */
#ifndef BP_TESTS_LINALG_SUPPORT_H
#define BP_TESTS_LINALG_SUPPORT_H

#include "ops/recorder.h"
#include "ops/reference.h"

/* Rank and sizes, as two arguments. */
#define TEST_SHAPE(...) ((int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t))), ((const int64_t[]){__VA_ARGS__})

/* A call with memory of its own for every operand. */
typedef struct test_call {
    bp_linalg_call call;
    test_tensor tensor[BP_LINALG_OPERANDS];
    bool made[BP_LINALG_OPERANDS];
} test_call;

/* What is random from here on is the same as the last time. */
void test_call_seed(unsigned start);

void test_call_start(test_call *c, bp_op op);

/* Operand `index`, random; the shape is a list of `ndim` sizes. */
void test_call_input(test_call *c, int index, bp_dtype dtype, int ndim, const int64_t *shape, test_order order);

/* Makes the outputs whose bits are set in `mask` (bit of the operand's number), as bp_linalg_shape says; fails the test
 * where it refuses. */
void test_call_outputs(test_call *c, unsigned mask, test_order order);

/* Lets the library find the recorder and nothing else but native, and returns what it remembers; NULL: not there. */
recorder_state *test_recorder(void);

/* A call has to have failed like this, with a sentence that says so. */
void test_refused(bp_status got, bp_status want, const char *needle);

DLTensor *test_operand(test_call *c, int index);
void test_call_end(test_call *c);

#endif
