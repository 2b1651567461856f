/* unlock.c - runs long calls of the library without the interpreter's lock, so that Ctrl-C can stop them.
 *
 * The library calls its interrupt check now and then. The check runs Python's signal handlers; if one raises an
 * exception, the call ends with it. */
#define _GNU_SOURCE
#include "core.h"

#include <stdint.h>
#include <time.h>
#include <unistd.h>

#define ASKED_EACH 20000000 /* ns between two checks: other threads may need the interpreter's lock */

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* The library's interrupt check. Python runs signal handlers in the main thread only, so other threads skip it. */
static int check_signals(void *user) {
    core_unlocked *u = user;
    int64_t time = u->next == INT64_MAX ? 0 : now();
    if (u->next == 0) {
        u->next = gettid() == getpid() ? time + ASKED_EACH : INT64_MAX;
    }
    if (time < u->next) {
        return 0;
    }
    PyEval_RestoreThread(u->thread);
    int raised = PyErr_CheckSignals();
    u->thread = PyEval_SaveThread();
    u->next = now() + ASKED_EACH;
    return raised;
}

void core_unlock(core_unlocked *u) {
    u->next = 0;
    u->check = bp_set_interrupt_check(check_signals, u, &u->user);
    u->thread = PyEval_SaveThread();
}

void core_lock(core_unlocked *u) {
    PyEval_RestoreThread(u->thread);
    bp_set_interrupt_check(u->check, u->user, NULL);
}
