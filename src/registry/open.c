/* open.c - loads a listed library into this process under the loading rules.
 *
 * A library is opened by absolute path, prefers its own symbols (RTLD_DEEPBIND), is invisible to others (RTLD_LOCAL),
 * and is never closed. Math libraries start threads and register handlers that would not survive unloading.
 */
#include "registry/child.h"
#include "base/path_buffer.h"
#include "registry/build_list.h"
#include "registry/local_dependencies.h"

#include "machine/internal.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct opened {
    struct opened *next;
    void *handle;
    char path[];
} opened;

static opened *all_opened; /* protected by the registry's mutex */

static opened *find_opened(const char *path) {
    for (opened *one = all_opened; one; one = one->next) {
        if (strcmp(one->path, path) == 0) {
            return one;
        }
    }
    return NULL;
}

void bp__opened_reset(void) {
    while (all_opened) {
        opened *next = all_opened->next;
        bp__free(all_opened);
        all_opened = next;
    }
}

/* ---- OpenMP: two runtimes in one process compete for cores, and some end the program if they detect each other. ----
 */

static const char *const openmp_runtimes[] = {"libgomp", "libiomp5", "libomp"};

/* Returns "libgomp" for "libgomp-a34b3233.so.1"; NULL if the name is no OpenMP runtime's. */
static const char *runtime_of(const char *path) {
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    for (int i = 0; i < BP__COUNT(openmp_runtimes); i++) {
        size_t length = strlen(openmp_runtimes[i]);
        char next = bp__text_starts(name, openmp_runtimes[i]) ? name[length] : 'x';
        if (!(next >= 'a' && next <= 'z')) {
            return openmp_runtimes[i];
        }
    }
    return NULL;
}

typedef struct conflict {
    const char *wanted;
    char other[1024]; /* path of another loaded runtime */
    bool same;        /* the wanted one is already loaded */
} conflict;

static bool visit_loaded(void *user, const char *path, uintptr_t base) {
    conflict *look = user;
    const char *runtime = runtime_of(path);
    (void)base;
    if (runtime && strcmp(runtime, look->wanted) == 0) {
        look->same = true;
    } else if (runtime && look->other[0] == 0) {
        bp__copy_text(look->other, sizeof look->other, path);
    }
    return true;
}

/* Warns if the library would load a second OpenMP runtime. MKL is exempt: it supports every runtime, and uses the one
 * that its caller selects before the first call. */
BP__OWN_FRAME static void warn_of_conflict(const bp_library_info *library) {
    const char *wanted = runtime_of(library->threading);
    if (!wanted || strcmp(library->family, "mkl") == 0) {
        return;
    }
    conflict look = {.wanted = wanted};
    bp__loaded_visit(visit_loaded, &look);
    if (look.other[0] && !look.same) {
        bp__warn(
            "loading %s (%s) loads a second OpenMP runtime, %s, in addition to %s: both start their own threads and "
            "share no "
            "settings; prefer a library with the same runtime or with plain threads",
            library->id, library->path, wanted, look.other);
    }
}

/* ---- Opening ---- */

static bp_status refuse(const bp_library_info *library) {
    bp_status status = library->state == BP_LIBRARY_UNTRUSTED ? BP_E_UNTRUSTED
                       : library->state == BP_LIBRARY_BROKEN  ? BP_E_BROKEN
                                                              : BP_E_UNSUPPORTED;
    return bp__fail(status, "library '%s' (%s) is not opened: %s", library->id, library->path,
                    library->kinds & BP_LIB_BUILTIN ? "it is built in and has no file" : library->reason);
}

/* Checks that the file has not been replaced since it was listed. */
BP__OWN_FRAME static bp_status check_unchanged(const bp_library_info *library) {
    bp__elf elf;
    const char *why;
    if (!bp__elf_open(&elf, library->path, &why)) {
        return bp__fail(BP_E_LOAD, "library '%s' (%s) has changed since it was listed: %s", library->id, library->path,
                        why);
    }
    bool same = strcmp(elf.build_id, library->build_id) == 0;
    bp__elf_close(&elf);
    return same ? BP_OK
                : bp__fail(BP_E_LOAD, "library '%s' (%s) was replaced since it was listed; call bp_libraries_refresh()",
                           library->id, library->path);
}

