/* driver.h - what every provider that drives a foreign library shares: the blas, lapack and mkl providers.
 *
 * A driver is one library as seen by all of them together: opened once, with one lock, one thread count, and one note
 * of what fork does to it. Providers judge with what thread_policy.c decides about threads, and put their calls between
 * bp__driver_begin() and bp__driver_end().
 */
#ifndef BP_DRIVER_DRIVER_H
#define BP_DRIVER_DRIVER_H

#include "backplane/provider.h"
#include "providers/driver/families.h"
#include "providers/driver/fork_state.h"

#include <stdatomic.h>

typedef struct bp__driver bp__driver;

struct bp__driver {
    bp__driver *next; /* in the list of all */
    int users;
    const bp_host *host;
    const bp_library_info *library;
    const bp__driver_family *family;
    int64_t int_max; /* of the library's integer */
    double peak[2];  /* operations per nanosecond of one core in f32, f64 */
    bp__fork_state *fork_state;
    _Atomic(bp__fork_state *) runtime; /* of the OpenMP runtime that it runs on, or its own */

    atomic_uint lock;   /* see bp__driver_lock */
    atomic_bool loaded; /* what follows is set */
    void *handle;
    bool survives_fork; /* the row's word, or what the layer that MKL runs on makes of it */
    void (*set_int)(int);
    int (*get_int)(void);
    int (*set_local)(int);    /* MKL's: returns what was set before */
    void (*set_dim)(int64_t); /* BLIS: its dim_t has 64 bits */
    int64_t (*get_dim)(void);
    int (*limit)(void); /* of the OpenMP runtime below; NULL: there is none */
    int (*dynamic)(void);

    atomic_int most_threads; /* that the library was seen to grant; INT_MAX before it granted less than asked */
};

/* The driver of a row of the library list: the same for all providers that are given the same row, until the last of
 * them has closed it. */
bp_status bp__driver_open(const bp_host *host, const bp_library_info *library, void **driver); /* as bp_provider.open */
void bp__driver_close(void *driver);                                                           /* as its close */

/* A lock that a child of fork finds open even if a thread that it does not have held it in the parent. */
void bp__driver_lock(bp__driver *driver);
void bp__driver_unlock(bp__driver *driver);

/* Whether this process is a child of fork in which the library, or the runtime that it runs on, is lost. */
static inline bool bp__driver_forked(bp__driver *driver) {
    bp__fork_state *runtime = atomic_load_explicit(&driver->runtime, memory_order_relaxed);
    return atomic_load_explicit(&driver->fork_state->unusable, memory_order_relaxed) ||
           atomic_load_explicit(&runtime->unusable, memory_order_relaxed);
}
bp_status bp__driver_fail_forked(const bp__driver *driver);

/* Opens the library at the first call, chooses MKL's threading layer, and finds the thread functions. */
bp_status bp__driver_load(bp__driver *driver);
/* The same before a plan is made: fails also where the library is lost to this process. */
bp_status bp__driver_ready(bp__driver *driver);

/* ---- Illegal arguments (xerbla.c) ---- */

/* What a library's xerbla was told. */
typedef struct bp__driver_illegal {
    char routine[24];
    int64_t argument; /* counted from 1; 0: nothing was told */
} bp__driver_illegal;

/* From now on what this thread's calls report is noted there, instead of printed; NULL: no longer. Returns where it was
 * noted before. */
bp__driver_illegal *bp__driver_capture_xerbla(bp__driver_illegal *illegal);
/* Leads the loaded library's reports to us, as far as it was linked so that this can be done. */
void bp__driver_intercept_xerbla(bp__driver *driver);
bp_status bp__driver_fail_illegal(const bp__driver *driver, const bp__driver_illegal *illegal);

/* ---- Threads (threads.c) ---- */

/* Brings the count to `want` for calls of this thread; returns what bp__driver_threads_end needs to bring the thread's
 * own count back. A count that belongs to the whole process stays as set; the lock must be held to begin. */
