/* interrupted.c - runs a thread's interrupt check in the middle of an operation.
 *
 * The check may call Backplane. This file saves and restores the thread's state, so that such calls change nothing for
 * the operation that waits. */
#include "dispatch/internal.h"

#include "machine/pool.h"

/* Saves the thread's scratch memory, because it may be the workspace of the plan that runs. */
int bp__operation_interrupted(bp_op op) {
    const uint64_t running = bp__thread.last_serial;
    bp__scratch_held held;
    const bool linear = bp__precision_of_linear(false); /* a convolution of the check is one */
    bp__scratch_hold(&held);
    bool stops = bp__interrupted();
    bp__scratch_return(&held);
    bp__precision_of_linear(linear);
    bp__thread.last_serial = running;
    if (stops) {
        bp__fail_cancelled(bp_op_name(op));
    }
    return stops;
}
