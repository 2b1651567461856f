/* support_pool.h - what the tests of the pool and of scratch memory share. */
#ifndef TESTS_MACHINE_SUPPORT_POOL_H
#define TESTS_MACHINE_SUPPORT_POOL_H

#include "machine/internal.h"

#include <sys/types.h>

/* Whether the program runs under something that does not follow threads which a forked child starts: ThreadSanitizer,
 * or qemu's user-mode emulation. */
bool forked_threads_are_lost(void);

/* The exit code of a child, or more than 255. Ends a child that hangs, as a failure of the test. */
int wait_for(pid_t child);

#endif