/* Returns the file that the library's dgemm belongs to, and the routine's name; NULL if that is unknown. */
static const char *file_of_dgemm(const bp_library_info *library, void *handle, char name[128]) {
    Dl_info where;
    const bool c = (library->kinds & BP_LIB_CBLAS) && !(library->kinds & BP_LIB_BLAS);
    snprintf(name, 128, "%s%s%s", library->prefix, c ? "cblas_dgemm" : "dgemm",
             c ? library->cblas_suffix : library->suffix);
    void *dgemm = dlsym(handle, name);
    return dgemm && dladdr(dgemm, &where) != 0 ? where.dli_fname : NULL;
}

/* Returns the id of the listed library that does the work of a file; the file itself if it is not listed. */
static const char *id_of_file(const char *path) {
    bp__library_list *list;
    BP__PATH_BUFFER(real);
    if (!real || bp__library_list_any(&list) != BP_OK || !realpath(path, real)) {
        return path;
    }
    const bp__file *file = bp__file_at(&list->search, real);
    for (int i = 0; i < list->count && file; i++) {
        file = list->entries[i].file == file && list->entries[i].target ? list->entries[i].target : file;
    }
    for (int i = 0; i < list->count && file; i++) {
        if (list->entries[i].file == file) {
            return list->infos[i].id;
        }
    }
    return path;
}

/* A LAPACK without its own BLAS must call the one that it was probed with. If the process has another file with that
 * one's SONAME, the loader takes the other file. Then threads, speed and results are not those that are listed. */
static bp_status check_blas(const bp_library_info *library, void *handle) {
    char name[128];
    const char *file = file_of_dgemm(library, handle, name);
    if (!file || strcmp(id_of_file(file), library->blas) == 0 || strcmp(file, library->blas) == 0) {
        return BP_OK;
    }
    return bp__fail(BP_E_LOAD,
                    "library '%s' (%s) is not used in this process: it would call the products of %s, which was loaded "
                    "before and has the same SONAME, instead of the products of %s",
                    library->id, library->path, file, library->blas);
}

/* Checks that the loader has opened this file: if the process has another file with the same SONAME, the loader may
 * return that one. */
static bp_status check_origin(const bp_library_info *library, void *handle) {
    char name[128];
    struct stat asked, found;
    if (*library->blas) {
        return check_blas(library, handle);
    }
    const char *file = library->kinds & (BP_LIB_BLAS | BP_LIB_CBLAS) ? file_of_dgemm(library, handle, name) : NULL;
    if (!file || stat(library->path, &asked) != 0 || stat(file, &found) != 0 ||
        (asked.st_ino == found.st_ino && asked.st_dev == found.st_dev)) {
        return BP_OK;
    }
    return bp__fail(BP_E_LOAD, "library '%s' was opened as %s, but its %s belongs to %s", library->id, library->path,
                    name, file);
}

/* A library without the threads that it wants may end the process: OpenBLAS raises a signal when it is opened, and
 * Intel's OpenMP stops at its first parallel region. */
static bp_status check_threads(const bp_library_info *library) {
    const char *limit = NULL; /* OMP_NUM_THREADS and its like, which the libraries read too */
    const bool limited = bp_get_layer("num_threads", BP_LAYER_SHARED_ENVIRONMENT, &limit, NULL) == BP_OK && limit;
    const long cpus = bp__available_cpus(), wanted = limited ? strtol(limit, NULL, 10) : cpus;
    const int count = (int)(wanted > 0 && wanted < cpus ? wanted : cpus) - 1;
    const int error = strcmp(library->threading, "serial") == 0 ? 0 : bp__threads_start_error(count);
    char reason[128];
    return error == 0
               ? BP_OK
               : bp__fail(BP_E_LOAD,
                          "library '%s' (%s) is not opened, because it starts threads and this process cannot "
                          "start %d: %s. 'ulimit -u' and the control group limit them; OMP_NUM_THREADS=1 needs none",
                          library->id, library->path, count, strerror_r(error, reason, sizeof reason));
}

