/* load.c - opens the FFTW-MPI that belongs to the MPI of a communicator.
 *
 * The files have the same names for every MPI that they are built for. The ones that distributions have are built for
 * Open MPI; with another MPI in the process, opening them would load a second one. */
#include "providers/fftwmpi/fftwmpi.h"

#include <stdio.h>

static const char needs[] = "libmpi.so.40";

bp_status bp__fftwmpi_open(const bp_host *host, const bp_library_info *library, void **made) {
    (void)library;
    bp__fftwmpi_instance *instance = host->allocate(sizeof *instance);
    if (!instance) {
        return host->fail(BP_E_NO_MEMORY, "fftw-mpi: no memory for an instance");
    }
    memset(instance, 0, sizeof *instance);
    instance->host = host;
    pthread_mutex_init(&instance->mutex, NULL);
    *made = instance;
    return BP_OK;
}

void bp__fftwmpi_close(void *opaque) {
    bp__fftwmpi_instance *instance = opaque;
    pthread_mutex_destroy(&instance->mutex);
    instance->host->release(instance);
}

const char *bp__fftwmpi_refuse_mpi(const bp_dist_place *place) {
    return !place->mpi || strcmp(place->family, "Open MPI") == 0
               ? NULL
               : "FFTW-MPI is built for Open MPI, and the process uses another MPI: start the program with Open MPI";
}

static bp_status open_file(const bp_host *host, const bp_dist_place *place, const char *name, void **handle) {
    if (bp__fftwmpi_refuse_mpi(place)) {
        return host->fail(BP_E_UNSUPPORTED, "%s", bp__fftwmpi_refuse_mpi(place));
    }
    if (!bp__ranks_is_mpi(host, place, needs)) {
        return host->fail(
            BP_E_UNSUPPORTED,
            "FFTW-MPI (%s) needs the library %s, and the process uses another MPI, which has another name", name,
            needs);
    }
    const bp_status status = host->open_named(name, handle);
    return status == BP_E_NOT_FOUND
               ? host->fail(status, "%s was not found: install FFTW-MPI (Debian: libfftw3-mpi3)", name)
               : status;
}

/* Returns the name of the first function that is missing, or NULL. */
static const char *find_functions(const bp_host *host, bp__fftwmpi_library *library, void *handle, bool single) {
    static const struct {
        const char *name;
        size_t slot;
    } functions[] = {
#define X(name, result, arguments) {#name, offsetof(bp__fftwmpi_api, name)},
        BP__FFTWMPI_FUNCTIONS(X)
#undef X
    };
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        char symbol[64];
        snprintf(symbol, sizeof symbol, "%s_mpi_%s", single ? "fftwf" : "fftw", functions[i].name);
        void *found = host->symbol(handle, symbol);
        if (!found) {
            return functions[i].name;
        }
        memcpy((char *)&library->mpi + functions[i].slot, &found, sizeof found);
    }
    return bp__fftw_resolve(host, &library->serial, handle, single);
}

static bp_status load(const bp_host *host, const bp_dist_place *place, bp__fftwmpi_library *library, bool single) {
    const char *name = single ? "libfftw3f_mpi.so.3" : "libfftw3_mpi.so.3";
    void *handle = NULL;
    const bp_status status = open_file(host, place, name, &handle);
    if (status != BP_OK) {
        return status;
    }
    const char *missing = find_functions(host, library, handle, single);
    if (missing) {
        return host->fail(BP_E_SYMBOL, "FFTW-MPI (%s) has no function %s", name, missing);
    }
    if (!bp__fftw_lock(host)) {
        return host->fail(BP_E_FORKED, "FFTW can plan no more transforms in this process: a thread was inside its "
                                       "planner when the process was forked");
    }
    library->mpi.init();
    bp__fftw_note_mpi(single);
    bp__fftw_unlock(host);
    library->misaligned = bp__fftw_misaligned_bits(&library->serial);
    library->loaded = true;
    return BP_OK;
}

bp_status bp__fftwmpi_load(bp__fftwmpi_instance *instance, const bp_dist_place *place, bool single) {
    pthread_mutex_lock(&instance->mutex);
    bp__fftwmpi_library *library = &instance->libraries[single];
    const bp_status status = library->loaded ? BP_OK : load(instance->host, place, library, single);
    pthread_mutex_unlock(&instance->mutex);
    return status;
}
