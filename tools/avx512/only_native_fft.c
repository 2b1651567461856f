/* only_native_fft.c - runs the tests of transforms on AVX-512 only (see only.c). Tests that name AVX2 get AVX-512 too.
 * fft_error() takes most of the time of a check; EVERY skips it. */
#include "fft_case.h"

#include "only.h"

#include <string.h>

bool __real_fft_runs_here(int capability);
void __real_fft_make(test_run *run, const test_case *what, unsigned seed);
void __real_fft_execute(test_run *run);
double __real_fft_error(const test_run *run, int64_t most);
bool __wrap_fft_runs_here(int capability);
void __wrap_fft_make(test_run *run, const test_case *what, unsigned seed);
void __wrap_fft_execute(test_run *run);
double __wrap_fft_error(const test_run *run, int64_t most);

bool __wrap_fft_runs_here(int capability) {
    only_require_avx512(__real_fft_runs_here(BP_CAPABILITY_AVX512));
    return capability == BP_CAPABILITY_AVX512;
}

void __wrap_fft_make(test_run *run, const test_case *what, unsigned seed) {
    test_case here = *what;
    here.capability = BP_CAPABILITY_AVX512;
    __real_fft_make(run, &here, seed);
}

/* Also checks the verdict's algorithm, because another kernel set would pass these tests too. */
void __wrap_fft_execute(test_run *run) {
    __real_fft_execute(run);
    const char *algorithm = run->verdict.algorithm;
    assert_true(strstr(algorithm, "avx512") || strcmp(algorithm, "nothing to do") == 0);
}

double __wrap_fft_error(const test_run *run, int64_t most) {
    return only_next_check() ? __real_fft_error(run, most) : 0;
}