BP__OWN_FRAME static bp_status load(const bp_library_info *library, void **handle) {
    char error[1024];
    int flags = RTLD_NOW | RTLD_LOCAL | (bp__deepbind() ? RTLD_DEEPBIND : 0);
    *handle = bp__open_with_local_dependencies(library->path, flags, NULL, error, sizeof error);
    return *handle
               ? BP_OK
               : bp__fail(BP_E_LOAD, "library '%s' (%s) could not be loaded: %s", library->id, library->path, error);
}

static bp_status open_file(const bp_library_info *library, void **handle) {
    BP__TRY(bp__file_trusted(library->path));
    BP__TRY(check_threads(library));
    BP__TRY(check_unchanged(library));
    warn_of_conflict(library);
    BP__TRY(load(library, handle));
    return check_origin(library, *handle);
}

/* Checks that the limits leave what the library needs to be opened and called once: some end the process, in their
 * constructor or in the first call, if they get no memory. */
static bp_status check_memory(const bp_library_info *library) {
    bp__memory left;
    const int64_t space = library->space.open + library->space.call, data = library->data.open + library->data.call;
    if (library->loaded || !bp__memory_left(&left) || (space <= left.space && data <= left.data)) {
        return BP_OK;
    }
    const bool of_space = space > left.space;
    return bp__fail(BP_E_NO_MEMORY,
                    "library '%s' (%s) is not opened: %s leaves %" PRId64 " MiB, and the library needs %" PRId64
                    " MiB to be opened and called",
                    library->id, library->path,
                    of_space ? "the limit of the address space (RLIMIT_AS)" : "the limit of data (RLIMIT_DATA)",
                    (of_space ? left.space : left.data) >> 20, (of_space ? space : data) >> 20);
}

/* A small stack must suffice for what constructors take. */
static bp_status check_stack(const bp_library_info *library) {
    const int64_t left = bp__stack_left();
    if (library->loaded || (library->stack > 0 && library->stack <= left) || left == INT64_MAX) {
        return BP_OK;
    }
    return bp__fail(BP_E_NO_MEMORY,
                    "library '%s' (%s) is not opened: the thread's stack has %" PRId64
                    " KiB left, and the probe needed %" PRId64 " KiB",
                    library->id, library->path, left >> 10, library->stack >> 10);
}

/* Opens a library that is not open yet, and records it. */
static bp_status open_first(const bp_library_info *library, void **handle) {
    BP__TRY(check_stack(library));
    BP__TRY(check_memory(library));
    size_t length = strlen(library->path) + 1;
    opened *one = bp__alloc(sizeof *one + length);
    if (!one) {
        return bp__fail_memory(length, "an opened library");
    }
    bp_status status = open_file(library, &one->handle);
    if (status != BP_OK) {
        bp__free(one);
        return status;
    }
    memcpy(one->path, library->path, length);
    one->next = all_opened;
    all_opened = one;
    *handle = one->handle;
    return BP_OK;
}

bp_status bp__library_open(const bp_library_info *library, void **handle) {
    *handle = NULL;
    if (library->state != BP_LIBRARY_OK || library->kinds & BP_LIB_BUILTIN) {
        return refuse(library);
    }
    bp__registry_lock();
    const opened *known = find_opened(library->path);
    bp_status status = BP_OK;
    if (known) {
        *handle = known->handle;
    } else {
        status = open_first(library, handle);
    }
    bp__registry_unlock();
    return status;
}

bool bp__opened_has(const char *path) {
    return find_opened(path) != NULL;
}

bool bp__library_is_open(const bp_library_info *library) {
    bp__registry_lock();
    bool open = bp__opened_has(library->path);
    bp__registry_unlock();
    return open;
}
