/* interrupt.h - how a program stops a long call: a function of its own that the library asks, now and then, whether to
 * go on.
 *
 * The check belongs to the thread that set it, and is called by that thread alone, while it is inside a call of the
 * library. It is asked in searches for contraction paths, before a step or slice of an einsum that follows about a
 * tenth of a millisecond of work by the estimates. Searches count their work, so that the distance varies with the
 * machine: mostly less than a millisecond. A single call into a math library, and one product or transform, cannot be
 * interrupted: the check is asked after it, at the next step.
 *
 * Where the check answers other than 0, the call stops and returns BP_E_CANCELLED. Memory that the call took is given
 * back, nothing of it is kept in a cache, and outputs may be partly written. The next call is not affected: what the
 * check answers then counts.
 *
 * No lock of the library is held when the check is called. It may call the library in its turn, except for bp_reset(),
 * with the options of the interrupted call in force; it is not asked again before it has returned. It must return, by
 * no longjmp and no C++ exception.
 *
 * Cost: without a check, the load of a thread-local variable where one would be asked. Calls that take less than the
 * distance never ask.
 */
#ifndef BACKPLANE_INTERRUPT_H
#define BACKPLANE_INTERRUPT_H

#include "backplane/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* 0: go on; anything else: stop. */
typedef int (*bp_interrupt_check)(void *user);

/* Sets the check of the calling thread, and what it is handed; NULL: none, as in a new thread. Returns the one that was
 * set before, with its argument in *previous_user (which may be NULL), so that it can be put back. Thread-safe; cannot
 * fail; takes a few nanoseconds. */
BP_API bp_interrupt_check bp_set_interrupt_check(bp_interrupt_check check, void *user, void **previous_user);

#ifdef __cplusplus
}
#endif
#endif
