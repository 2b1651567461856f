/* interrupt.h - how a program stops a long call: a function of its own that the library asks, now and then, whether to
 * go on.
 *
 * The check belongs to the thread that set it, and is called by that thread alone, while it is inside a call of the
 * library that it began. It is asked in all loops of our own that may take long:
 *   - searches for contraction paths, and between the steps and slices of an einsum;
 *   - the native provider's products, linear algebra, transforms and contractions, one large product too;
 *   - the items of a batch that are handed to a math library one by one, and the calls of an operation that makes
 *     several for one item;
 *   - copies and conversions of operands.
 * The distance is mostly a few tenths of a millisecond, and a few milliseconds between the blocks of a large product;
 * searches count their work, and steps of an einsum estimate it. Where several threads share an operation, the others
 * end after the unit of work that they are at.
 *
 * A single call into a math library cannot be interrupted: one dgemm, one dgesdd, one transform or batch of them that
 * FFTW or MKL runs at once. The check is asked after it, if anything is left to do. The same holds for one dot product,
 * for the last pass of a long transform, and for what is done once for a plan (FFTW's measurements, tables).
 *
 * Where the check answers other than 0, the call stops and returns BP_E_CANCELLED. Memory that the call took is given
 * back, nothing of it is kept in a cache, and outputs may be partly written. The next call is not affected: what the
 * check answers then counts.
 *
 * No lock of the library is held when the check is called. It may call the library in its turn, except for bp_reset(),
 * with the options of the interrupted call in force; it is not asked again before it has returned. Such a call may find
 * the library's threads at work for the interrupted one, and then runs on one thread. The check must return, by no
 * longjmp and no C++ exception, and in the process that it was called in: a child of fork that goes on with the call
 * has lost the threads which share it.
 *
 * Cost: without a check, the load of a thread-local variable where one would be asked; with one, the time of reading a
 * clock. Calls that take less than a tenth of a millisecond never ask.
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
