/* no_leak_check.h - for programs that load all libraries: turns off the search for leaks at the end of the process,
 * which fails on the threads of OpenMP runtimes: "Tracer caught signal 11". */
#ifndef BP_TESTS_SUPPORT_NO_LEAK_CHECK_H
#define BP_TESTS_SUPPORT_NO_LEAK_CHECK_H

#ifdef __SANITIZE_ADDRESS__
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void) {
    return "detect_leaks=0";
}
#endif

#endif
