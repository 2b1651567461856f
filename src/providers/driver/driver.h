/* driver.h - declares the driver of a foreign library, which the blas, lapack and mkl providers share.
 *
 * All providers that use the same library share one driver: it is opened once, with one lock, one thread count and one
 * fork state. Providers use thread_policy.c to decide about threads, and make their calls between bp__driver_begin()
 * and bp__driver_end().
 */
#ifndef BP_DRIVER_DRIVER_H
#define BP_DRIVER_DRIVER_H

#include "backplane/provider.h"
#include "providers/driver/families.h"
#include "providers/driver/fork_state.h"
#include "providers/driver/placement.h"

#include <stdatomic.h>

typedef struct bp__driver bp__driver;

/* Returns whether a library takes a matrix in place whose columns have `rows` elements and are `leading` apart. Vector
 * kernels may compute the distances between columns in 32 bits, although the library's integers are longer: OpenBLAS
 * 0.3.21 to 0.3.31 on AVX-512 write the result of a small product with a transposed factor to wrong places from 2^28
 * elements on. No such kernel has more than 64 columns, nor matrices with 2^20 rows. */
static inline bool bp__driver_takes_leading(int64_t leading, int64_t rows, int64_t int_max) {
    const int64_t far = (INT64_C(1) << 31) / 64, many = INT64_C(1) << 20;
    return leading <= int_max && (leading < far || rows >= many);
}

struct bp__driver {
    bp__driver *next; /* in the list of all drivers */
    int users;
    const bp_host *host;
    const bp_library_info *library;
    const bp__driver_family *family;
    int64_t int_max;     /* largest value of the library's integer */
    double peak[2];      /* operations per nanosecond of one core in f32, f64 */
    double c_element[2]; /* as in bp__driver_speed, for the library's kernel set */
    bp__fork_state *fork_state;
    _Atomic(bp__fork_state *) runtime; /* of the OpenMP runtime that the library uses, or its own state */

    atomic_uint lock;   /* see bp__driver_lock */
    atomic_bool loaded; /* the fields below are set */
    void *handle;
    bool survives_fork; /* as in the family's entry; for MKL it depends on the threading layer */
    void (*set_int)(int);
    int (*get_int)(void);
    int (*set_local)(int);    /* MKL; returns the previous count */
    void (*set_dim)(int64_t); /* BLIS; its dim_t has 64 bits */
    int64_t (*get_dim)(void);
    int (*limit)(void); /* thread limit of the OpenMP runtime below; NULL: no such runtime */
    int (*dynamic)(void);

    _Atomic uint64_t pool;          /* threads that all callers share; see start.c */
    _Atomic(bp__workers *) workers; /* of the pool; NULL: not known */
    atomic_int most_threads; /* count that the library was seen to grant; INT_MAX until it grants less than requested */
};

/* Opens the driver of an entry of the library list. All providers that are given the same entry get the same driver,
 * until the last of them closes it. */
bp_status bp__driver_open(const bp_host *host, const bp_library_info *library, void **driver); /* bp_provider.open */
void bp__driver_close(void *driver);                                                           /* bp_provider.close */

/* Locks the driver. In a child of fork the lock is free, even if a thread that exists only in the parent held it. */
void bp__driver_lock(bp__driver *driver);
void bp__driver_unlock(bp__driver *driver);

/* Returns whether this process is a child of fork in which the library, or the runtime that it uses, is unusable. */
static inline bool bp__driver_forked(bp__driver *driver) {
    bp__fork_state *runtime = atomic_load_explicit(&driver->runtime, memory_order_relaxed);
    return atomic_load_explicit(&driver->fork_state->unusable, memory_order_relaxed) ||
           atomic_load_explicit(&runtime->unusable, memory_order_relaxed);
}
bp_status bp__driver_fail_forked(const bp__driver *driver);

/* Opens the library at the first call, chooses MKL's threading layer, and finds the thread functions. */
bp_status bp__driver_load(bp__driver *driver);
/* Loads the library before a plan is made. Also fails if the library is unusable in this process. */
bp_status bp__driver_ready(bp__driver *driver);

