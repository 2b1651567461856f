/* sanitizer.h - tells whether the run-time library of a sanitizer is in this process.
 *
 * The runtimes replace dlopen(), and end the program if it is called with RTLD_DEEPBIND: a library would get the C
 * library's malloc() instead of theirs. They also map far more memory than the machine has. A program that was built
 * with a sanitizer may use a library that was not, and the other way round, so compiled-in macros do not answer the
 * question. The loader resolves these weak names only if such a runtime is in the program, or among the libraries that
 * were loaded with it. */
#ifndef BP_BASE_SANITIZER_H
#define BP_BASE_SANITIZER_H

#include <stdbool.h>

#define BP__SANITIZER_MAP(X)                                                                                           \
    X(__asan_init)                                                                                                     \
    X(__hwasan_init)                                                                                                   \
    X(__lsan_init)                                                                                                     \
    X(__memprof_init)                                                                                                  \
    X(__msan_init)                                                                                                     \
    X(__tsan_init)

#define X(name) extern void name(void) __attribute__((weak));
BP__SANITIZER_MAP(X)
#undef X

static inline bool bp__sanitizer_runs(void) {
#define X(name) || name != 0
    return false BP__SANITIZER_MAP(X);
#undef X
}

#endif
