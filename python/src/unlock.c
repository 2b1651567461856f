/* unlock.c - runs long calls of the library without the interpreter's lock, so that Ctrl-C can stop them.
 *
 * The library calls its interrupt check now and then. The check runs Python's signal handlers; if one raises an
 * exception, the call ends with it. A call of few elements keeps the lock, because to give it up and to take it again
 * takes longer than the rest of such a call. Should the call take long after all, for example because it makes a plan,
 * the library's first check gives the lock up. The library holds no lock of its own at that time. */
#define _GNU_SOURCE
#include "core.h"

#include <stdint.h>
#include <time.h>
#include <unistd.h>

#define ASKED_EACH 20000000 /* ns between two checks: other threads may need the interpreter's lock */

/* Elements of all arrays of a call that keeps the lock. If each meets each other one, as in attention, that takes about
 * a millisecond, and a thread of Python keeps the lock for 5 ms if another one waits for it. */
#define FEW 4096

static int64_t now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* The library's interrupt check. Python runs signal handlers in the main thread only, so other threads skip it. */
static int check_signals(void *user) {
    core_unlocked *u = user;
    if (!u->thread) {
        u->thread = PyEval_SaveThread();
        return 0;
    }
    int64_t time = u->next == INT64_MAX ? 0 : now_ns();
    if (u->next == 0) {
        u->next = gettid() == getpid() ? time + ASKED_EACH : INT64_MAX;
    }
    if (time < u->next) {
        return 0;
    }
    PyEval_RestoreThread(u->thread);
    int raised = PyErr_CheckSignals();
    u->thread = PyEval_SaveThread();
    u->next = now_ns() + ASKED_EACH;
    return raised;
}

void core_unlock(core_unlocked *u) {
    u->next = 0;
    u->check = bp_set_interrupt_check(check_signals, u, &u->user);
    u->thread = PyEval_SaveThread();
}

static bool are_few(const DLTensor *const *tensors, int count) {
    int64_t all = 0;
    for (int i = 0; i < count; i++) {
        int64_t elements = 1;
        for (int d = 0; d < tensors[i]->ndim; d++) {
            if (__builtin_mul_overflow(elements, tensors[i]->shape[d], &elements)) {
                return false;
            }
        }
        if (__builtin_add_overflow(all, elements, &all)) {
            return false;
        }
    }
    return all <= FEW;
}

void core_unlock_for(core_unlocked *u, const DLTensor *const *tensors, int count) {
    if (!are_few(tensors, count)) {
        core_unlock(u);
        return;
    }
    u->next = 0;
    u->check = bp_set_interrupt_check(check_signals, u, &u->user);
    u->thread = NULL;
}

void core_lock(core_unlocked *u) {
    if (u->thread) {
        PyEval_RestoreThread(u->thread);
    }
    bp_set_interrupt_check(u->check, u->user, NULL);
}
