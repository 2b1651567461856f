/* interrupted.c - asks a thread's interrupt check in the middle of an operation, so that what the check calls in its
 * turn changes nothing for the operation that waits. */
#include "dispatch/internal.h"

#include "machine/pool.h"

/* The scratch memory of the thread may be the workspace of the plan that runs. */
int bp__operation_interrupted(bp_op op) {
    const uint64_t running = bp__thread.last_serial;
    bp__scratch_held held;
    bp__scratch_hold(&held);
    bool stops = bp__interrupted();
    bp__scratch_return(&held);
    bp__thread.last_serial = running;
    if (stops) {
        bp__fail_cancelled(bp_op_name(op));
    }
    return stops;
}
