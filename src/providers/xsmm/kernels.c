/* kernels.c - gets kernels from libxsmm, limits their number, and notes when the process ends.
 *
 * libxsmm keeps each kernel until the process ends: the plans of equal products share one, and a program with ever new
 * sizes would fill the memory. So the number of kernels is limited. At exit, libxsmm unmaps its kernels before handlers
 * run that the program has registered earlier. A plan must not call its kernel then.
 */
#include "providers/xsmm/xsmm.h"

#include <stdlib.h>
#include <sys/mman.h>

#define TEXT_OF(number) #number
#define NUMBER_TEXT(number) TEXT_OF(number)
#define ENDED "the process is ending"
#define NOT_EXECUTABLE "this process may not make memory executable"
#define TOO_MANY                                                                                                       \
    "it has generated " NUMBER_TEXT(BP__XSMM_MOST_KERNELS) " kernels, which is the limit: it never frees one"

atomic_bool bp__xsmm_ended;
static atomic_bool not_executable; /* memory could not be made executable */

/* ---- The number of kernels ---- */

enum { SLOTS = 2 * BP__XSMM_MOST_KERNELS };

/* Hashes of the kernels that were generated; 0: a free slot. Threads add to it without a lock. */
static _Atomic uint64_t generated[SLOTS];
static atomic_int generated_count;

static uint64_t mix(uint64_t hash, uint64_t value) {
    hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

static uint64_t hash_of(const bp__driver *driver, const bp__xsmm_route *r) {
    const int64_t values[] = {r->m, r->n, r->k, r->ld_first, r->ld_second, r->ld_c};
    uint64_t hash = mix((uintptr_t)driver->handle, (uint64_t)(r->single | r->transposed << 1 | r->adds << 2));
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        hash = mix(hash, (uint64_t)values[i]);
    }
    return hash ? hash : 1;
}

/* Returns the slot of a hash, or the free one where it belongs. */
static _Atomic uint64_t *slot_of(uint64_t hash) {
    for (uint64_t at = hash % SLOTS;; at = (at + 1) % SLOTS) {
        uint64_t seen = atomic_load_explicit(&generated[at], memory_order_relaxed);
        if (seen == hash || seen == 0) {
            return &generated[at];
        }
    }
}

static bool is_generated(uint64_t hash) {
    return atomic_load_explicit(slot_of(hash), memory_order_relaxed) == hash;
}

/* Counts one more kernel, unless another thread has just done so. Returns false if there are too many. */
static bool count_kernel(uint64_t hash) {
    while (!is_generated(hash)) {
        uint64_t free_slot = 0;
        if (atomic_load(&generated_count) >= BP__XSMM_MOST_KERNELS) {
            return false;
        }
        if (atomic_compare_exchange_strong(slot_of(hash), &free_slot, hash)) {
            atomic_fetch_add(&generated_count, 1);
        }
    }
    return true;
}

/* ---- The end of the process ---- */

static void note_end(void) {
    atomic_store(&bp__xsmm_ended, true);
}

/* Registers note_end. The library must be open: handlers run in reverse order, and libxsmm registers its own when it is
 * opened. */
static bool watch_end(void) {
    static atomic_bool watches;
    if (!atomic_exchange(&watches, true) && atexit(note_end) != 0) {
        atomic_store(&watches, false);
    }
    return atomic_load(&watches);
}

bp_status bp__xsmm_fail_ended(const bp__driver *driver) {
    return driver->host->fail(BP_E_UNSUPPORTED, "library '%s': %s", driver->library->id, ENDED);
}

/* ---- Executable memory ---- */

/* Returns whether this process may make memory executable. If it may not (systemd's MemoryDenyWriteExecute), libxsmm
 * reports success, and its kernel crashes. */
static bool may_execute(void) {
    const size_t size = 4096;
    void *page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) {
        return false;
    }
    bool may = mprotect(page, size, PROT_READ | PROT_EXEC) == 0;
    munmap(page, size);
    if (!may) {
        atomic_store(&not_executable, true);
    }
    return may;
}

/* ---- Kernels ---- */

