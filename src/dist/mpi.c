/* mpi.c - finds the MPI of the process, or opens one, and knows the constants of each family of MPI.
 *
 * The library is built without a header of MPI. Families differ in the size of a handle and in few constants. One MPI
 * serves the whole process, because two would corrupt each other's state. */
#include "dist/internal.h"

#include "machine/internal.h"
#include "registry/internal.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static bp__mpi the_mpi;
static char the_path[PATH_MAX], wanted_path[PATH_MAX];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* of all three */

const char *bp__mpi_name(const bp__mpi *mpi) {
    static const char *const names[] = {"Open MPI", "MPICH", "MPI ABI"};
    return names[mpi->family];
}

intptr_t bp__mpi_handle(const bp__mpi *mpi, const intptr_t *slot) {
    int narrow;
    memcpy(&narrow, slot, sizeof narrow);
    return mpi->handles_are_ints ? narrow : *slot;
}

/* ---- Constants ---- */

/* Open MPI's constants are addresses of its variables. */
static bool take_open_mpi(bp__mpi *mpi) {
    const struct {
        intptr_t *to;
        const char *name;
    } all[] = {{&mpi->world, "ompi_mpi_comm_world"},
               {&mpi->null, "ompi_mpi_comm_null"},
               {&mpi->real, "ompi_mpi_double"},
               {&mpi->byte, "ompi_mpi_byte"},
               {&mpi->sum, "ompi_mpi_op_sum"},
               {&mpi->largest, "ompi_mpi_op_max"},
               {&mpi->errors_return, "ompi_mpi_errors_return"},
               {&mpi->errors_are_fatal, "ompi_mpi_errors_are_fatal"}};
    for (int i = 0; i < BP__COUNT(all); i++) {
        *all[i].to = (intptr_t)dlsym(mpi->handle, all[i].name);
        if (!*all[i].to) {
            return false;
        }
    }
    mpi->family = BP__OPEN_MPI;
    return true;
}

static void take_constants(bp__mpi *mpi) {
    if (take_open_mpi(mpi)) {
        return;
    }
    /* The standard ABI is a library of its own: implementations that have it export the function from their own library
     * too, where handles are still theirs. */
    const char *name = strrchr(mpi->path, '/');
    if (strncmp(name ? name + 1 : mpi->path, "libmpi_abi.so", 13) == 0) {
        mpi->family = BP__MPI_ABI;
        mpi->world = 0x101, mpi->null = 0x100, mpi->real = 0x214, mpi->byte = 0x247, mpi->sum = 0x21,
        mpi->largest = 0x23;
        mpi->errors_return = 0x143, mpi->errors_are_fatal = 0x141;
        return;
    }
    mpi->family = BP__MPICH;
    mpi->handles_are_ints = true;
    mpi->world = 0x44000000, mpi->null = 0x04000000, mpi->real = 0x4c00080b, mpi->byte = 0x4c00010d,
    mpi->sum = 0x58000003;
    mpi->largest = 0x58000001, mpi->errors_return = 0x54000001, mpi->errors_are_fatal = 0x54000000;
}

static bp_status take_functions(bp__mpi *mpi) {
#define X(name, parameters)                                                                                            \
    void *name = dlsym(mpi->handle, "MPI_" #name);                                                                     \
    if (!name) {                                                                                                       \
        return bp__fail(BP_E_SYMBOL, "%s has no function MPI_" #name, mpi->path);                                      \
    }                                                                                                                  \
    memcpy(&mpi->name, &name, sizeof name);
    BP__MPI_FUNCTIONS(X)
#undef X
    return BP_OK;
}

/* ---- The loaded one ---- */

static bool is_mpi(const char *path) {
    static const char *const names[] = {"libmpi.so", "libmpich.so", "libmpi_abi.so"};
    const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    for (int i = 0; i < BP__COUNT(names); i++) {
        if (strncmp(name, names[i], strlen(names[i])) == 0) {
            return true;
        }
    }
    return false;
}

typedef struct search {
    const char *wanted; /* NULL: any */
    int count;
    char *path; /* PATH_MAX bytes: the first that fits */
    char others[256];
} search;

static bool visit(void *user, const char *path, uintptr_t base) {
    search *s = user;
    (void)base;
    if (!is_mpi(path) || (s->wanted && strcmp(path, s->wanted) != 0)) {
        return true;
    }
    const size_t used = strlen(s->others);
    snprintf(s->others + used, sizeof s->others - used, "%s%s", used > 0 ? ", " : "", path);
    if (s->count++ == 0) {
        bp__copy_text(s->path, PATH_MAX, path);
    }
    return true;
}

/* Fails if the file that the program names is not loaded. */
static bp_status check_found(const search *s, const char *library) {
    if (library && s->count == 0) {
        return bp__fail(BP_E_ARGUMENT, "the MPI library %s is not loaded in this process", library);
    }
    return s->count > 1
               ? bp__fail(BP_E_ARGUMENT,
                          "several MPI libraries are loaded (%s): name the one that the handle belongs to", s->others)
               : BP_OK;
}

static const char *resolve(const char *library) {
    return realpath(library, wanted_path) ? wanted_path : library;
}

static bp_status find_loaded(bp__mpi *mpi, const char *library) {
    search s = {.path = the_path, .wanted = library ? resolve(library) : NULL};
    BP__TRY(bp__loaded_visit(visit, &s));
    BP__TRY(check_found(&s, library));
    mpi->handle = s.count > 0 ? dlopen(the_path, RTLD_NOW | RTLD_NOLOAD) : NULL;
    mpi->path = the_path;
    return BP_OK;
}

/* ---- Another one ---- */

static bp_status open_named(bp__mpi *mpi) {
    const char *const *names = bp__launcher_libraries();
    bp_status status = BP_E_NOT_FOUND;
    for (int i = 0; names[i] && status == BP_E_NOT_FOUND; i++) {
        status = bp__library_open_named(names[i], &mpi->handle);
    }
    if (status != BP_OK) {
        return status == BP_E_NOT_FOUND
                   ? bp__fail(status, "no MPI was found (%s and others): install one, such as Debian's libopenmpi3",
                              names[0])
                   : status;
    }
    Dl_info at;
    void *any = dlsym(mpi->handle, "MPI_Comm_rank");
    if (any && dladdr(any, &at) && at.dli_fname && !realpath(at.dli_fname, the_path)) {
        bp__copy_text(the_path, sizeof the_path, at.dli_fname);
    }
    mpi->path = the_path;
    return BP_OK;
}

static bp_status find_mpi(bp__mpi *mpi, const char *library, bool open) {
    BP__TRY(find_loaded(mpi, library));
    if (!mpi->handle) {
        BP__TRY(open ? open_named(mpi)
                     : bp__fail(BP_E_NOT_FOUND,
                                "no MPI is loaded in this process; bp_comm_open() with BP_COMM_INIT opens one"));
    }
    take_constants(mpi);
    return take_functions(mpi);
}

bp_status bp__mpi_find(const bp__mpi **mpi, const char *library, bool open) {
    bp_status status = BP_OK;
    pthread_mutex_lock(&mutex);
    if (!the_mpi.Initialized) {
        bp__mpi found = {0};
        status = find_mpi(&found, library, open);
        the_mpi = status == BP_OK ? found : the_mpi;
    } else if (library && strcmp(resolve(library), the_path) != 0) {
        status = bp__fail(BP_E_ARGUMENT, "this process uses the MPI %s, and cannot use %s too", the_path, library);
    }
    pthread_mutex_unlock(&mutex);
    *mpi = &the_mpi;
    return status;
}
