/* only.c - restricts the tests of the native provider to the AVX-512 kernels, so that an emulator can run them. It is
 * linked into the unchanged tests, and requires AVX-512. The linker's --wrap redirects functions of the tests to
 * only_<area>.c. Environment variables:
 *    EVERY=n    run every n-th check only, in tests that use one function for their checks
 *    TESTS=...  cmocka pattern of the tests to run
 *    SKIP=...   cmocka pattern of the tests to skip
 */
#include "only.h"

#include <stdio.h>
#include <stdlib.h>

static long every = 1, offered, checked;

static void report_counts(void) {
    if (offered > 0) {
        printf("made %ld of %ld checks\n", checked, offered);
    }
}

__attribute__((constructor)) static void start(void) {
    const char *text = getenv("EVERY"), *tests = getenv("TESTS"), *skip = getenv("SKIP");
    long number = text ? atol(text) : 1;
    every = number > 1 ? number : 1;
    if (tests) {
        cmocka_set_test_filter(tests);
    }
    if (skip) {
        cmocka_set_skip_filter(skip);
    }
    atexit(report_counts);
}

void only_require_avx512(bool avx512) {
    if (!avx512) {
        printf("this processor has no AVX-512, or not AVX512_BF16\n");
        exit(EXIT_FAILURE);
    }
}

bool only_next_check(void) {
    const bool chosen = offered++ % every == 0;
    checked += chosen;
    return chosen;
}
