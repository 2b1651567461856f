/* only.c - linked into the tests of the native provider, which are unchanged otherwise, so that an emulator can run
 * them: of the kernel sets the one for AVX-512 alone, and it must be there. The linker's --wrap leads two functions of
 * the tests through this file. Two variables make a run shorter:
 *   EVERY=n    check each n-th product alone, where a test uses check_product()
 *   TESTS=...  a pattern of cmocka for the names of the tests
 */
#include "native.h"

#include <stdio.h>
#include <stdlib.h>

void __real_check_product(const product *p);
bool __real_runs_here(kernels set);
void __wrap_check_product(const product *p);
bool __wrap_runs_here(kernels set);

static long every = 1, seen, checked;

static void tell(void) {
    if (seen > 0) {
        printf("checked %ld of %ld products\n", checked, seen);
    }
}

__attribute__((constructor)) static void start(void) {
    const char *text = getenv("EVERY"), *tests = getenv("TESTS");
    long number = text ? atol(text) : 1;
    every = number > 1 ? number : 1;
    if (tests) {
        cmocka_set_test_filter(tests);
    }
    atexit(tell);
}

bool __wrap_runs_here(kernels set) {
    if (!__real_runs_here(KERNELS_AVX512)) {
        printf("this processor has no AVX-512\n");
        exit(EXIT_FAILURE);
    }
    return set == KERNELS_AVX512;
}

void __wrap_check_product(const product *p) {
    if (seen++ % every == 0) {
        __real_check_product(p);
        checked++;
    }
}
