/* linalg_support.h - calls of linear algebra with outputs of the right shapes, for the tests of this folder. */
#ifndef BP_TESTS_LINALG_SUPPORT_H
#define BP_TESTS_LINALG_SUPPORT_H

#include "ops/recorder.h"
#include "ops/reference.h"

/* Rank and sizes, as two arguments. */
#define TEST_SHAPE(...) ((int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t))), ((const int64_t[]){__VA_ARGS__})

/* A call with separate memory for every operand. */
typedef struct test_call {
    bp_linalg_call call;
    test_tensor tensor[BP_LINALG_OPERANDS];
    bool made[BP_LINALG_OPERANDS];
} test_call;

/* Seeds the random numbers, so that they repeat. */
void test_call_seed(unsigned start);

void test_call_start(test_call *c, bp_op op);

/* Makes operand `index` with random elements; the shape is a list of `ndim` sizes. */
void test_call_input(test_call *c, int index, bp_dtype dtype, int ndim, const int64_t *shape, test_order order);

/* Makes the outputs whose bits are set in `mask` (the bit of the operand's number), with the shapes from
 * bp_linalg_shape. Fails the test if that refuses. */
void test_call_outputs(test_call *c, unsigned mask, test_order order);

/* Restricts the library to the recorder and native. Returns the recorder's state; NULL if it is missing. */
recorder_state *test_recorder(void);

/* Expects a call to fail with this status and a message that contains `needle`. */
void test_refused(bp_status got, bp_status want, const char *needle);

DLTensor *test_operand(test_call *c, int index);
void test_call_end(test_call *c);

#endif
