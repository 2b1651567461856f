/* support_pool.h - what the tests of the pool and of scratch memory share. */
#ifndef TESTS_MACHINE_SUPPORT_POOL_H
#define TESTS_MACHINE_SUPPORT_POOL_H

#include "machine/internal.h"

#include <sys/types.h>

/* cmake gives the sanitizer's name to the tests, so that a program knows when not to meddle with threads. */
bool under_tsan(void);

/* The exit code of a child, or more than 255. Ends a child that hangs, as a failure of the test. */
int wait_for(pid_t child);

#endif
