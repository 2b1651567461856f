/* load.c - opens FFTW's libraries, and locks their planner.
 *
 * FFTW's threads are in a separate file. Its entry in the library list is no candidate: its instance only records where
 * the threads of the library next to it are. FFTW's own threads do not exist in a child of fork. So the provider passes
 * a callback, which FFTW 3.3.9 and later accept, that runs FFTW's loops on our thread pool. It starts no additional
 * threads and needs no OpenMP runtime.
 */
#include "providers/fftw/fftw.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* ---- The planner's lock ---- */

static atomic_uint inside; /* 1 + fork count of the process whose thread is inside the planner; 0: free */

/* Returns whether the planner is unusable in this process. A child never clears the parent's mark: the planner state
 * that the parent's thread was changing is inconsistent. */
bool bp__fftw_unusable(const bp_host *host) {
    unsigned seen = atomic_load_explicit(&inside, memory_order_relaxed);
    return seen != 0 && seen != *host->fork_count + 1;
}

static bool try_lock(const bp_host *host) {
    unsigned unlocked = 0;
    return atomic_compare_exchange_strong(&inside, &unlocked, *host->fork_count + 1);
}

bool bp__fftw_lock(const bp_host *host) {
    for (int tries = 0;; tries++) {
        if (try_lock(host)) {
            return true;
        }
        if (bp__fftw_unusable(host)) {
            return false;
        }
        if (tries < 100) {
            sched_yield();
        } else {
            nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
        }
    }
}

/* Plans to be destroyed. The planner may be busy for seconds, and a thread that drops a plan, perhaps only on a cache
 * eviction, must not wait for it. It adds the plan to this list, and the thread that holds the lock empties the list.
 */
static _Atomic(bp__fftw_plan *) discarded;

static void destroy_discarded(void) {
    bp__fftw_plan *plan = atomic_exchange(&discarded, NULL);
    while (plan) {
        bp__fftw_plan *next = plan->next_discarded;
        const bp__fftw_instance *instance = plan->instance;
        if (plan->aligned) {
            instance->api.destroy_plan(plan->aligned);
        }
        if (plan->any) {
            instance->api.destroy_plan(plan->any);
        }
        instance->host->release(plan);
        plan = next;
    }
}

/* Unlocks the planner. A plan that was discarded just before the unlock is destroyed here; a later one finds the lock
 * free. */
void bp__fftw_unlock(const bp_host *host) {
    do {
        destroy_discarded();
        atomic_store(&inside, 0);
    } while (atomic_load(&discarded) && try_lock(host));
}

void bp__fftw_discard(bp__fftw_plan *plan) {
    const bp_host *host = plan->instance->host;
    if (bp__fftw_unusable(host)) {
        host->release(plan); /* the library's plans leak, because its planner is unusable */
        return;
    }
    plan->next_discarded = atomic_load(&discarded);
    while (!atomic_compare_exchange_weak(&discarded, &plan->next_discarded, plan)) {
    }
    if (try_lock(host)) {
        bp__fftw_unlock(host);
    }
}

bp_status bp__fftw_fail_unusable(const bp__fftw_instance *instance) {
    return instance->host->fail(BP_E_FORKED,
                                "library '%s' can plan no more transforms in this process: a thread was inside its "
                                "planner when the process was forked; use another library in the child, or run exec",
                                instance->library->id);
}

/* ---- Entries of the library list ---- */

/* Returns the length of "fftwf" in "fftwf-threads-2". */
static size_t stem_length(const char *id) {
    return strcspn(id, "-");
}

static bool id_starts(const char *id, const char *stem) {
    return stem_length(id) == strlen(stem) && strncmp(id, stem, strlen(stem)) == 0;
}

static bp__fftw_role role_of(const bp_library_info *library) {
    const char *id = library->id;
    if (strncmp(id + stem_length(id), "-threads", strlen("-threads")) == 0) {
        return BP__FFTW_THREADS;
    }
    return id_starts(id, "fftw") || id_starts(id, "fftwf") ? BP__FFTW_TRANSFORMS : BP__FFTW_WIDER;
}

/* Entries of files with pthread threads. Files with OpenMP threads are not used. */
#define MAX_THREAD_LIBRARIES 16
static _Atomic(const bp_library_info *) thread_libraries[MAX_THREAD_LIBRARIES];

static void replace_library(const bp_library_info *old, const bp_library_info *new) {
    for (int i = 0; i < MAX_THREAD_LIBRARIES; i++) {
        const bp_library_info *seen = old;
        if (atomic_compare_exchange_strong(&thread_libraries[i], &seen, new)) {
            return;
        }
    }
}

static size_t folder_length(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) : 0;
}

/* Returns the file with the threads of a library. It is in the same directory. */
static const bp_library_info *threads_of(const bp_library_info *library) {
    size_t folder = folder_length(library->path), stem = stem_length(library->id);
    for (int i = 0; i < MAX_THREAD_LIBRARIES; i++) {
        const bp_library_info *row = atomic_load_explicit(&thread_libraries[i], memory_order_acquire);
        if (row && stem_length(row->id) == stem && strncmp(row->id, library->id, stem) == 0 &&
            folder_length(row->path) == folder && strncmp(row->path, library->path, folder) == 0) {
            return row;
        }
    }
    return NULL;
}

bool bp__fftw_has_threads(bp__fftw_instance *instance) {
    return atomic_load_explicit(&instance->loaded, memory_order_acquire)
               ? atomic_load_explicit(&instance->threaded, memory_order_relaxed)
               : threads_of(instance->library) != NULL;
}

