/* fft_case.h - declares transforms by the native provider: the operands of all tests of transforms, and their run. */
#ifndef TESTS_NATIVE_FFT_CASE_H
#define TESTS_NATIVE_FFT_CASE_H

#include "fftw/support_transform.h"
#include "support/host.h"

#include <complex.h>

#define COUNT(a) ((int)(sizeof(a) / sizeof((a)[0])))

typedef long double complex wide;

typedef struct fft_run {
    test_transform what;
    test_operands o;
    bp_verdict verdict;
} fft_run;

bool fft_runs_here(int capability);

/* Returns kind `which` of eight: each kind of transform in both directions and precisions, as far as there are. */
test_transform fft_kind(test_transform what, int which);

/* Makes operands with random data. `seed` affects the data only. */
void fft_make(fft_run *run, const test_transform *what, unsigned seed);
void fft_free(fft_run *run);

/* Runs accept() and plan(), then the plan. Checks that only elements of the output were written. */
void fft_execute(fft_run *run);

/* Returns an element; `index` counts through all dimensions, the last one fastest. */
wide fft_get(const test_array *side, int64_t index);

/* Sets an element of the input. */
void fft_set(fft_run *run, int64_t index, wide value);

/* Returns the relative error of a rounding to the type, twice. */
double fft_epsilon(const fft_run *run);

#endif
