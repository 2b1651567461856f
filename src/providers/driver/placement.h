/* placement.h - keeps the threads that a library starts for us off the processor of the thread that calls it.
 *
 * Linux often wakes a thread on the processor of the thread that wakes it. The caller of a library keeps that processor
 * busy while it waits, so that both share it although another one is idle, and each call takes whole time slices (4 to
 * 16 ms) in place of some microseconds. This may last for as long as the calls do.
 *
 * Only threads that start in our own calls are moved, and only if their library, or its OpenMP runtime, was not in the
 * process before we opened it. A thread whose affinity differs from its caller's (OMP_PROC_BIND and the like)
 * stays where it is.
 */
#ifndef BP_DRIVER_PLACEMENT_H
#define BP_DRIVER_PLACEMENT_H

#include <stdbool.h>

/* The threads of one OpenMP runtime that work for one calling thread, or the threads of a library that all callers
 * share. */
typedef struct bp__workers bp__workers;

/* Records, once for each, whether a library or runtime came into the process by us. `number` is the number of its fork
 * state. Call it before the library is opened. */
void bp__placement_origin(int number, bool ours);

/* Notes which threads exist, before a call that may start some. Returns where the new ones will be listed; NULL if they
 * are not to be moved. `shared`: all callers share them. */
bp__workers *bp__workers_expect(int number, bool shared);
/* Lists the threads that exist since then, if as many have started as expected. NULL is allowed. */
void bp__workers_find(bp__workers *workers, int expected);
/* Returns the threads that work for the calling thread; NULL if none are known. */
bp__workers *bp__workers_of(int number, bool shared);
/* Keeps them off the calling thread's processor. Does nothing while the caller stays on it. NULL is allowed. */
void bp__workers_place(bp__workers *workers);

#endif
