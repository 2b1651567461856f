/* support_pool.h - declares what the tests of the pool and of scratch memory share. */
#ifndef TESTS_MACHINE_SUPPORT_POOL_H
#define TESTS_MACHINE_SUPPORT_POOL_H

#include "machine/internal.h"

#include <sys/types.h>

/* Returns whether the program runs under a tool that loses threads which a forked child starts: ThreadSanitizer, or
 * qemu's user-mode emulation. */
bool forked_threads_are_lost(void);

/* Returns the exit code of a child, or more than 255. Ends a child that hangs; this is a failure of the test. */
int wait_for(pid_t child);

#endif