/* ---- Illegal arguments (xerbla.c) ---- */

/* A report that a library made to its xerbla. */
typedef struct bp__driver_illegal {
    char routine[24];
    int64_t argument; /* counted from 1; 0: no report */
} bp__driver_illegal;

/* Stores the reports of this thread's calls in *illegal instead of printing them; NULL ends that. Returns the previous
 * pointer. */
bp__driver_illegal *bp__driver_capture_xerbla(bp__driver_illegal *illegal);
/* Redirects the xerbla calls of the loaded library to us, as far as its linkage allows. */
void bp__driver_intercept_xerbla(bp__driver *driver);
bp_status bp__driver_fail_illegal(const bp__driver *driver, const bp__driver_illegal *illegal);

/* ---- Threads (threads.c) ---- */

/* Sets the count to `want` for calls of this thread. Returns the value that bp__driver_threads_end needs to restore the
 * thread's own count. A count of the whole process is not restored. The caller must hold the lock. */
int bp__driver_threads_begin(const bp__driver *driver, int want);
/* Sets the count like bp__driver_threads_begin, without the lock held. Takes the lock to change a count of the process,
 * so that it never changes during a call that holds the lock. */
int bp__driver_threads_begin_unlocked(bp__driver *driver, int want);
void bp__driver_threads_end(const bp__driver *driver, int want, int before);
/* Implements bp_provider.threads, for providers whose instance is `driver`. */
bp_status bp__driver_threads(void *driver, int want, int *got);
/* Returns how many threads the library grants if `want` are requested. Warns if the numbers differ. */
int bp__driver_threads_granted(bp__driver *driver, int want);

/* ---- Thread policy of a problem, and its effect around calls (thread_policy.c) ---- */

typedef struct bp__thread_setup {
    int threads;     /* to request; 0: the count cannot be set */
    bool sets_count; /* set the library's count to `threads` around the call */
    bool locks;      /* and hold the lock, so that the count stays */
    bool marks;      /* the plan records that the library used several threads */
    bool starts;     /* a call may start threads */
    bool fixed;      /* the plan, or `deterministic`, depends on the count: a call never uses another one */
} bp__thread_setup;

/* Writes a refusal to the verdict. */
void bp__driver_refuse(bp_verdict *verdict, bp_reason reason, const char *format, ...) BP_PRINTF(3, 4);
/* Returns whether the library can be called in this process. Otherwise refuses. */
bool bp__driver_usable(bp__driver *driver, bp_verdict *verdict);
/* Returns whether the library passed a check of the probe in a type. Otherwise refuses. */
bool bp__driver_passed_check(const bp__driver *driver, bp_check check, uint32_t dtype, bp_verdict *verdict);
/* Returns the number of threads that a problem may use in this library, at least 1. */
int bp__driver_allowed(const bp__driver *driver, const bp_policy *policy);
/* Decides the thread setup of a problem. `alone`: the library uses one thread whatever its count is. `gains`: several
 * threads repay their start. */
bp__thread_setup bp__driver_thread_policy(const bp__driver *driver, const bp_policy *policy, bool alone, bool gains);
/* Returns the guarantees: the same result bit for bit with the same thread count (BP_PROPERTY_REPRODUCIBLE), and with
 * any thread count (BP_PROPERTY_THREAD_INVARIANT). */
uint32_t bp__driver_guarantees(const bp__driver *driver, const bp_policy *policy, const bp__thread_setup *setup);
/* Refuses the problem if its properties do not satisfy the policy. Call last in accept(). */
void bp__driver_enforce_policy(const bp__driver *driver, const bp_policy *policy, const bp__thread_setup *setup,
                               bp_verdict *verdict);
/* Returns how many threads may call the library at once for one problem, with the library on one thread in each. At
 * least 1. */
int bp__driver_callers(const bp__driver *driver, const bp_policy *policy);
/* Returns the thread setup of such calls: the library is on one thread. */
bp__thread_setup bp__driver_thread_policy_shared(const bp__driver *driver, const bp_policy *policy);
/* Derives a plan's setup from a verdict's, with the count that the library grants. The library must be loaded. */
bp__thread_setup bp__driver_thread_policy_plan(bp__driver *driver, const bp__thread_setup *judged);

