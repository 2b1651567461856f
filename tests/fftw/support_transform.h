/* support_transform.h - shared by the tests of Fourier transform providers: problems in every layout, run on guarded
 * memory, and compared with the reference. */
#ifndef BP_TESTS_FFTW_SUPPORT_TRANSFORM_H
#define BP_TESTS_FFTW_SUPPORT_TRANSFORM_H

#include "backplane/provider.h"
#include "support/arrays.h"
#include "support/offers.h"
#include "support/results.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

typedef enum fft_order {
    FFT_COMPACT,
    FFT_APART,       /* no stride of one, gaps between all */
    FFT_BACKWARDS,   /* all strides negative */
    FFT_TRANSPOSED,  /* the first dimension of the transform is the fastest */
    FFT_BATCH_INNER, /* the batch is faster than the transform */
    FFT_ORDERS,
    FFT_FIRST_FASTEST = FFT_ORDERS, /* all dimensions in the opposite order */
    FFT_ONE_ITEM,                   /* inputs: all items of the batch share memory */
    FFT_ONE_ELEMENT                 /* inputs: all elements share memory */
} fft_order;

typedef struct test_transform {
    bp_fft_kind kind;
    bool inverse, in_place, single;
    int64_t n[3];     /* ends before a 0 */
    int64_t batch[2]; /* the same; -1: no item */
    fft_order in, out;
    bool broadcast;      /* all items of the last batch dimension share memory */
    bool omits_ones;     /* dimensions of size 1 are no part of the problem, except the halved one */
    int odd_in, odd_out; /* offset of the operand from an aligned address, in reals */
    double scale;        /* 0 means 1 */
    int threads;         /* 0 means 1 */
    uint8_t deterministic, planner, capability;
    uint64_t seed; /* of the input; 0: any */
} test_transform;

/* The operands have the dimensions of the batch, then the dimensions of the transform. */
typedef struct test_operands {
    bp_problem problem;
    test_array in, out;
    test_array in_before, out_before; /* copies before a run */
    char *first[2];                   /* the elements with index 0 of input and output */
    int64_t parts;                    /* of the batch that have references of their own */
    reference_results *expected;      /* of each part; NULL before they are needed */
} test_operands;

/* Allocates operands. Fills the input with numbers in [-1, 1], output and gaps with a pattern. */
void test_make(test_operands *o, const test_transform *t);
void test_release_operands(test_operands *o);
void test_refill(test_operands *o); /* restores the state before a run */

/* Fails the test if the output is wrong or anything else was written. */
void test_check(test_operands *o, const test_transform *t);
/* Fails the test if anything but the output was written. */
void test_check_surroundings(const test_operands *o);
/* Returns the error of the output in the 2-norm, relative to the norm of the reference. */
double test_norm_error(test_operands *o, const test_transform *t);

/* Evaluates, plans, runs twice and checks a problem. Fails the test if it is refused. */
void test_run(const bp_provider *provider, void *instance, const test_transform *t);

bp_prepared *test_plan(const bp_provider *provider, void *instance, const bp_problem *problem);
void test_execute(const bp_prepared *prepared, const test_operands *o);

/* Returns the library entry with this id. If there is none, returns NULL and prints that the test is skipped. */
const bp_library_info *test_library(const char *id);

#endif
