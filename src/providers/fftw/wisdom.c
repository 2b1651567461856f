/* wisdom.c - keeps FFTW's measurements, its wisdom, between processes.
 *
 * Wisdom depends on which solvers are registered, so wisdom of a library with threads, or with the solvers of FFTW-MPI,
 * has another name. FFTW ignores wisdom of another version. */
#include "providers/fftw/fftw.h"

#include <string.h>

static atomic_bool with_mpi[2]; /* of double and single precision */

void bp__fftw_note_mpi(bool single) {
    atomic_store(&with_mpi[single], true);
}

static const char *name_of(bp__fftw_instance *instance) {
    static const char *const names[2][2] = {{"wisdom", "wisdom with threads"},
                                            {"wisdom with MPI", "wisdom with threads and MPI"}};
    return names[atomic_load(&with_mpi[instance->single])][bp__fftw_has_threads(instance)];
}

char *bp__fftw_set_wisdom_aside(const bp__fftw_api *api) {
    char *wisdom = api->export_wisdom_to_string();
    api->forget_wisdom();
    return wisdom;
}

void bp__fftw_return_wisdom(const bp__fftw_api *api, char *wisdom) {
    if (wisdom) {
        api->forget_wisdom();
        api->import_wisdom_from_string(wisdom);
        api->free(wisdom);
    }
}

char *bp__fftw_recall(bp__fftw_instance *instance) {
    const bp_host *host = instance->host;
    return host->recall ? host->recall(instance->library, name_of(instance)) : NULL;
}

void bp__fftw_import(const bp__fftw_instance *instance, const char *kept) {
    if (kept) {
        instance->api.import_wisdom_from_string(kept);
    }
}

char *bp__fftw_export(const bp__fftw_instance *instance, const char *kept) {
    char *wisdom = instance->api.export_wisdom_to_string();
    char *copy = NULL;
    if (wisdom && (!kept || strcmp(wisdom, kept) != 0)) {
        copy = instance->host->allocate(strlen(wisdom) + 1);
        if (copy) {
            memcpy(copy, wisdom, strlen(wisdom) + 1);
        }
    }
    if (wisdom) {
        instance->api.free(wisdom);
    }
    return copy;
}

void bp__fftw_remember(bp__fftw_instance *instance, const char *wisdom) {
    if (wisdom && instance->host->remember) {
        instance->host->remember(instance->library, name_of(instance), BP_OP_FFT, wisdom);
    }
}
