/* load.c - loads a library at its first use: opens it, chooses MKL's threading layer, and finds the functions that set
 * and read the thread count. */
#include "providers/driver/driver.h"
#include "providers/driver/mkl_layer.h"

#include <stdio.h>
#include <string.h>

/* ---- MKL ---- */

static bool find_mkl(bp__driver *driver) {
    const bp_host *host = driver->host;
    int (*layer)(void) = (int (*)(void))host->symbol(driver->handle, "mkl_sdl_get_threading_layer");
    bp__mkl_choose_layer(host, driver->handle, driver->library->path);
    driver->set_local = (int (*)(int))host->symbol(driver->handle, "MKL_Set_Num_Threads_Local");
    driver->get_int = (int (*)(void))host->symbol(driver->handle, "MKL_Get_Max_Threads");
    if (!driver->set_local || !driver->get_int) {
        return false;
    }
    driver->get_int(); /* loads the layer */
    int number = layer ? layer() : -1;
    driver->survives_fork = number == BP__MKL_INTEL || number == BP__MKL_SEQUENTIAL;
    if (number == BP__MKL_GNU) {
        atomic_store_explicit(&driver->runtime, bp__fork_state_of("libgomp"), memory_order_relaxed);
    }
    return true;
}

/* ---- Other libraries ---- */

/* Finds a function of OpenBLAS's own interface. Its name has the suffix of the C functions, which is the suffix of the
 * Fortran routines without the first underscore. */
static void (*openblas_symbol(const bp__driver *driver, const char *name))(void) {
    const bp_library_info *library = driver->library;
    const char *suffix = library->suffix[0] == '_' ? library->suffix + 1 : library->suffix;
    const char *suffixes[] = {suffix, library->suffix, ""};
    char symbol[128];
    for (int i = 0; i < 3; i++) {
        snprintf(symbol, sizeof symbol, "%s%s%s", library->prefix, name, suffixes[i]);
        void *found = driver->host->symbol(driver->handle, symbol);
        if (found) {
            return (void (*)(void))found;
        }
    }
    return NULL;
}

/* Finds the functions that report limits of an OpenMP runtime's threads. */
static void find_limits(bp__driver *driver) {
    if (strcmp(driver->library->threading, "pthread") != 0) {
        const bp_host *host = driver->host;
        driver->limit = (int (*)(void))host->symbol(driver->handle, "omp_get_thread_limit");
        driver->dynamic = (int (*)(void))host->symbol(driver->handle, "omp_get_dynamic");
    }
}

static bool find_setter(bp__driver *driver) {
    const bp_host *host = driver->host;
    switch (driver->family->setter) {
    case BP__DRIVER_SET_OPENBLAS:
        driver->set_int = (void (*)(int))openblas_symbol(driver, "openblas_set_num_threads");
        driver->get_int = (int (*)(void))openblas_symbol(driver, "openblas_get_num_threads");
        return driver->set_int && driver->get_int;
    case BP__DRIVER_SET_OPENMP:
        driver->set_int = (void (*)(int))host->symbol(driver->handle, "omp_set_num_threads");
        driver->get_int = (int (*)(void))host->symbol(driver->handle, "omp_get_max_threads");
        find_limits(driver);
        return driver->set_int && driver->get_int;
    case BP__DRIVER_SET_BLIS:
        driver->set_dim = (void (*)(int64_t))host->symbol(driver->handle, "bli_thread_set_num_threads");
        driver->get_dim = (int64_t(*)(void))host->symbol(driver->handle, "bli_thread_get_num_threads");
        find_limits(driver);
        return driver->set_dim && driver->get_dim;
    case BP__DRIVER_SET_MKL:
        return find_mkl(driver);
    case BP__DRIVER_SET_NOTHING:
        break;
    }
    return true;
}

/* Whether the library's threads, or the runtime that starts them, are in the process already, so that they are the
 * program's. */
static bool has_threads_already(const bp_library_info *library) {
    static const struct {
        const char *threading, *soname;
    } runtimes[] = {{"libgomp", "libgomp.so.1"}, {"libiomp5", "libiomp5.so"}, {"libomp", "libomp.so.5"}};
    for (size_t i = 0; i < sizeof runtimes / sizeof *runtimes; i++) {
        if (strcmp(library->threading, runtimes[i].threading) == 0) {
            return bp__in_process(runtimes[i].soname);
        }
    }
    return bp__in_process(library->path);
}

/* Notes whose threads the library will use, and which exist before it starts its own. */
static void expect_threads(const bp__driver *driver) {
    const int number = bp__fork_state_number(atomic_load_explicit(&driver->runtime, memory_order_relaxed));
    bp__placement_origin(number, !has_threads_already(driver->library));
    if (bp__driver_has_pool(driver)) {
        bp__workers_expect(number, true);
    }
}

static bp_status load(bp__driver *driver) {
    const bp_host *host = driver->host;
    bp_status status = BP_OK;
    bp__driver_call_record *record = bp__driver_enter(driver->fork_state);
    bool watched = bp__driver_watch(bp__fork_state_of(NULL), false); /* also covers the library's first load */
    if (watched) {
        expect_threads(driver);
        status = host->open_library(driver->library, &driver->handle);
        watched = status != BP_OK || bp__driver_watch(driver->fork_state, driver->family->stops_at_fork);
    }
    if (!watched) {
        status = host->fail(BP_E_NO_MEMORY, "no memory for a fork handler");
    } else if (status == BP_OK && !find_setter(driver)) {
        status = host->fail(BP_E_SYMBOL, "library '%s' (%s) lacks the functions that set and read its thread count",
                            driver->library->id, driver->library->path);
    }
    if (status == BP_OK) {
        bp__driver_note_pool(driver);
    }
    if (status == BP_OK && (driver->library->kinds & BP_LIB_LAPACK)) {
        bp__driver_intercept_xerbla(driver);
    }
    bp__driver_leave(driver->fork_state, record);
    return status;
}

bp_status bp__driver_load(bp__driver *driver) {
    if (atomic_load_explicit(&driver->loaded, memory_order_acquire)) {
        return BP_OK;
    }
    bp__driver_lock(driver);
    bp_status status = BP_OK;
    if (!atomic_load_explicit(&driver->loaded, memory_order_relaxed)) {
        status = load(driver);
        atomic_store_explicit(&driver->loaded, status == BP_OK, memory_order_release);
    }
    bp__driver_unlock(driver);
    return status;
}
