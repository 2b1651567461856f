/* only.c - linked into the tests of the native provider, which are unchanged otherwise, so that an emulator can run
 * them: of the kernel sets the one for AVX-512 alone, and it must be there. The linker's --wrap leads functions of the
 * tests through only_<area>.c. These variables make a run shorter:
 *   EVERY=n    make each n-th check alone, where a test has one function for them
 *   TESTS=...  a pattern of cmocka for the names of the tests
 *   SKIP=...   another one, for tests that are left out
 */
#include "only.h"

#include <stdio.h>
#include <stdlib.h>

static long every = 1, seen, checked;

static void tell(void) {
    if (seen > 0) {
        printf("made %ld of %ld checks\n", checked, seen);
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
    atexit(tell);
}

void only_with(bool avx512) {
    if (!avx512) {
        printf("this processor has no AVX-512\n");
        exit(EXIT_FAILURE);
    }
}

bool only_turn(void) {
    const bool turn = seen++ % every == 0;
    checked += turn;
    return turn;
}
