/* table.c - has the names of the routines and the family of each. */
#define _GNU_SOURCE
#include "dropin/internal.h"

#include <dlfcn.h>

const char *const bp__dropin_names[] = {
#define X(name, ...) #name,
    BP__DROPIN_NAMES(X)
#undef X
        NULL};

static bool starts(const char *text, const char *head) {
    while (*head && *text == *head) {
        text++;
        head++;
    }
    return *head == 0;
}

/* Sized routines of BLAS and of LAPACK are mixed, so their names decide. */
static bp__dropin_family family_of_sized(const char *name) {
    if (starts(name, "cblas_")) {
        return BP__DROPIN_FAMILY_CBLAS;
    }
    return starts(name + 1, "gemm") || starts(name + 1, "gemv") ? BP__DROPIN_FAMILY_BLAS : BP__DROPIN_FAMILY_LAPACK;
}

bp__dropin_family bp__dropin_family_of(int routine) {
    if (BP__DROPIN_SIZED_COUNT > 0 && routine < BP__DROPIN_SIZED_COUNT) {
        return family_of_sized(bp__dropin_names[routine]);
    }
    if (routine < BP__DROPIN_BLAS_END) {
        return BP__DROPIN_FAMILY_BLAS;
    }
    if (routine < BP__DROPIN_CBLAS_END) {
        return BP__DROPIN_FAMILY_CBLAS;
    }
    if (routine < BP__DROPIN_LAPACK_END) {
        return BP__DROPIN_FAMILY_LAPACK;
    }
    return routine < BP__DROPIN_LAPACKE_END ? BP__DROPIN_FAMILY_LAPACKE : BP__DROPIN_FAMILY_FFTW;
}

const char *bp__dropin_family_name(bp__dropin_family family) {
    static const char *const names[] = {"blas", "cblas", "lapack", "lapacke", "fftw"};
    return names[family];
}

const char *bp__dropin_owner(const bp__dropin_slot *slot) {
    Dl_info where;
    return slot->original && dladdr(slot->original, &where) != 0 && where.dli_fname ? bp__dropin_keep(where.dli_fname)
                                                                                    : "";
}
