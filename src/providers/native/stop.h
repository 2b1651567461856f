/* stop.h - how calls of the native provider end early where the interrupt check of the program says so. The thread that
 * began the call asks it, between units of work; all threads that share the call then draw no more. */
#ifndef BP_NATIVE_STOP_H
#define BP_NATIVE_STOP_H

#include "backplane/provider.h"

#include <stdatomic.h>
#include <stdbool.h>

#define BP__STOP_NEVER INT64_MAX /* a time after which the check is never due */

/* Of one call. */
typedef struct bp__stop {
    const bp_host *host;
    bp_op op;
    int64_t since; /* bp_host.interrupt_due's; BP__STOP_NEVER: what runs is no call of its own */
    atomic_bool stopped;
} bp__stop;

static inline bool bp__stopped(const bp__stop *stop) {
    return atomic_load_explicit(&stop->stopped, memory_order_relaxed);
}

/* To be asked before each unit of work. */
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

/* How many units of so much work (additions, multiplications, elements moved) make one question worth its time, of at
 * most `most`. */
static inline int64_t bp__stop_chunk(double work, int64_t most) {
    const double enough = 1e5;
    const int64_t units = work < enough ? (int64_t)(enough / (work + 1)) + 1 : 1;
    return units < most ? units : most;
}

#endif
