/* stop.h - ends calls of the native provider early if the program's interrupt check requests it. The thread that began
 * the call runs the check between units of work. All threads that share the call then take no more units. */
#ifndef BP_NATIVE_STOP_H
#define BP_NATIVE_STOP_H

#include "backplane/provider.h"

#include <stdatomic.h>
#include <stdbool.h>

#define BP__STOP_NEVER INT64_MAX /* a start time with which the check is never due */

/* Stop state of one call. */
typedef struct bp__stop {
    const bp_host *host;
    bp_op op;
    int64_t since; /* start time, set by bp_host.interrupt_due; BP__STOP_NEVER: the work is not a call of its own */
    atomic_bool stopped;
} bp__stop;

static inline bool bp__stopped(const bp__stop *stop) {
    return atomic_load_explicit(&stop->stopped, memory_order_relaxed);
}

/* Returns whether the call must end. Call it before each unit of work. */
static inline bool bp__stops(bp__stop *stop) {
    if (bp__stopped(stop)) {
        return true;
    }
    if (!stop->host->interrupt_due(&stop->since) || !stop->host->interrupted(stop->op)) {
        return false;
    }
    atomic_store_explicit(&stop->stopped, true, memory_order_relaxed);
    return true;
}

static inline bp_status bp__stop_status(const bp__stop *stop) {
    return bp__stopped(stop) ? BP_E_CANCELLED : BP_OK;
}

/* Returns how many units to run between two interrupt checks, at most `most`. `work` counts the additions,
 * multiplications or copied elements of a unit. */
static inline int64_t bp__stop_chunk(double work, int64_t most) {
    const double enough = 1e5;
    const int64_t units = work < enough ? (int64_t)(enough / (work + 1)) + 1 : 1;
    return units < most ? units : most;
}

#endif
