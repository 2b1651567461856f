/* threads.c - sets and reads the thread count of any library, through the functions that it offers.
 *
 * Each call that may use threads reads the count from the library and never caches it, because the program may set it
 * too. A count of the calling thread is restored after the call.
 */
#include "providers/driver/driver.h"

#include <limits.h>
#include <stdio.h>

int bp__driver_threads_begin(const bp__driver *driver, int want) {
    switch (driver->family->setter) {
    case BP__DRIVER_SET_OPENBLAS:
    case BP__DRIVER_SET_OPENMP: {
        int before = driver->get_int();
        if (before != want) {
            driver->set_int(want);
        }
        return before;
    }
    case BP__DRIVER_SET_BLIS: {
        int64_t before = driver->get_dim();
        if (before != want) {
            driver->set_dim(want);
        }
        return (int)before;
    }
    case BP__DRIVER_SET_MKL:
        return driver->set_local(want);
    case BP__DRIVER_SET_NOTHING:
        break;
    }
    return want;
}

int bp__driver_threads_begin_unlocked(bp__driver *driver, int want) {
    bp__driver_setter setter = driver->family->setter;
    bool of_process = setter == BP__DRIVER_SET_OPENBLAS || setter == BP__DRIVER_SET_BLIS;
    if (!of_process) {
        return bp__driver_threads_begin(driver, want);
    }
    int64_t now = setter == BP__DRIVER_SET_BLIS ? driver->get_dim() : driver->get_int();
    if (now != want) {
        bp__driver_lock(driver);
        bp__driver_threads_begin(driver, want);
        bp__driver_unlock(driver);
    }
    return want;
}

void bp__driver_threads_end(const bp__driver *driver, int want, int before) {
    if (driver->family->setter == BP__DRIVER_SET_MKL) {
        driver->set_local(before);
    } else if (driver->family->setter == BP__DRIVER_SET_OPENMP && before != want) {
        driver->set_int(before);
    }
}

/* Returns the count in force for the calling thread; 0: unknown. */
static int read_threads(const bp__driver *driver) {
    switch (driver->family->setter) {
    case BP__DRIVER_SET_BLIS: {
        int64_t count = driver->get_dim();
        return count > 0 && count <= INT_MAX ? (int)count : 1; /* negative: never set; then it uses one */
    }
    case BP__DRIVER_SET_OPENBLAS:
    case BP__DRIVER_SET_OPENMP:
    case BP__DRIVER_SET_MKL:
        return driver->get_int();
    case BP__DRIVER_SET_NOTHING:
        break;
    }
    return driver->family->one_thread ? 1 : 0;
}

/* Returns the most threads that the OpenMP runtime provides. If it provides fewer, OpenBLAS waits forever and BLIS ends
 * the process. MKL checks itself. */
static int most_of_runtime(const bp__driver *driver) {
    if (driver->dynamic && driver->dynamic()) {
        return 1;
    }
    int most = driver->limit ? driver->limit() : 0;
    return most > 0 ? most : INT_MAX;
}

int bp__driver_threads_granted(bp__driver *driver, int want) {
    bp__driver_enter_threads(driver->fork_state);
    bp__driver_lock(driver);
    int before = bp__driver_threads_begin(driver, want);
    int got = read_threads(driver), most = most_of_runtime(driver);
    bp__driver_threads_end(driver, want, before);
    bp__driver_unlock(driver);
    bp__driver_leave_threads(driver->fork_state);
    got = got > most ? most : got;
    if (got < 1 || got == want) {
        return want;
    }
    driver->host->warn("library '%s' uses %d threads instead of the requested %d", driver->library->id, got, want);
    if (got < want) {
        atomic_store_explicit(&driver->most_threads, got, memory_order_relaxed);
    }
    return got;
}

/* Sets the count, for which a pool may start threads. */
static bp_status set_threads(bp__driver *driver, int want) {
    const bool starts = bp__driver_has_pool(driver);
    const bp__thread_setup wanted = {.threads = want, .sets_count = true, .starts = starts, .fixed = true};
    bp__thread_setup setup;
    bp_status status = bp__driver_admit(driver, &wanted, &setup);
    if (status != BP_OK) {
        return status;
    }
    bp__driver_enter_threads(driver->fork_state);
    bp__driver_lock(driver);
    bp__driver_threads_begin(driver, want);
    bp__driver_unlock(driver);
    bp__driver_note_started(driver, &setup);
    bp__driver_leave_threads(driver->fork_state);
    return BP_OK;
}

bp_status bp__driver_threads(void *opaque, int want, int *got) {
    bp__driver *driver = opaque;
    const bp_host *host = driver->host;
    if (want < 0 || !got) {
        return host->fail(BP_E_ARGUMENT, "threads: %s", got ? "the count is negative" : "got is NULL");
    }
    *got = 0;
    if (bp__driver_forked(driver)) {
        return bp__driver_fail_forked(driver);
    }
    if (want > 0) {
        bp_status status = bp__driver_load(driver);
        if (status != BP_OK) {
            return status;
        }
        if (driver->family->setter == BP__DRIVER_SET_NOTHING) {
            *got = driver->family->one_thread ? 1 : 0;
            return want == *got
                       ? BP_OK
                       : host->fail(BP_E_UNSUPPORTED, "the thread count of library '%s' cannot be set to %d: it %s",
                                    driver->library->id, want,
                                    *got ? "runs on one thread only" : "offers no way to do so");
        }
        status = set_threads(driver, want);
        if (status != BP_OK) {
            return status;
        }
    }
    if (atomic_load_explicit(&driver->loaded, memory_order_acquire)) {
        bp__driver_call_record *record = bp__driver_enter(driver->fork_state);
        *got = read_threads(driver);
        bp__driver_leave(driver->fork_state, record);
    }
    return BP_OK;
}
