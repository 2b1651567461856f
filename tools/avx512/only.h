/* only.h - between only.c and the files beside it that lead the functions of one area's tests to it. */
#ifndef TOOLS_AVX512_ONLY_H
#define TOOLS_AVX512_ONLY_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Ends the program where the tests do not find AVX-512: what they ran otherwise would say nothing of it. */
void only_with(bool avx512);
/* Whether the next check is one of those that EVERY=n leaves; counts them. */
bool only_turn(void);

#endif
