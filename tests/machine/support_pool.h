/* support_pool.h - declares what the tests of the pool and of scratch memory share. */
#ifndef TESTS_MACHINE_SUPPORT_POOL_H
#define TESTS_MACHINE_SUPPORT_POOL_H

#include "machine/internal.h"

#include <sys/types.h>

/* Returns the exit code of a child, or more than 255. Ends a child that hangs; this is a failure of the test. */
int wait_for(pid_t child);

#endif
