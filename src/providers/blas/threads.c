/* threads.c - one number of threads for every library, through whatever each offers to set it.
 *
 * The truth is asked from the library at each call that may use threads, and never remembered, since the program around
 * us may set it as well. Where the setting belongs to the calling thread, it is put back after the call. */
#include "providers/blas/blas.h"

#include <limits.h>
#include <stdio.h>

int bp__blas_threads_begin(const bp__blas_instance *instance, int want) {
    switch (instance->family->setter) {
    case BP__BLAS_SET_OPENBLAS:
    case BP__BLAS_SET_OPENMP: {
        int before = instance->get_int();
        if (before != want) {
            instance->set_int(want);
        }
        return before;
    }
    case BP__BLAS_SET_BLIS: {
        int64_t before = instance->get_dim();
        if (before != want) {
            instance->set_dim(want);
        }
        return (int)before;
    }
    case BP__BLAS_SET_MKL:
        return instance->set_local(want);
    case BP__BLAS_SET_NOTHING:
        break;
    }
    return want;
}

int bp__blas_threads_begin_unlocked(bp__blas_instance *instance, int want) {
    bp__blas_setter setter = instance->family->setter;
    bool of_process = setter == BP__BLAS_SET_OPENBLAS || setter == BP__BLAS_SET_BLIS;
    if (!of_process) {
        return bp__blas_threads_begin(instance, want);
    }
    int64_t now = setter == BP__BLAS_SET_BLIS ? instance->get_dim() : instance->get_int();
    if (now != want) {
        bp__blas_lock(instance);
        bp__blas_threads_begin(instance, want);
        bp__blas_unlock(instance);
    }
    return want;
}

void bp__blas_threads_end(const bp__blas_instance *instance, int want, int before) {
    if (instance->family->setter == BP__BLAS_SET_MKL) {
        instance->set_local(before);
    } else if (instance->family->setter == BP__BLAS_SET_OPENMP && before != want) {
        instance->set_int(before);
    }
}

int bp__blas_threads_read(const bp__blas_instance *instance) {
    switch (instance->family->setter) {
    case BP__BLAS_SET_BLIS: {
        int64_t count = instance->get_dim();
        return count > 0 && count <= INT_MAX ? (int)count : 1; /* negative: never set, and then it uses one */
    }
    case BP__BLAS_SET_OPENBLAS:
    case BP__BLAS_SET_OPENMP:
    case BP__BLAS_SET_MKL:
        return instance->get_int();
    case BP__BLAS_SET_NOTHING:
        break;
    }
    return instance->family->one_thread ? 1 : 0;
}

/* OpenBLAS waits for ever for threads that its OpenMP runtime withholds, and BLIS ends the process. MKL asks. */
static int most_of_runtime(const bp__blas_instance *instance) {
    if (instance->dynamic && instance->dynamic()) {
        return 1;
    }
    int most = instance->limit ? instance->limit() : 0;
    return most > 0 ? most : INT_MAX;
}

int bp__blas_threads_granted(bp__blas_instance *instance, int want) {
    bp__blas_enter_threads(instance->trace);
    bp__blas_lock(instance);
    int before = bp__blas_threads_begin(instance, want);
    int got = bp__blas_threads_read(instance), most = most_of_runtime(instance);
    bp__blas_threads_end(instance, want, before);
    bp__blas_unlock(instance);
    bp__blas_leave_threads(instance->trace);
    got = got > most ? most : got;
    if (got < 1 || got == want) {
        return want;
    }
    instance->host->warn("library '%s' runs on %d threads where %d were asked for", instance->library->id, got, want);
    if (got < want) {
        atomic_store_explicit(&instance->most_threads, got, memory_order_relaxed);
    }
    return got;
}

bp_status bp__blas_threads(void *opaque, int want, int *got) {
    bp__blas_instance *instance = opaque;
    const bp_host *host = instance->host;
    if (want < 0 || !got) {
        return host->fail(BP_E_ARGUMENT, "threads: %s", got ? "the count is negative" : "got is NULL");
    }
    *got = 0;
    if (bp__blas_forked(instance)) {
        return bp__blas_fail_forked(instance);
    }
    if (want > 0) {
        bp_status status = bp__blas_load(instance);
        if (status != BP_OK) {
            return status;
        }
        if (instance->family->setter == BP__BLAS_SET_NOTHING) {
            *got = instance->family->one_thread ? 1 : 0;
            return want == *got
                       ? BP_OK
                       : host->fail(BP_E_UNSUPPORTED, "the thread count of library '%s' cannot be set to %d: it %s",
                                    instance->library->id, want,
                                    *got ? "runs on one thread only" : "offers no way to do so");
        }
        bp__blas_enter_threads(instance->trace);
        bp__blas_lock(instance);
        bp__blas_threads_begin(instance, want);
        bp__blas_unlock(instance);
        bp__blas_leave_threads(instance->trace);
    }
    if (atomic_load_explicit(&instance->loaded, memory_order_acquire)) {
        bp__blas_seat *seat = bp__blas_enter(instance->trace);
        *got = bp__blas_threads_read(instance);
        bp__blas_leave(instance->trace, seat);
    }
    return BP_OK;
}
