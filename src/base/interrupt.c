/* interrupt.c - calls the thread's check that may stop a long call. See interrupt.h. */
#include "base/base.h"
#include "base/uncancelled.h"

#include "backplane/interrupt.h"

static _Thread_local struct {
    bp_interrupt_check check;
    void *user;
    bool running; /* the check is running; calls that it makes do not run it again */
    bool silent;  /* the thread runs part of a call of another thread */
} interrupt;

#define PERIOD_NS 100000

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
    if (BP__LIKELY(!interrupt.check) || interrupt.running) {
        return false;
    }
    BP__UNCANCELLED;
    interrupt.running = true;
    bool stop = interrupt.check(interrupt.user) != 0;
    interrupt.running = false;
    return stop;
}

int bp__interrupt_due(int64_t *since) {
    if (BP__LIKELY(!interrupt.check) || interrupt.running || interrupt.silent) {
        return false;
    }
    int64_t now = bp__now_ns();
    bool due = *since != 0 && now - *since >= PERIOD_NS;
    *since = due || *since == 0 ? now : *since;
    return due;
}

bool bp__interrupt_silence(bool silent) {
    bool before = interrupt.silent;
    interrupt.silent = silent;
    return before;
}

bool bp__interrupt_is_set(void) {
    return interrupt.check && !interrupt.running;
}

bool bp__interrupt_check_runs(void) {
    return interrupt.running;
}

bp_status bp__fail_cancelled(const char *what) {
    return bp__fail(BP_E_CANCELLED, "%s was stopped by the calling thread's interrupt check", what);
}
