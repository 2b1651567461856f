/* fork_state.h - records, for children of fork, which libraries and OpenMP runtimes a child cannot use.
 *
 * A child has one thread and a copy of the memory. A library is unusable in it if that memory refers to threads which
 * do not exist there: a thread pool, or a lock that a thread held inside the library. Neither is visible from outside.
 * So each call records which library its thread is inside of, and runtimes that started threads are marked. The records
 * outlive drivers, because libraries stay loaded. A thread pool belongs to the runtime, so if it is lost, every library
 * on that runtime is unusable.
 *
 * Some libraries stop their threads before each fork, and hang in the parent if these are working then. For them a fork
 * waits for calls that use threads, and such calls wait for the fork.
 */
#ifndef BP_DRIVER_FORK_H
#define BP_DRIVER_FORK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* One library file, or one OpenMP runtime by its name. */
typedef struct bp__fork_state {
    atomic_uint name;     /* hash of the name; 0: not in use */
    atomic_bool unusable; /* in this process */
    atomic_bool threaded; /* has started threads that do not survive fork */
    atomic_bool waits;    /* a fork waits for calls that use threads */
    atomic_bool watched;  /* see bp__driver_watch */
    atomic_uint inside;   /* threads inside that have no call record */
    atomic_uint
        in_window; /* number of the last fork that was in progress when a call ended which may have started threads */
} bp__fork_state;

/* Returns the state for a name, never NULL; the same for the same name. Names beyond the table's size share one. Pass
 * NULL for libraries that keep nothing between calls: they are never unusable. */
bp__fork_state *bp__fork_state_of(const char *name);

/* Registers fork handlers for a state, once. Call it when the library is loaded, so that a library's own handlers,
 * which may stop its threads before the fork, run after ours. Returns false if there is no memory. */
bool bp__driver_watch(bp__fork_state *state, bool waits);

/* Returns the number of forks that this process, or the one that it is a child of, has begun. A fork may stop a
 * library's threads. */
extern atomic_uint bp__driver_forks_begun __attribute__((visibility("hidden")));
static inline unsigned bp__driver_forks(void) {
    return atomic_load_explicit(&bp__driver_forks_begun, memory_order_relaxed);
}
int bp__fork_state_number(const bp__fork_state *state); /* -1: for libraries that keep nothing */

/* Sleeps that long. The thread is not cancelled meanwhile: its call holds memory and locks. */
void bp__driver_sleep(long nanoseconds);

/* Begin and end calls that may start or use the library's threads: two atomic additions. Never nest them, and never
 * call them with the lock of a driver held: a thread inside may wait for that lock, and a fork waits for the thread
 * inside. */
void bp__driver_enter_threads(bp__fork_state *state);
void bp__driver_leave_threads(bp__fork_state *state);

/* Call record of a thread: which library it is inside of. Only that thread writes it, so a call costs two plain stores.
 * Records are only handed out while no library is unusable. A thread with a record can therefore skip that check. */
typedef struct bp__driver_call_record {
    _Alignas(64) _Atomic(bp__fork_state *) inside;
    atomic_bool taken;
} bp__driver_call_record;

extern _Thread_local bp__driver_call_record *bp__driver_call_record_mine
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

bp__driver_call_record *
bp__driver_call_record_take(void); /* NULL: more threads than records, or a library is unusable */

/* Begin and end all other calls; never nested. If fork copies a later store of a thread, it also copies the earlier
 * ones, so the store only needs to precede the call. */
static inline bp__driver_call_record *bp__driver_enter(bp__fork_state *state) {
    bp__driver_call_record *record =
        bp__driver_call_record_mine ? bp__driver_call_record_mine : bp__driver_call_record_take();
    if (__builtin_expect(!record, 0)) {
        atomic_fetch_add(&state->inside, 1);
        return NULL;
    }
    atomic_store_explicit(&record->inside, state, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
    return record;
}

static inline void bp__driver_leave(bp__fork_state *state, bp__driver_call_record *record) {
    if (__builtin_expect(!record, 0)) {
        atomic_fetch_sub(&state->inside, 1);
    } else {
        atomic_store_explicit(&record->inside, NULL, memory_order_release);
    }
}

#endif
