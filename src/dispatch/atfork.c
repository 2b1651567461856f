/* atfork.c - holds every mutex of the library while the process forks, so that the child finds none locked by a thread
 * that it does not have. Threads, pools and plans of before are another matter: see bp__plan_epoch() and the providers.
 */
#include "dispatch/internal.h"

#include "einsum/internal.h"
#include "machine/internal.h"
#include "registry/internal.h"

/* From the room that locks first to the one that locks last: whoever holds one of these may wait for those below it
 * only. */
static pthread_mutex_t *const mutexes[] = {
    &bp__verbose_mutex, &bp__candidates_mutex, &bp__cache_mutex,  &bp__thread_cache_mutex,
    &bp__plans_mutex,   &bp__trace_mutex,      &bp__policy_mutex, &bp__host_mutex,
};

static void before(void) {
    if (bp__foreign_runs()) {
        return;
    }
    for (int i = 0; i < BP__COUNT(mutexes); i++) {
        pthread_mutex_lock(mutexes[i]);
    }
    bp__einsum_fork_lock();
    bp__registry_fork_lock();
    bp__machine_fork_lock();
    bp__settings_fork_lock();
    bp__base_fork_lock();
}

static void after(void) {
    if (bp__foreign_runs()) {
        return;
    }
    bp__base_fork_unlock();
    bp__settings_fork_unlock();
    bp__machine_fork_unlock();
    bp__registry_fork_unlock();
    bp__einsum_fork_unlock();
    for (int i = BP__COUNT(mutexes) - 1; i >= 0; i--) {
        pthread_mutex_unlock(mutexes[i]);
    }
}

/* Plans of before the fork are not found again: their libraries may not have survived it. */
static void after_in_child(void) {
    bp__settings_forked();
    after();
    bp__plan_epoch_next();
}

/* The pool's handlers are registered first, and so they lock last: whoever holds a mutex of this file may wait for the
 * pool's. */
static void watch(void) {
    bp__fork_count();
    pthread_atfork(before, after, after_in_child);
}

void bp__fork_watch(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch);
}

/* Before main(): a fork in the middle of the very first call must find its mutexes watched already. */
__attribute__((constructor)) static void watch_from_the_start(void) {
    bp__fork_watch();
}
