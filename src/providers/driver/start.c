/* start.c - finds out before a call whether its threads exist or can be started.
 *
 * Runtimes of libraries end the process, or wait for ever, if a limit of the user or of a control group refuses a
 * thread. Such a limit may be reached at any time. A call whose threads exist already costs a few comparisons; before
 * any other, as many threads are started and ended as it needs.
 */
#include "providers/driver/driver.h"

#include <string.h>

/* ---- Threads that exist ----
 *
 * OpenBLAS on pthreads has one pool for all callers. An OpenMP runtime has threads for each thread that calls it. A
 * fork may stop both. */

enum { RUNTIMES = 4 };

/* The threads that runtimes keep for this thread. Small, because it is in the static TLS of the process. */
typedef struct kept_threads {
    unsigned forks; /* forks of this process when they were noted */
    struct {
        unsigned char runtime; /* 1 + its number; 0: none */
        unsigned char count; /* in the last region, at most MOST; libgomp ends those that a smaller region leaves out */
        bp__workers *workers;
    } of[RUNTIMES];
} kept_threads;

enum { MOST = UINT8_MAX };

static _Thread_local kept_threads mine __attribute__((tls_model("initial-exec")));

static int runtime_number(const bp__driver *driver) {
    return bp__fork_state_number(atomic_load_explicit(&driver->runtime, memory_order_relaxed)) + 1;
}

/* Returns how many threads the runtime keeps for calls of this thread, with the calling one. */
static int kept_for_me(const bp__driver *driver) {
    const int number = runtime_number(driver);
    for (int i = 0; mine.forks == bp__driver_forks() && i < RUNTIMES; i++) {
        if (mine.of[i].runtime == number) {
            return mine.of[i].count;
        }
    }
    return 1;
}

/* Returns where the runtime's threads are noted; its number is set. */
static int place_for(const bp__driver *driver) {
    const int number = runtime_number(driver);
    const unsigned forks = bp__driver_forks();
    int at = 0;
    if (mine.forks != forks) {
        memset(&mine, 0, sizeof mine);
        mine.forks = forks;
    }
    while (at < RUNTIMES - 1 && mine.of[at].runtime != 0 && mine.of[at].runtime != number) {
        at++;
    }
    if (mine.of[at].runtime != number) {
        mine.of[at].runtime = (unsigned char)number;
        mine.of[at].workers = NULL;
    }
    return at;
}

static void keep_for_me(const bp__driver *driver, int count) {
    mine.of[place_for(driver)].count = (unsigned char)(count < MOST ? count : MOST);
}

/* The pool's threads in the upper half, and the number of forks when they were noted. */
static uint64_t pool_of(int threads) {
    return (uint64_t)threads << 32 | bp__driver_forks();
}

static bool pool_is_stopped(uint64_t pool) {
    return (unsigned)pool != bp__driver_forks();
}

static void keep_in_pool(bp__driver *driver, int threads) {
    uint64_t before = atomic_load_explicit(&driver->pool, memory_order_relaxed), now;
    do {
        const int known = (int)(before >> 32);
        now = pool_of(known > threads ? known : threads);
    } while (before != now && !atomic_compare_exchange_weak(&driver->pool, &before, now));
}

void bp__driver_note_pool(bp__driver *driver) {
    if (bp__driver_has_pool(driver)) {
        bp__workers *workers = bp__workers_of(runtime_number(driver) - 1, true);
        bp__workers_find(workers, driver->get_int() - 1);
        atomic_store_explicit(&driver->workers, workers, memory_order_release);
        keep_in_pool(driver, driver->get_int());
    }
}

/* ---- Before a call ---- */

static int threads_of(const bp__driver *driver, const bp__thread_setup *setup) {
    return setup->threads > 0 ? setup->threads : driver->host->machine->usable_cpus;
}

/* Returns how many threads the library will start in the call. */
static int missing_threads(const bp__driver *driver, const bp__thread_setup *setup) {
    const int wanted = threads_of(driver, setup);
    if (!bp__driver_has_pool(driver)) {
        const int kept = driver->family->starts_in_calls ? 1 : kept_for_me(driver);
        return (wanted < MOST ? wanted : MOST) - kept;
    }
    const uint64_t pool = atomic_load_explicit(&driver->pool, memory_order_relaxed);
    const int known = (int)(pool >> 32);
    if (!pool_is_stopped(pool)) {
        return wanted - known;
    }
    /* It is started again by a call with several threads, and when the count changes. */
    const bool starts = wanted > 1 || driver->get_int() != wanted;
    return starts ? (wanted > known ? wanted : known) - 1 : 0;
}

/* Lists the threads that have started. */
static void find_workers(bp__driver *driver, int started) {
    const bool pool = bp__driver_has_pool(driver);
    bp__workers *workers = bp__workers_of(runtime_number(driver) - 1, pool);
    bp__workers_find(workers, started);
    if (pool) {
        atomic_store_explicit(&driver->workers, workers, memory_order_release);
    } else {
        mine.of[place_for(driver)].workers = workers;
    }
}

void bp__driver_keep_threads(bp__driver *driver, const bp__thread_setup *setup) {
    if (driver->family->starts_in_calls) {
        return;
    }
    const int started = missing_threads(driver, setup);
    if (started > 0) {
        find_workers(driver, started);
    }
    if (bp__driver_has_pool(driver)) {
        keep_in_pool(driver, setup->threads);
    } else {
        keep_for_me(driver, setup->threads > 0 ? setup->threads : MOST);
    }
}

void bp__driver_place(bp__driver *driver) {
    bp__workers *workers = NULL;
    if (bp__driver_has_pool(driver)) {
        workers = atomic_load_explicit(&driver->workers, memory_order_acquire);
    } else {
        const int number = runtime_number(driver);
        for (int i = 0; i < RUNTIMES; i++) {
            workers = mine.of[i].runtime == number ? mine.of[i].workers : workers;
        }
    }
    bp__workers_place(workers);
}

bool bp__driver_can_start(const bp__driver *driver, const bp__thread_setup *setup, int *count, int *error) {
    *count = setup->starts ? missing_threads(driver, setup) : 0;
    *error = *count > 0 ? driver->host->threads_start_error(*count) : 0;
    return *error == 0;
}

/* Whether the call works on one thread instead. To set the count, OpenBLAS would start its stopped pool. */
static bool can_do_without(const bp__driver *driver, const bp__thread_setup *setup) {
    const bool stopped =
        bp__driver_has_pool(driver) && pool_is_stopped(atomic_load_explicit(&driver->pool, memory_order_relaxed));
    return setup->sets_count && !setup->fixed && !stopped;
}

bp_status bp__driver_find_threads(bp__driver *driver, bp__thread_setup *setup) {
    int count, error;
    char reason[128];
    if (bp__driver_can_start(driver, setup, &count, &error)) {
        if (count > 0 && !driver->family->starts_in_calls) {
            bp__workers_expect(runtime_number(driver) - 1, bp__driver_has_pool(driver));
        }
        return BP_OK;
    }
    if (can_do_without(driver, setup)) {
        setup->threads = 1;
        return BP_OK;
    }
    return driver->host->fail(BP_E_NO_MEMORY,
                              "library '%s' is not called: it would start %d thread%s, and this process cannot: %s. "
                              "'ulimit -u' and the control group limit them",
                              driver->library->id, count, count == 1 ? "" : "s",
                              strerror_r(error, reason, sizeof reason));
}
