/* interrupt.h - lets a program stop a long call: the library calls the program's check function now and then.
 *
 * The check belongs to the thread that set it. Only that thread calls it, while it is inside a call that it began.
 * These loops call it:
 *   - searches for contraction paths, and between the steps and slices of an einsum;
 *   - all operations of the native provider between their units of work, also inside one large product, contraction,
 *     transform or reduction;
 *   - between the items of a batch that a math library computes one by one, and between the library calls of one item;
 *   - copies and conversions of operands.
 * A call also calls it before it makes a plan.
 * The interval is usually a few tenths of a millisecond, and a few milliseconds between the blocks of a large product.
 * Searches and steps of an einsum estimate it by counting work. If several threads share an operation, the others stop
 * after their current unit of work.
 *
 * A single call into a math library cannot be interrupted: one dgemm, one dgesdd, one transform or batch of transforms
 * in FFTW or MKL. The check is called after it, if work is left. The same applies to one dot product, to one
 * window of a pooling, to the last pass of a long transform, and to work that is done once per plan (FFTW's
 * measurements, tables).
 *
 * If the check returns a value other than 0, the call stops and returns BP_E_CANCELLED. It frees the memory that it
 * took and caches nothing of its result. Outputs may be partly written. The next call starts normally.
 *
 * The library holds no lock while it calls the check. The check may call the library, except bp_reset(); the options of
 * the interrupted call are then in force, and the check is not called recursively. Such a call runs on one thread if
 * the interrupted call is using the thread pool. The check must return: no longjmp, no C++ exception. It must return in
 * the same process: a child of fork cannot continue the call, because the threads that share it do not exist there.
 *
 * Cost without a check: one load of a thread-local variable per unit of work. With a check: one clock read. Calls
 * that have their plan and are shorter than 0.1 ms never call it.
 */
#ifndef BACKPLANE_INTERRUPT_H
#define BACKPLANE_INTERRUPT_H

#include "backplane/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Returns 0 to continue, any other value to stop. */
typedef int (*bp_interrupt_check)(void *user);

/* Sets the calling thread's check and its argument. NULL removes the check; a new thread has none. Returns the previous
 * check, and its argument in *previous_user (may be NULL), so that the caller can restore it. Cannot fail. */
BP_API bp_interrupt_check bp_set_interrupt_check(bp_interrupt_check check, void *user, void **previous_user);

#ifdef __cplusplus
}
#endif
#endif
