/* fork_state.h - what is remembered of libraries and OpenMP runtimes for the children of fork.
 *
 * A child has one thread and a copy of the memory as it was. A library is lost in it, for good, when that memory tells
 * of threads which are not there: a pool of threads that does not come back, or a lock that a thread held inside the
 * library. Neither can be seen from outside, so it is noted here who is inside which library while a call lasts, and
 * which runtime has started threads. The notes outlive drivers, since libraries stay loaded; a pool belongs to the
 * runtime, so one library's threads are lost to every other one on the same runtime.
 *
 * Some libraries stop their threads before each fork, and hang, in the parent, when these are at work just then. There
 * the fork waits for calls that use threads, and such calls wait for the fork.
 */
#ifndef BP_DRIVER_FORK_H
#define BP_DRIVER_FORK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* One library file, or one OpenMP runtime by its name. */
typedef struct bp__fork_state {
    atomic_uint name;      /* its hash; 0: not in use */
    atomic_bool unusable;  /* in this process */
    atomic_bool threaded;  /* has started threads that do not survive fork */
    atomic_bool waits;     /* forks wait for calls that use threads */
    atomic_bool watched;   /* see bp__driver_watch */
    atomic_uint inside;    /* threads inside, but those that sit in a record */
    atomic_uint in_window; /* last fork that was under way when a call ended which may have started threads */
} bp__fork_state;

/* Never NULL; the same for the same name. Names beyond the table's size share one. NULL: for libraries that keep
 * nothing between calls, so that nothing can be lost. */
bp__fork_state *bp__fork_state_of(const char *name);

/* Looks at forks from now on. To be called when the library is loaded: a library's own handlers, which may stop its
 * threads before the fork, then run after ours. Once for each state. False: no memory. */
bool bp__driver_watch(bp__fork_state *state, bool waits);

/* Around calls of the library that may start threads or use them: two atomic additions. Never nested, and never while
 * the lock of a driver is held: who is inside may wait for that lock, and a fork for who is inside. */
void bp__driver_enter_threads(bp__fork_state *state);
void bp__driver_leave_threads(bp__fork_state *state);

/* Where a thread notes what it is inside of: memory that only it writes, so that a call pays two plain stores. Where
 * anything is lost no thread has a record, so that one who has need not ask. */
typedef struct bp__driver_call_record {
    _Alignas(64) _Atomic(bp__fork_state *) inside;
    atomic_bool taken;
} bp__driver_call_record;

extern _Thread_local bp__driver_call_record *bp__driver_call_record_mine
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

bp__driver_call_record *bp__driver_call_record_take(void); /* NULL: more threads than records, or something is lost */

/* Around all other calls; never nested. The copy of memory that fork makes has an earlier store of a thread wherever it
 * has a later one, so the store only needs to be made before the call. */
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
