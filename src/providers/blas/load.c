/* load.c - the first use of a library: it is opened, MKL is told which threading layer to take, and the functions that
 * set and read the thread count are found. */
#include "providers/blas/blas.h"

#include <dlfcn.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* The holder is marked with the fork count: in a child, a mark of the parent is nobody's. */
void bp__blas_lock(bp__blas_instance *instance) {
    unsigned mine = *instance->host->fork_count + 1;
    for (int tries = 0;; tries++) {
        unsigned seen = atomic_load_explicit(&instance->lock, memory_order_relaxed);
        if (seen != mine && atomic_compare_exchange_weak_explicit(&instance->lock, &seen, mine, memory_order_acquire,
                                                                  memory_order_relaxed)) {
            return;
        }
        if (tries < 100) {
            sched_yield();
        } else {
            nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
        }
    }
}

void bp__blas_unlock(bp__blas_instance *instance) {
    atomic_store_explicit(&instance->lock, 0, memory_order_release);
}

/* ---- MKL's layers: its own numbers ---- */

enum { MKL_INTEL = 0, MKL_SEQUENTIAL = 1, MKL_GNU = 3 };

static bool in_process(const char *soname) {
    void *handle = dlopen(soname, RTLD_LAZY | RTLD_NOLOAD);
    return handle && dlclose(handle) == 0;
}

/* Whether the file of a layer lies beside libmkl_rt, which ends the process where it misses one. */
static bool has_layer(const char *path, const char *layer) {
    static const char rt[] = "libmkl_rt";
    const char *name = strrchr(path, '/');
    char file[4096];
    if (!name || strncmp(name + 1, rt, sizeof rt - 1) != 0) {
        return false;
    }
    int length = snprintf(file, sizeof file, "%.*s/%s%s", (int)(name - path), path, layer, name + sizeof rt);
    return length > 0 && (size_t)length < sizeof file && access(file, R_OK) == 0;
}

/* A second OpenMP runtime in the process is avoided where the program has one already; otherwise MKL decides, by
 * MKL_THREADING_LAYER or its default, libiomp5. A layer chosen by the program before us stays. */
static void choose_mkl_layer(const bp__blas_instance *instance, int (*layer)(void)) {
    int (*choose)(int) = (int (*)(int))instance->host->symbol(instance->handle, "MKL_Set_Threading_Layer");
    if (!choose || (layer && layer() >= 0) || in_process("libiomp5.so")) {
        return;
    }
    const char *path = instance->library->path;
    if (in_process("libgomp.so.1")) {
        if (has_layer(path, "libmkl_gnu_thread")) {
            choose(MKL_GNU);
        }
    } else if (in_process("libomp.so.5") || in_process("libomp.so")) {
        if (has_layer(path, "libmkl_sequential")) {
            choose(MKL_SEQUENTIAL);
        }
    }
}

static bool find_mkl(bp__blas_instance *instance) {
    const bp_host *host = instance->host;
    int (*layer)(void) = (int (*)(void))host->symbol(instance->handle, "mkl_sdl_get_threading_layer");
    choose_mkl_layer(instance, layer);
    instance->set_local = (int (*)(int))host->symbol(instance->handle, "MKL_Set_Num_Threads_Local");
    instance->get_int = (int (*)(void))host->symbol(instance->handle, "MKL_Get_Max_Threads");
    if (!instance->set_local || !instance->get_int) {
        return false;
    }
    instance->get_int(); /* brings the layer up */
    int number = layer ? layer() : -1;
    instance->survives_fork = number == MKL_INTEL || number == MKL_SEQUENTIAL;
    if (number == MKL_GNU) {
        atomic_store_explicit(&instance->runtime, bp__blas_trace_of("libgomp"), memory_order_relaxed);
    }
    return true;
}

/* ---- The others ---- */

/* A name of OpenBLAS's own interface: its suffix is that of the C names, less the underscore that ends a Fortran name.
 */
static void (*openblas_symbol(const bp__blas_instance *instance, const char *name))(void) {
    const bp_library_info *library = instance->library;
    const char *suffix = library->suffix[0] == '_' ? library->suffix + 1 : library->suffix;
    const char *suffixes[] = {suffix, library->suffix, ""};
    char symbol[128];
    for (int i = 0; i < 3; i++) {
        snprintf(symbol, sizeof symbol, "%s%s%s", library->prefix, name, suffixes[i]);
        void *found = instance->host->symbol(instance->handle, symbol);
        if (found) {
            return (void (*)(void))found;
        }
    }
    return NULL;
}

/* What may keep an OpenMP runtime from starting as many threads as it was told to. */
static void find_limits(bp__blas_instance *instance) {
    if (strcmp(instance->library->threading, "pthread") != 0) {
        const bp_host *host = instance->host;
        instance->limit = (int (*)(void))host->symbol(instance->handle, "omp_get_thread_limit");
        instance->dynamic = (int (*)(void))host->symbol(instance->handle, "omp_get_dynamic");
    }
}

static bool find_setter(bp__blas_instance *instance) {
    const bp_host *host = instance->host;
    switch (instance->family->setter) {
    case BP__BLAS_SET_OPENBLAS:
        instance->set_int = (void (*)(int))openblas_symbol(instance, "openblas_set_num_threads");
        instance->get_int = (int (*)(void))openblas_symbol(instance, "openblas_get_num_threads");
        return instance->set_int && instance->get_int;
    case BP__BLAS_SET_OPENMP:
        instance->set_int = (void (*)(int))host->symbol(instance->handle, "omp_set_num_threads");
        instance->get_int = (int (*)(void))host->symbol(instance->handle, "omp_get_max_threads");
        find_limits(instance);
        return instance->set_int && instance->get_int;
    case BP__BLAS_SET_BLIS:
        instance->set_dim = (void (*)(int64_t))host->symbol(instance->handle, "bli_thread_set_num_threads");
        instance->get_dim = (int64_t(*)(void))host->symbol(instance->handle, "bli_thread_get_num_threads");
        find_limits(instance);
        return instance->set_dim && instance->get_dim;
    case BP__BLAS_SET_MKL:
        return find_mkl(instance);
    case BP__BLAS_SET_NOTHING:
        break;
    }
    return true;
}

static bp_status load(bp__blas_instance *instance) {
    const bp_host *host = instance->host;
    bp_status status = BP_OK;
    bp__blas_seat *seat = bp__blas_enter(instance->trace);
    bool watched =
        bp__blas_watch(bp__blas_trace_of(NULL), false); /* also while the library is loaded for the first time */
    if (watched) {
        status = host->open_library(instance->library, &instance->handle);
        watched = status != BP_OK || bp__blas_watch(instance->trace, instance->family->stops_at_fork);
    }
    if (!watched) {
        status = host->fail(BP_E_NO_MEMORY, "no memory for a handler of fork");
    } else if (status == BP_OK && !find_setter(instance)) {
        status = host->fail(BP_E_SYMBOL, "library '%s' (%s) lacks the functions that set and read its thread count",
                            instance->library->id, instance->library->path);
    }
    bp__blas_leave(instance->trace, seat);
    return status;
}

bp_status bp__blas_load(bp__blas_instance *instance) {
    if (atomic_load_explicit(&instance->loaded, memory_order_acquire)) {
        return BP_OK;
    }
    bp__blas_lock(instance);
    bp_status status = BP_OK;
    if (!atomic_load_explicit(&instance->loaded, memory_order_relaxed)) {
        status = load(instance);
        atomic_store_explicit(&instance->loaded, status == BP_OK, memory_order_release);
    }
    bp__blas_unlock(instance);
    return status;
}