bp_status bp__fftw_open(const bp_host *host, const bp_library_info *library, void **opened) {
    if (!library) {
        return host->fail(BP_E_ARGUMENT, "library is NULL; this provider needs a library");
    }
    bp__fftw_instance *instance = host->allocate(sizeof *instance);
    if (!instance) {
        return host->fail(BP_E_NO_MEMORY, "no memory for an instance of the fftw provider");
    }
    memset(instance, 0, sizeof *instance);
    instance->host = host;
    instance->library = library;
    instance->role = role_of(library);
    instance->single = id_starts(library->id, "fftwf");
    if (instance->role == BP__FFTW_THREADS && strcmp(library->threading, "pthread") == 0) {
        replace_library(NULL, library);
    }
    *opened = instance;
    return BP_OK;
}

void bp__fftw_close(void *opaque) {
    bp__fftw_instance *instance = opaque;
    if (instance->role == BP__FFTW_THREADS) {
        replace_library(instance->library, NULL);
    }
    instance->host->release(instance);
}

/* ---- Threads: FFTW's loops on our thread pool ---- */

typedef struct loop {
    void *(*work)(char *);
    char *jobs;
    size_t size;
} loop;

static void run_job(void *context, int task) {
    const loop *l = context;
    l->work(l->jobs + (size_t)task * l->size);
}

static void run_loop(void *(*work)(char *), char *jobs, size_t size, int count, void *opaque) {
    const bp_host *host = opaque;
    loop l = {work, jobs, size};
    host->parallel(count, count, run_job, &l);
}

/* ---- Symbols ---- */

typedef struct function {
    const char *name;
    size_t slot;
} function;

#define X(name, result, arguments) {#name, offsetof(bp__fftw_api, name)},
static const function functions[] = {BP__FFTW_FUNCTIONS(X, bp__fftw_handle, bp__fftw_dim, void, void)};
static const function thread_functions[] = {BP__FFTW_THREAD_FUNCTIONS(X)};
#undef X

/* Looks up functions. Returns the name of the first one that is missing, or NULL. */
static const char *resolve(const bp_host *host, bp__fftw_api *api, void *handle, bool single, const function *list,
                           size_t count) {
    for (size_t i = 0; i < count; i++) {
        char symbol[64];
        snprintf(symbol, sizeof symbol, "%s_%s", single ? "fftwf" : "fftw", list[i].name);
        void *found = host->symbol(handle, symbol);
        if (!found) {
            return list[i].name;
        }
        memcpy((char *)api + list[i].slot, &found, sizeof found);
    }
    return NULL;
}

const char *bp__fftw_resolve(const bp_host *host, bp__fftw_api *api, void *handle, bool single) {
    return resolve(host, api, handle, single, functions, sizeof functions / sizeof functions[0]);
}

uintptr_t bp__fftw_misaligned_bits(const bp__fftw_api *api) {
    uintptr_t grain = 1;
    while (grain < 64 && api->alignment_of((void *)(64 + grain)) != 0) { /* NOLINT: an address that is not read */
        grain *= 2;
    }
    return grain - 1;
}

/* Returns whether the file uses this library. The loader may have bound it to another library of the same name that was
 * loaded before. */
static bool belongs(const bp__fftw_instance *instance, void *handle) {
    void *found = instance->host->symbol(handle, instance->single ? "fftwf_execute_dft" : "fftw_execute_dft");
    void *ours;
    memcpy(&ours, &instance->api.execute_dft, sizeof ours);
    return found == ours;
}

static bool start_threads(bp__fftw_instance *instance) {
    const bp_host *host = instance->host;
    const bp_library_info *row = threads_of(instance->library);
    void *handle;
    size_t count = sizeof thread_functions / sizeof thread_functions[0];
    if (!row || host->open_library(row, &handle) != BP_OK || !belongs(instance, handle) ||

        resolve(host, &instance->api, handle, instance->single, thread_functions, count) != NULL ||
        !instance->api.init_threads()) {
        return false;
    }
    instance->api.threads_set_callback(run_loop, (void *)host);
    instance->api.make_planner_thread_safe(); /* the program may use the same library */
    return true;
}

static bp_status load(bp__fftw_instance *instance) {
    const bp_host *host = instance->host;
    void *handle;
    bp_status status = host->open_library(instance->library, &handle);
    if (status != BP_OK) {
        return status;
    }
    const char *missing = bp__fftw_resolve(host, &instance->api, handle, instance->single);
    if (missing) {
        return host->fail(BP_E_SYMBOL, "library '%s' (%s) lacks %s_%s", instance->library->id, instance->library->path,
                          instance->single ? "fftwf" : "fftw", missing);
    }
    instance->misaligned = bp__fftw_misaligned_bits(&instance->api);
    atomic_store_explicit(&instance->threaded, start_threads(instance), memory_order_relaxed);
    return BP_OK;
}

bp_status bp__fftw_load(bp__fftw_instance *instance) {
    if (atomic_load_explicit(&instance->loaded, memory_order_acquire)) {
        return BP_OK;
    }
    if (!bp__fftw_lock(instance->host)) {
        return bp__fftw_fail_unusable(instance);
    }
    bp_status status = BP_OK;
    if (!atomic_load_explicit(&instance->loaded, memory_order_relaxed)) {
        status = load(instance);
        atomic_store_explicit(&instance->loaded, status == BP_OK, memory_order_release);
    }
    bp__fftw_unlock(instance->host);
    return status;
}
