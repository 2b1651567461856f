/* thread_policy.c - decides a plan's thread count and reproducibility guarantees, and sets the count around each call.
 * The first half is pure. */
#include "providers/driver/driver.h"

#include <stdarg.h>
#include <stdio.h>

void bp__driver_refuse(bp_verdict *verdict, bp_reason reason, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(verdict->text, sizeof verdict->text, format, args);
    va_end(args);
    verdict->reason = reason;
}

bool bp__driver_usable(bp__driver *driver, bp_verdict *verdict) {
    const bp_library_info *library = driver->library;
    if (library->int_bits != 32 && library->int_bits != 64) {
        bp__driver_refuse(verdict, BP_REASON_OTHER, "the width of the library's integers is not known");
    } else if (bp__driver_forked(driver)) {
        bp__driver_refuse(verdict, BP_REASON_FORKED,
                          "its threads (%s) had run, or a thread was inside it, when this process was forked",
                          library->threading);
    } else {
        return true;
    }
    return false;
}

bool bp__driver_passed_check(const bp__driver *driver, bp_check check, uint32_t dtype, bp_verdict *verdict) {
    int length;
    const char *fault = bp_library_fault(driver->library, check, dtype, &length);
    if (fault) {
        bp__driver_refuse(verdict, BP_REASON_BROKEN, "%.*s", length, fault);
    }
    return !fault;
}

int bp__driver_allowed(const bp__driver *driver, const bp_policy *policy) {
    int most = atomic_load_explicit(&driver->most_threads, memory_order_relaxed);
    return policy->threads < most ? policy->threads : most;
}

bp__thread_setup bp__driver_thread_policy(const bp__driver *driver, const bp_policy *policy, bool alone, bool gains) {
    const bp__driver_family *family = driver->family;
    bp__thread_setup setup = {.threads = 1};
    if (family->one_thread || alone) {
        return setup;
    }
    if (family->setter == BP__DRIVER_SET_NOTHING) {
        setup.threads = 0;
        return setup;
    }
    int allowed = bp__driver_allowed(driver, policy);
    setup.sets_count = true;
    if (allowed > 1 && policy->deterministic < 2 && gains) {
        setup.threads = allowed;
    }
    setup.locks = policy->deterministic > 0 || (family->serialise && setup.threads > 1);
    setup.fixed = policy->deterministic > 0;
    return setup;
}

/* Returns whether the thread count of a call is certain. Another thread of the program may change a count of the
 * process between setting and calling, unless the lock is held. */
static bool is_pinned(const bp__driver *driver, const bp__thread_setup *setup) {
    if (!setup->sets_count) {
        return setup->threads == 1;
    }
    bp__driver_setter setter = driver->family->setter;
    return setup->locks || setter == BP__DRIVER_SET_MKL || setter == BP__DRIVER_SET_OPENMP;
}

uint32_t bp__driver_guarantees(const bp__driver *driver, const bp_policy *policy, const bp__thread_setup *setup) {
    if (!driver->family->repeats || !is_pinned(driver, setup)) {
        return 0;
    }
    /* always on one thread, so no thread count changes the result */
    bool alone = driver->family->one_thread || policy->deterministic == 2;
    return BP_PROPERTY_REPRODUCIBLE | (alone ? BP_PROPERTY_THREAD_INVARIANT : 0);
}

void bp__driver_enforce_policy(const bp__driver *driver, const bp_policy *policy, const bp__thread_setup *setup,
                               bp_verdict *verdict) {
    int wanted = policy->deterministic, cpus = driver->host->machine->usable_cpus;
    uint32_t needed = wanted == 2 ? BP_PROPERTY_THREAD_INVARIANT : wanted == 1 ? BP_PROPERTY_REPRODUCIBLE : 0;
    if ((verdict->properties & needed) != needed) {
        bp__driver_refuse(verdict, BP_REASON_DETERMINISM, "%s",
                          driver->family->repeats ? "its thread count cannot be fixed"
                                                  : "it does not guarantee reproducible results");
    } else if (setup->threads == 0 && policy->threads < cpus) {
        bp__driver_refuse(verdict, BP_REASON_THREADS,
                          "its thread count cannot be set, and it may use all %d processors", cpus);
    }
}

/* Returns whether each thread has its own count. */
static bool counts_by_thread(const bp__driver *driver) {
    return driver->family->setter == BP__DRIVER_SET_MKL || driver->family->setter == BP__DRIVER_SET_OPENMP;
}

/* A count of the process is certain only under the lock. No thread may wait for other threads with the lock held,
 * because an executor of the host program may meanwhile make other calls in this thread. */
int bp__driver_callers(const bp__driver *driver, const bp_policy *policy) {
    const bp__driver_family *family = driver->family;
    bool of_process = family->setter == BP__DRIVER_SET_OPENBLAS || family->setter == BP__DRIVER_SET_BLIS;
    bool certain = family->one_thread || counts_by_thread(driver) || (of_process && policy->deterministic == 0);
    int most = policy->threads < family->callers ? policy->threads : family->callers;
    return certain && most > 1 ? most : 1;
}

bp__thread_setup bp__driver_thread_policy_shared(const bp__driver *driver, const bp_policy *policy) {
    bp__thread_setup setup = bp__driver_thread_policy(driver, policy, false, false);
    setup.locks = false; /* not needed if each thread has its own count: see bp__driver_callers */
    return setup;
}

bp__thread_setup bp__driver_thread_policy_plan(bp__driver *driver, const bp__thread_setup *judged) {
    bp__thread_setup setup = *judged;
    int count, error;
    setup.starts = setup.threads != 1 || (setup.sets_count && bp__driver_has_pool(driver));
    if (setup.sets_count && bp__driver_can_start(driver, &setup, &count, &error)) {
        setup.threads = bp__driver_threads_granted(driver, setup.threads);
    }
    setup.marks = setup.threads != 1 && !driver->survives_fork;
    return setup;
}

int bp__driver_begin(bp__driver *driver, const bp__thread_setup *setup) {
    bp__driver_enter_threads(driver->fork_state);
    if (setup->locks) {
        bp__driver_lock(driver);
    }
    bp__driver_note_threads(driver, setup);
    if (!setup->sets_count) {
        return 0;
    }
    return setup->locks ? bp__driver_threads_begin(driver, setup->threads)
                        : bp__driver_threads_begin_unlocked(driver, setup->threads);
}

void bp__driver_end(bp__driver *driver, const bp__thread_setup *setup, int before) {
    if (setup->sets_count) {
        bp__driver_threads_end(driver, setup->threads, before);
    }
    bp__driver_note_started(driver, setup);
    if (setup->locks) {
        bp__driver_unlock(driver);
    }
    bp__driver_leave_threads(driver->fork_state);
}

bool bp__driver_stops(bp__driver *driver, const bp__thread_setup *setup, bp_op op, int64_t *since, int *before) {
    if (!driver->host->interrupt_due(since)) {
        return false;
    }
    bp__driver_illegal *illegal = bp__driver_capture_xerbla(NULL);
    bp__driver_end(driver, setup, *before);
    bool stops = driver->host->interrupted(op);
    *before = bp__driver_begin(driver, setup);
    bp__driver_capture_xerbla(illegal);
    return stops;
}
