/* interrupt.c - the check of each thread that asks whether a long call should stop. See interrupt.h. */
#include "base/base.h"

#include "backplane/interrupt.h"

static _Thread_local struct {
    bp_interrupt_check check;
    void *user;
    bool asking; /* the check runs, and is not asked by what it calls */
    bool silent; /* the thread runs part of a call that another thread began */
} interrupt;

#define ASKED_EACH 100000 /* nanoseconds */

bp_interrupt_check bp_set_interrupt_check(bp_interrupt_check check, void *user, void **previous_user) {
    bp_interrupt_check previous = interrupt.check;
    if (previous_user) {
        *previous_user = interrupt.user;
    }
    interrupt.check = check;
    interrupt.user = user;
    return previous;
}

bool bp__interrupted(void) {
    if (BP__LIKELY(!interrupt.check) || interrupt.asking) {
        return false;
    }
    interrupt.asking = true;
    bool stop = interrupt.check(interrupt.user) != 0;
    interrupt.asking = false;
    return stop;
}

int bp__interrupt_due(int64_t *since) {
    if (BP__LIKELY(!interrupt.check) || interrupt.asking || interrupt.silent) {
        return false;
    }
    int64_t now = bp__now_ns();
    bool due = *since != 0 && now - *since >= ASKED_EACH;
    *since = due || *since == 0 ? now : *since;
    return due;
}

bool bp__interrupt_silence(bool silent) {
    bool before = interrupt.silent;
    interrupt.silent = silent;
    return before;
}

bool bp__interrupt_asks(void) {
    return interrupt.asking;
}

bp_status bp__fail_cancelled(const char *what) {
    return bp__fail(BP_E_CANCELLED, "%s was stopped by the calling thread's interrupt check", what);
}
