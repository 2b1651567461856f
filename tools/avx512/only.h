/* only.h - declares the functions of only.c that the wrappers of the test areas call. */
#ifndef TOOLS_AVX512_ONLY_H
#define TOOLS_AVX512_ONLY_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Ends the program with a failure if the tests do not find AVX-512, because no AVX-512 kernel would be tested. */
void only_require_avx512(bool avx512);
/* Counts a check and returns whether to run it: every n-th one with EVERY=n. */
bool only_next_check(void);

#endif
