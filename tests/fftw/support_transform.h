/* support_transform.h - shared by the tests of Fourier transform providers: problems in every layout, run on guarded
 * memory, and compared with sums in long double. */
#ifndef BP_TESTS_FFTW_SUPPORT_TRANSFORM_H
#define BP_TESTS_FFTW_SUPPORT_TRANSFORM_H

#include "backplane/provider.h"
#include "support/offers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

typedef enum test_order {
    TEST_COMPACT,
    TEST_APART,       /* no stride of one, gaps between all */
    TEST_BACKWARDS,   /* all strides negative */
    TEST_TRANSPOSED,  /* the first dimension of the transform is the fastest */
    TEST_BATCH_INNER, /* the batch is faster than the transform */
    TEST_ORDERS
} test_order;

typedef struct test_transform {
    bp_fft_kind kind;
    bool inverse, in_place, single;
    int64_t n[3]; /* terminated by 0 */
    int64_t batch[2];
    test_order in, out;
    bool broadcast;      /* all items of the last batch dimension share memory */
    int odd_in, odd_out; /* offset of the operand from an aligned address, in reals */
    double scale;        /* 0 means 1 */
    int threads;         /* 0 means 1 */
    uint8_t deterministic, planner;
} test_transform;

/* Memory of one operand. */
typedef struct test_side {
    int ndim; /* batch dimensions, then the dimensions of the transform */
    int64_t n[5], stride[5];
    bool is_complex;
    size_t element;
    char *memory, *before; /* the whole memory, and its copy before the run */
    size_t bytes;
    char *first; /* the element with index 0 */
} test_side;

typedef struct test_operands {
    bp_problem problem;
    test_side in, out;
} test_operands;

/* Allocates operands. Fills the input with numbers in [-1, 1], output and gaps with a pattern. */
void test_make(test_operands *o, const test_transform *t);
void test_release_operands(test_operands *o);
void test_refill(test_operands *o); /* restores the state before a run */

/* Fails the test if the output is wrong or anything else was written. */
void test_check(const test_operands *o, const test_transform *t);

/* Evaluates, plans, runs twice and checks a problem. Fails the test if it is refused. */
void test_run(const bp_provider *provider, void *instance, const test_transform *t);

bp_prepared *test_plan(const bp_provider *provider, void *instance, const bp_problem *problem);
void test_execute(const bp_prepared *prepared, const test_operands *o);

/* Returns the library entry with this id. If there is none, returns NULL and prints that the test is skipped. */
const bp_library_info *test_library(const char *id);

#endif