int bp__driver_threads_begin(const bp__driver *driver, int want);
/* The same, for a caller without the lock: takes it where a count of the process must change, so that it never changes
 * under a call that holds the lock to keep it. */
int bp__driver_threads_begin_unlocked(bp__driver *driver, int want);
void bp__driver_threads_end(const bp__driver *driver, int want, int before);
/* The threads slot of bp_provider, for providers whose instance `driver` is. */
bp_status bp__driver_threads(void *driver, int want, int *got);
/* How many threads the library grants when `want` are asked for; warns when these are fewer. */
int bp__driver_threads_granted(bp__driver *driver, int want);

/* ---- What is decided about the threads of a problem, and done around its calls (thread_policy.c) ---- */

typedef struct bp__thread_setup {
    int threads;     /* to ask for; 0: the count cannot be set */
    bool sets_count; /* the library's count must be brought to `threads` around the call */
    bool locks;      /* ... and kept by holding the lock */
    bool marks;      /* a plan notes that the library ran with several threads */
} bp__thread_setup;

/* Puts a refusal into the verdict. */
void bp__driver_refuse(bp_verdict *verdict, bp_reason reason, const char *format, ...) BP_PRINTF(3, 4);
/* Whether the library can be called here at all; refuses otherwise. */
bool bp__driver_usable(bp__driver *driver, bp_verdict *verdict);
/* Whether the probe has found nothing wrong with what a check stands for, in a type; refuses otherwise. */
bool bp__driver_passed_check(const bp__driver *driver, bp_check check, uint32_t dtype, bp_verdict *verdict);
/* The threads that a problem may have of this library: at least 1. */
int bp__driver_allowed(const bp__driver *driver, const bp_policy *policy);
/* `alone`: the library stays on one thread by itself whatever count is in force; `gains`: several threads are worth
 * their start. */
bp__thread_setup bp__driver_thread_policy(const bp__driver *driver, const bp_policy *policy, bool alone, bool gains);
/* Whether the same problem gives the same bits again with the same count of threads (BP_PROPERTY_REPRODUCIBLE), and
 * with any (BP_PROPERTY_THREAD_INVARIANT). */
uint32_t bp__driver_guarantees(const bp__driver *driver, const bp_policy *policy, const bp__thread_setup *setup);
/* The last word of accept(), once notes are in the verdict: refuses what the policy asks for and the library lacks. */
void bp__driver_enforce_policy(const bp__driver *driver, const bp_policy *policy, const bp__thread_setup *setup,
                               bp_verdict *verdict);
/* How many threads may call the library at once for one problem, when each has it on one thread; at least 1. */
int bp__driver_callers(const bp__driver *driver, const bp_policy *policy);
/* The setup of such calls: the library is on one thread. */
bp__thread_setup bp__driver_thread_policy_shared(const bp__driver *driver, const bp_policy *policy);
/* Makes a plan's setup of a verdict's, with the count that the library grants. The library must be loaded. */
bp__thread_setup bp__driver_thread_policy_plan(bp__driver *driver, const bp__thread_setup *judged);

/* Around a plan's calls of the library, however many, in each thread that makes some: returns what end needs. */
int bp__driver_begin(bp__driver *driver, const bp__thread_setup *setup);
void bp__driver_end(bp__driver *driver, const bp__thread_setup *setup, int before);
/* Between two calls of the library: whether the interrupt check of the program stops the operation. The check may call
 * the same library, so that it is asked outside of begin and end; *before is what they need, *since is 0 when the
 * operation begins (bp_host.interrupt_due). */
bool bp__driver_stops(bp__driver *driver, const bp__thread_setup *setup, bp_op op, int64_t *since, int *before);
/* Notes, before a call that may start threads, what it leaves behind. */
static inline void bp__driver_note_threads(bp__driver *driver, const bp__thread_setup *setup) {
    bp__fork_state *runtime = atomic_load_explicit(&driver->runtime, memory_order_relaxed);
    if (setup->marks && !atomic_load_explicit(&runtime->threaded, memory_order_relaxed)) {
        atomic_store_explicit(&runtime->threaded, true, memory_order_relaxed);
    }
}

#endif