/* Begin and end a plan's calls of the library, in each thread that makes some. begin returns the argument of end. */
int bp__driver_begin(bp__driver *driver, const bp__thread_setup *setup);
void bp__driver_end(bp__driver *driver, const bp__thread_setup *setup, int before);
/* Returns whether the program's interrupt check stops the operation. Call it between two calls of the library. The
 * check may call the same library, so it runs outside of begin and end, which use *before. *since must be 0 when the
 * operation begins (bp_host.interrupt_due). */
bool bp__driver_stops(bp__driver *driver, const bp__thread_setup *setup, bp_op op, int64_t *since, int *before);
/* Returns whether all callers share the library's threads, which start when it is opened, or when a larger count is
 * set. */
static inline bool bp__driver_has_pool(const bp__driver *driver) {
    return driver->family->setter == BP__DRIVER_SET_OPENBLAS;
}
/* Finds the threads of a call, whose setup is the plan's. Sets one thread if the process cannot start more, and
 * fails if the number cannot change. */
bp_status bp__driver_find_threads(bp__driver *driver, bp__thread_setup *setup);
/* Whether the call surely starts no thread. */
static inline bool bp__driver_starts_none(bp__driver *driver, const bp__thread_setup *setup) {
    const uint64_t pool = atomic_load_explicit(&driver->pool, memory_order_relaxed);
    return !setup->starts ||
           ((unsigned)pool == bp__driver_forks() && setup->threads > 0 && (unsigned)setup->threads <= pool >> 32);
}
/* Finds out before a call whether the library is usable and can have its threads, and writes the setup of this call:
 * the plan's setup, or one with one thread if the process cannot start more. begin, end and stops take it. Errors:
 * BP_E_FORKED; BP_E_NO_MEMORY: the library would start threads that the process cannot start. */
static inline bp_status bp__driver_admit(bp__driver *driver, const bp__thread_setup *planned, bp__thread_setup *now) {
    *now = *planned;
    return bp__driver_forked(driver)                 ? bp__driver_fail_forked(driver)
           : bp__driver_starts_none(driver, planned) ? BP_OK
                                                     : bp__driver_find_threads(driver, now);
}
/* bp__driver_admit() for work that makes a plan. It may start fewer threads than the plan has, so they are not noted,
 * and the first call looks again. */
static inline bp_status bp__driver_admit_plan(bp__driver *driver, const bp__thread_setup *planned,
                                              bp__thread_setup *now) {
    const bp_status status = bp__driver_admit(driver, planned, now);
    now->starts = false;
    return status;
}
/* Returns whether the process can start the threads that a call would start, how many these are, and the error. */
bool bp__driver_can_start(const bp__driver *driver, const bp__thread_setup *setup, int *count, int *error);
void bp__driver_note_pool(bp__driver *driver); /* after the library was loaded, with its own threads */
void bp__driver_place(bp__driver *driver);     /* before a call on several threads: see placement.h */
void bp__driver_keep_threads(bp__driver *driver, const bp__thread_setup *setup);
/* Notes after a call that its threads exist. */
static inline void bp__driver_note_started(bp__driver *driver, const bp__thread_setup *setup) {
    if (setup->threads != 1 && !bp__driver_starts_none(driver, setup)) {
        bp__driver_keep_threads(driver, setup);
    }
}
/* Before a call: records that the library has threads, if it may start some, and keeps them off this thread's
 * processor. */
static inline void bp__driver_note_threads(bp__driver *driver, const bp__thread_setup *setup) {
    bp__fork_state *runtime = atomic_load_explicit(&driver->runtime, memory_order_relaxed);
    if (setup->marks && !atomic_load_explicit(&runtime->threaded, memory_order_relaxed)) {
        atomic_store_explicit(&runtime->threaded, true, memory_order_relaxed);
    }
    if (setup->threads != 1) {
        bp__driver_place(driver);
    }
}

#endif
