/* unlock.c - long calls of the library without the interpreter's lock, which Ctrl-C stops all the same: the library
 * asks now and then, and what Python's handlers of signals raise becomes the call's exception. */
#define _GNU_SOURCE
#include "core.h"

#include <stdint.h>
#include <time.h>
#include <unistd.h>

#define ASKED_EACH 20000000 /* nanoseconds: a lock that other threads want is not taken more often */

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* The library's interrupt check. Python runs handlers in the main thread only, so that others need not ask. */
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
