/* needs.h - declares the comparison of what libraries need with the limits of memory of the process, and with the stack
 * of the thread. */
#ifndef BP_DISPATCH_NEEDS_H
#define BP_DISPATCH_NEEDS_H

#include "dispatch/internal.h"

/* Returns the bits of bp_policy.constraints for the stack that the calling thread has left. Plans of threads with small
 * stacks have keys of their own: other threads use the libraries that these must not call. */
uint8_t bp__stack_class(void);

/* Refuses an accepted verdict if the limits or the thread's stack leave less than the library needs. */
void bp__needs_check(const bp_problem *problem, const bp__candidate *candidate, bp_verdict *verdict);

/* If there is no candidate, adds how many libraries the limits have kept out of the choice. */
void bp__needs_tell_limited(bp__choice *choice);

/* For an explanation: adds that the process cannot start the threads that accepted libraries would use. */
void bp__needs_tell_threads(bp__choice *choice);

/* Whether a run of the plan calls a library, which may need memory. */
bool bp__needs_memory(const bp_plan *plan);

/* Begin and end a run of a plan that this thread may not have run before. enter returns BP_E_NO_MEMORY if the limits
 * or the thread's stack leave less than the library needs. Until leave, that memory is kept for the run: others do not
 * count on it. */
bp_status bp__needs_enter(const bp_plan *plan, bp__memory *kept);
void bp__needs_leave(const bp_plan *plan, const bp__memory *kept, bp_status status);
void bp__needs_forked(void); /* in a child of fork, where the runs of other threads do not go on */

#endif