static bp__xsmm_kernel *dispatch(const void *function, const bp__xsmm_route *r) {
    const int flags = r->transposed ? BP__XSMM_FLAG_TRANS_B : BP__XSMM_FLAG_NONE, prefetch = BP__XSMM_PREFETCH_NONE;
    if (r->single) {
        typedef BP__XSMM_DISPATCH(dispatch_f32, bp__xsmm_kernel *, int64_t, float);
        const float alpha = 1, beta = r->adds;
        return ((dispatch_f32 *)(uintptr_t)function)(r->m, r->n, r->k, &r->ld_first, &r->ld_second, &r->ld_c, &alpha,
                                                     &beta, &flags, &prefetch);
    }
    typedef BP__XSMM_DISPATCH(dispatch_f64, bp__xsmm_kernel *, int64_t, double);
    const double alpha = 1, beta = r->adds;
    return ((dispatch_f64 *)(uintptr_t)function)(r->m, r->n, r->k, &r->ld_first, &r->ld_second, &r->ld_c, &alpha, &beta,
                                                 &flags, &prefetch);
}

/* When libxsmm starts, at its first kernel, it sets OMP_PROC_BIND=TRUE unless a binding of threads is chosen, and
 * I_MPI_SHM_HEAP=1. An OpenMP runtime that the program loads later would then bind the loading thread to one
 * processor. */
static const char *const set_by_libxsmm[] = {"OMP_PROC_BIND", "I_MPI_SHM_HEAP", NULL};

typedef struct request {
    const void *function;
    const bp__xsmm_route *route;
    bp__xsmm_kernel *kernel;
} request;

static void make_kernel(void *user) {
    request *r = user;
    r->kernel = dispatch(r->function, r->route);
}

const char *bp__xsmm_unavailable(const bp__driver *driver, const bp__xsmm_route *route) {
    bool many = atomic_load_explicit(&generated_count, memory_order_relaxed) >= BP__XSMM_MOST_KERNELS;
    bool denied = atomic_load_explicit(&not_executable, memory_order_relaxed);
    if (atomic_load_explicit(&bp__xsmm_ended, memory_order_relaxed)) {
        return ENDED;
    }
    return (many || denied) && !is_generated(hash_of(driver, route)) ? denied ? NOT_EXECUTABLE : TOO_MANY : NULL;
}

/* Returns NULL, or why a kernel must not be requested. One that exists was generated when memory could be made
 * executable. */
static const char *why_not(const bp__driver *driver, const bp__xsmm_route *route) {
    uint64_t hash = hash_of(driver, route);
    const char *why = bp__xsmm_unavailable(driver, route);
    return why || is_generated(hash) ? why : !may_execute() ? NOT_EXECUTABLE : !count_kernel(hash) ? TOO_MANY : NULL;
}

bp_status bp__xsmm_kernel_of(bp__driver *driver, const bp__xsmm_route *route, bp__xsmm_kernel **kernel) {
    const bp_host *host = driver->host;
    const bp_library_info *library = driver->library;
    bp_status status = bp__driver_ready(driver);
    if (status != BP_OK) {
        return status;
    }
    const char *name = route->single ? "libxsmm_smmdispatch" : "libxsmm_dmmdispatch";
    const void *function = host->symbol(driver->handle, name);
    if (!function) {
        return host->fail(BP_E_SYMBOL, "library '%s' (%s) lacks %s", library->id, library->path, name);
    }
    if (!watch_end()) {
        return host->fail(BP_E_NO_MEMORY, "no memory for an exit handler");
    }
    const char *why = why_not(driver, route);
    if (why) {
        return host->fail(BP_E_UNSUPPORTED, "library '%s': %s", library->id, why);
    }
    const bp__thread_setup setup = {.threads = 1, .locks = true};
    request made = {.function = function, .route = route};
    int before = bp__driver_begin(driver, &setup);
    host->keep_unset(set_by_libxsmm, make_kernel, &made);
    bp__driver_end(driver, &setup, before);
    *kernel = made.kernel;
    return *kernel ? BP_OK
                   : host->fail(BP_E_UNSUPPORTED, "library '%s' generates no kernel for %lldx%lldx%lld", library->id,
                                (long long)route->m, (long long)route->n, (long long)route->k);
}
