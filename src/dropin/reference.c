/* reference.c - finds out whether a program's own library is netlib's reference code, and what replaces it.
 *
 * That code is many times slower than any other library, in all routines but the routines of vectors. So all of them go
 * to one library: reflectors and workspaces of two libraries may differ.
 */
#include "dropin/reference.h"
#include "dropin/backplane.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* Returns whether a file may be the reference code, by its name. libbackplane, which knows, is opened for such files
 * alone: programs with other libraries do not wait for it. */
static bool is_suspect(const char *path) {
    static const char *const others[] = {"openblas", "blis", "atlas", "mkl", "flexiblas", "armpl"};
    const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    char real[PATH_MAX]; /* Debian's libblas.so.3 is a symbolic link to the one that the administrator has chosen */
    if ((strncmp(name, "libblas", 7) != 0 && strncmp(name, "liblapack", 9) != 0 && strncmp(name, "libcblas", 8) != 0) ||
        !realpath(path, real)) {
        return false;
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        if (strstr(real, others[i])) {
            return false;
        }
    }
    return true;
}

bool bp__dropin_is_reference(const char *path, bool wide) {
    const bp__dropin_api *api = *path && is_suspect(path) ? bp__dropin_backplane(NULL) : NULL;
    bp_library_info info = {.struct_size = sizeof info};
    return api && api->bp_library_find(path, &info) == BP_OK && strcmp(info.family, "netlib") == 0 &&
           info.int_bits == (wide ? 64 : 32);
}

/* Vectors take as long as memory does, and modules of Python call such routines when they are imported. */
static bool is_of_vectors(int routine) {
    static const char *const ends[] = {"dot",  "amax", "dotc", "dotu", "_sub", "axpy", "scal", "nrm2",
                                       "asum", "copy", "swap", "rot",  "rotg", "rotm", "rotmg"};
    const char *name = bp__dropin_names[routine];
    const size_t length = strlen(name);
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        const size_t end = strlen(ends[i]);
        if (length > end && memcmp(name + length - end, ends[i], end) == 0) {
            return true;
        }
    }
    return false;
}

bool bp__dropin_is_replaceable(int routine) {
    const bp__dropin_family family = bp__dropin_family_of(routine);
    return family == BP__DROPIN_FAMILY_LAPACK ||
           ((family == BP__DROPIN_FAMILY_BLAS || family == BP__DROPIN_FAMILY_CBLAS) && !is_of_vectors(routine));
}

/* Stubs jump to the replacement, and nothing is between the program and it. So it must work in children of fork and
 * with several calls at once, as the reference code does: libraries with OpenMP hang in a child. Faults of products do
 * not matter here, because each routine of them is looked at when it is chosen. */
static bool is_suitable(const bp__dropin_api *api, const char *id) {
    const unsigned wanted = BP_LIB_BLAS | BP_LIB_CBLAS | BP_LIB_LAPACK;
    const uint64_t products = UINT64_C(15) << 4 * BP_CHECK_GEMV | UINT64_C(15) << 4 * BP_CHECK_GEMM;
    bp_library_info info = {.struct_size = sizeof info};
    return api->bp_library_find(id, &info) == BP_OK && (info.kinds & wanted) == wanted &&
           (info.faulty & ~products) == 0 && strcmp(info.family, "netlib") != 0 &&
           strcmp(info.threading, "pthread") == 0;
}

const bp__dropin_library *bp__dropin_replacement(bool wide) {
    const bp__dropin_api *api = bp__dropin_backplane(NULL);
    if (!api || !bp__dropin_setting_is(api, "deterministic", "off") ||
        !bp__dropin_setting_is(api, "blas.preferred", "") || !bp__dropin_setting_is(api, "linalg.preferred", "")) {
        return NULL;
    }
    for (int rank = 0; bp__dropin_library_exists(rank); rank++) {
        const bp__dropin_library *library =
            is_suitable(api, bp__dropin_library_id(rank)) ? bp__dropin_library_at(rank) : NULL;
        if (library && bp__dropin_library_routine(library, BP__DROPIN_dgemm, wide)) {
            return library;
        }
    }
    return NULL;
}
