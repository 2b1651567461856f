/* uncancelled.h - keeps a thread from being cancelled in the middle of a function.
 *
 * A cancelled thread would leave its locks held, and its memory unreachable. Cancellation takes effect only in functions
 * that POSIX names cancellation points, such as read() and poll(). A call that finds its plan contains none, and is not
 * protected, unless the plan may wait for other threads (bp_plan.guarded): switching twice takes as long as a tenth of
 * a small product. */
#ifndef BP_BASE_UNCANCELLED_H
#define BP_BASE_UNCANCELLED_H

#include <pthread.h>

static inline int bp__cancel_off(void) {
    int before;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    return before;
}

static inline void bp__cancel_as_before(const int *before) {
    pthread_setcancelstate(*before, NULL);
}

/* From this line to the end of the block the thread is not cancelled. */
#define BP__UNCANCELLED                                                                                                \
    const int bp__cancel_before __attribute__((cleanup(bp__cancel_as_before), unused)) = bp__cancel_off()

#endif
