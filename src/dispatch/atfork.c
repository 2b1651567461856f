/* atfork.c - locks every mutex of the library during fork(), so that no mutex is locked in the child.
 *
 * A mutex held by another thread would stay locked for ever, because the child has only the forking thread. Other files
 * handle threads, the thread pool and older plans: see bp__plan_epoch() and the providers. */
#include "device/internal.h"
#include "dispatch/times/tune.h"
#include "dispatch/needs.h"
#include "einsum/internal.h"
#include "machine/internal.h"
#include "registry/internal.h"
#include "store/place.h"

/* In lock order: a thread that holds one of these waits only for those below it. */
static pthread_mutex_t *const mutexes[] = {
    &bp__verbose_mutex, &bp__candidates_mutex, &bp__tune_mutex,   &bp__cache_mutex, &bp__thread_cache_mutex,
    &bp__plans_mutex,   &bp__trace_mutex,      &bp__policy_mutex, &bp__host_mutex,
};

static void before_fork(void) {
    if (bp__foreign_runs()) {
        return;
    }
    for (int i = 0; i < BP__COUNT(mutexes); i++) {
        pthread_mutex_lock(mutexes[i]);
    }
    bp__einsum_fork_lock();
    bp__device_fork_lock();
    bp__registry_fork_lock();
    bp__store_fork_lock();
    bp__machine_fork_lock();
    bp__settings_fork_lock();
    bp__base_fork_lock();
}

static void after_fork(void) {
    if (bp__foreign_runs()) {
        return;
    }
    bp__base_fork_unlock();
    bp__settings_fork_unlock();
    bp__machine_fork_unlock();
    bp__store_fork_unlock();
    bp__registry_fork_unlock();
    bp__device_fork_unlock();
    bp__einsum_fork_unlock();
    for (int i = BP__COUNT(mutexes) - 1; i >= 0; i--) {
        pthread_mutex_unlock(mutexes[i]);
    }
}

/* Invalidates all plans made before the fork, because their libraries may not work in the child. */
static void after_in_child(void) {
    bp__settings_forked();
    after_fork();
    bp__device_forked();
    bp__candidates_forked();
    bp__needs_forked();
    bp__tune_forked();
    bp__plan_epoch_next();
}

/* The thread pool's handlers are registered first, so that they lock last. A thread that holds a mutex of this file may
 * wait for the pool's mutex. */
static void watch(void) {
    bp__fork_count();
    pthread_atfork(before_fork, after_fork, after_in_child);
}

void bp__fork_watch(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch);
}

/* Runs before main(), so that a fork during the very first call is covered. */
__attribute__((constructor)) static void watch_from_the_start(void) {
    bp__fork_watch();
}
