/* fft_case.h - declares transforms for the tests of the native provider: description, layout in memory, run, and
 * comparison with sums in long double. */
#ifndef TESTS_NATIVE_FFT_CASE_H
#define TESTS_NATIVE_FFT_CASE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "backplane/provider.h"
#include "support/host.h"
#include "support/offers.h"

#include <complex.h>
#include <stdbool.h>

#define COUNT(a) ((int)(sizeof(a) / sizeof((a)[0])))

typedef long double complex wide;

typedef enum layout {
    PACKED,   /* last dimension fastest */
    REVERSED, /* like PACKED, with every stride negative */
    COLUMNS,  /* first dimension fastest */
    SPACED,   /* gaps between all elements */
    CONSTANT, /* inputs: one item for the whole batch */
    SINGLE    /* inputs: one element for everything */
} layout;

/* Up to three dimensions to transform and two of a batch; 0: no such dimension. */
typedef struct test_case {
    bp_fft_kind kind;
    bool inverse, f64, in_place;
    int64_t n[3];
    int64_t batch[2];
    layout in, out;
    double scale; /* 0 means 1 */
    int threads, capability;
} test_case;

/* Memory of one operand. */
typedef struct test_side {
    char *memory, *first, *before;
    size_t bytes;
    size_t element;    /* bytes */
    int ndim;          /* dimensions of batch and transform together */
    int64_t size[5];   /* batch first */
    int64_t stride[5]; /* in elements */
} test_side;

typedef struct test_run {
    test_case what;
    bp_problem problem;
    bp_verdict verdict;
    test_side in, out;
} test_run;

bool fft_runs_here(int capability);

/* Allocates and lays out operands with random data. `seed` affects the data only. */
void fft_make(test_run *run, const test_case *what, unsigned seed);
void fft_free(test_run *run);

/* Runs accept() and plan(), then the plan. Checks that only elements of the output were written. */
void fft_execute(test_run *run);

/* Return or set an element; `index` counts through all dimensions, the last one fastest. */
wide fft_get(const test_run *run, const test_side *side, int64_t index);
void fft_set(const test_run *run, const test_side *side, int64_t index, wide value);
int64_t fft_count(const test_side *side);

/* Returns the error of the output in the 2-norm, relative to the norm of the reference, in units of the type's epsilon.
 * It uses at most `most` elements of each item (0: all). */
double fft_error(const test_run *run, int64_t most);

/* Returns the number of elements of a transform. */
int64_t fft_elements(const test_case *what);

#endif
