/* driver.c - keeps the list of drivers. Providers that are given the same library share one. */
#include "providers/driver/driver.h"

#include <limits.h>
#include <sched.h>
#include <string.h>

#define CLOCK_GHZ 3.0 /* assumed: costs only rank candidates */

/* ---- Locks that survive fork ---- */

/* Takes the lock. It stores the holder's fork count, so that a child ignores a lock that the parent held. */
static void lock(atomic_uint *word, const bp_host *host) {
    unsigned mine = *host->fork_count + 1;
    for (int tries = 0;; tries++) {
        unsigned seen = atomic_load_explicit(word, memory_order_relaxed);
        if (seen != mine &&
            atomic_compare_exchange_weak_explicit(word, &seen, mine, memory_order_acquire, memory_order_relaxed)) {
            return;
        }
        if (tries < 100) {
            sched_yield();
        } else {
            bp__driver_sleep(20000);
        }
    }
}

static void unlock(atomic_uint *word) {
    atomic_store_explicit(word, 0, memory_order_release);
}

void bp__driver_lock(bp__driver *driver) {
    lock(&driver->lock, driver->host);
}

void bp__driver_unlock(bp__driver *driver) {
    unlock(&driver->lock);
}

/* ---- The list ---- */

static atomic_uint list_lock;
static bp__driver *drivers;

/* Returns the state of the OpenMP runtime, or the library's own. MKL's runtime is only known when MKL is loaded. */
static bp__fork_state *runtime_of(const bp__driver *driver) {
    const char *threading = driver->library->threading;
    bool shared =
        strcmp(threading, "libgomp") == 0 || strcmp(threading, "libomp") == 0 || strcmp(threading, "libiomp5") == 0;
    return shared && driver->family->setter != BP__DRIVER_SET_MKL ? bp__fork_state_of(threading) : driver->fork_state;
}

static void fill(bp__driver *driver, const bp_host *host, const bp_library_info *library) {
    memset(driver, 0, sizeof *driver);
    driver->host = host;
    driver->library = library;
    driver->family = bp__driver_family_of(library);
    driver->survives_fork = driver->family->survives_fork;
    driver->fork_state = bp__fork_state_of(driver->family->stateless ? NULL : library->path);
    atomic_init(&driver->runtime, runtime_of(driver));
    driver->int_max = library->int_bits == 64 ? INT64_MAX : INT32_MAX;
    const bp__driver_speed *speed = &driver->family->speed;
    double rate = bp__driver_kernel_flops(library->kernels, host->hardware) * CLOCK_GHZ * speed->peak_part;
    driver->peak[0] = speed->plain > 0 ? speed->plain : 2 * rate;
    driver->peak[1] = speed->plain > 0 ? speed->plain : rate;
    const bool avx512 = bp__driver_kernels_avx512(library->kernels, host->hardware);
    for (int i = 0; i < 2; i++) {
        driver->c_element[i] = avx512 && speed->c_avx512[i] > 0 ? speed->c_avx512[i] : speed->c_element[i];
    }
    atomic_init(&driver->most_threads, INT_MAX);
}

static bp__driver *find_or_add(const bp_host *host, const bp_library_info *library) {
    for (bp__driver *d = drivers; d; d = d->next) {
        if (d->library == library && d->host == host) {
            return d;
        }
    }
    bp__driver *driver = host->allocate(sizeof *driver);
    if (driver) {
        fill(driver, host, library);
        driver->next = drivers;
        drivers = driver;
    }
    return driver;
}

bp_status bp__driver_open(const bp_host *host, const bp_library_info *library, void **opened) {
    if (!library) {
        return host->fail(BP_E_ARGUMENT, "library is NULL; this provider needs a library");
    }
    lock(&list_lock, host);
    bp__driver *driver = find_or_add(host, library);
    if (driver) {
        driver->users++;
    }
    unlock(&list_lock);
    *opened = driver;
    return driver ? BP_OK : host->fail(BP_E_NO_MEMORY, "no memory for the driver of library '%s'", library->id);
}

void bp__driver_close(void *closed) {
    bp__driver *driver = closed;
    const bp_host *host = driver->host;
    lock(&list_lock, host);
    bool last = --driver->users == 0;
    if (last) {
        bp__driver **at = &drivers;
        while (*at != driver) {
            at = &(*at)->next;
        }
        *at = driver->next;
    }
    unlock(&list_lock);
    if (last) {
        host->release(driver);
    }
}

bp_status bp__driver_fail_forked(const bp__driver *driver) {
    return driver->host->fail(
        BP_E_FORKED,
        "library '%s' cannot be used in this child of fork: before the fork it, or another library on its threads "
        "(%s), "
        "ran on several threads, or a thread was inside it; use another library in the child, or run exec",
        driver->library->id, driver->library->threading);
}

bp_status bp__driver_ready(bp__driver *driver) {
    bp_status status = bp__driver_load(driver);
    if (status == BP_OK && bp__driver_forked(driver)) { /* MKL has joined a runtime that was unusable before */
        return bp__driver_fail_forked(driver);
    }
    return status;
}
