/* only_native_fft.c - transforms on AVX-512 alone: see only.c. Tests that name AVX2 get AVX-512 too. A check is a
 * transform that is compared with sums: fft_error() is what takes the time of it, and is left out with EVERY. */
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
    only_with(__real_fft_runs_here(BP_CAPABILITY_AVX512));
    return capability == BP_CAPABILITY_AVX512;
}

void __wrap_fft_make(test_run *run, const test_case *what, unsigned seed) {
    test_case here = *what;
    here.capability = BP_CAPABILITY_AVX512;
    __real_fft_make(run, &here, seed);
}

/* What the verdict says, too: another kernel set would pass these tests as well. */
void __wrap_fft_execute(test_run *run) {
    __real_fft_execute(run);
    const char *algorithm = run->verdict.algorithm;
    assert_true(strstr(algorithm, "avx512") || strcmp(algorithm, "nothing to do") == 0);
}

double __wrap_fft_error(const test_run *run, int64_t most) {
    return only_turn() ? __real_fft_error(run, most) : 0;
}
