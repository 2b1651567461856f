/* fftw.c - chooses the library that runs a program's FFTW calls.
 *
 * A plan is memory of one library, so all names of a precision go to one library for the life of the process: the one
 * that was asked for, else FFTW itself, else MKL, which has FFTW's names but makes no plan for some transforms.
 * Backplane's own transforms are not used: a plan of FFTW keeps its arrays, takes others later, counts its operations
 * and is stored as wisdom, which no other library's plan does.
 */
#define _GNU_SOURCE
#include "base/sanitizer.h"
#include "dropin/fftw.h"
#include "dropin/library.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- Threads of an FFTW whose library of threads is absent: all plans have one thread ---- */

static int accept_threads(void) {
    return 1;
}

static void ignore(void) {
}

static void store_one(int32_t *result) {
    *result = 1;
}

/* A routine's form for one thread. Fortran's functions store their result. */
static void *serial_form(int routine) {
    static const char *const ignored[] = {"cleanup_threads", "plan_with_nthreads", "threads_set_callback",
                                          "make_planner_thread_safe"};
    const char *name = strchr(bp__dropin_names[routine], '_') + 1;
    if (strcmp(name, "init_threads") == 0 || strcmp(name, "planner_nthreads") == 0) {
        return bp__dropin_is_fftw_fortran(routine) ? (void *)(uintptr_t)store_one : (void *)(uintptr_t)accept_threads;
    }
    for (size_t i = 0; i < sizeof ignored / sizeof ignored[0]; i++) {
        if (strcmp(name, ignored[i]) == 0) {
            return (void *)(uintptr_t)ignore;
        }
    }
    return NULL;
}

/* ---- Libraries ---- */

static bool take_fftw(bp__dropin_target *target, const bp__dropin_library *library, int routine) {
    void *found = library ? bp__dropin_library_routine(library, routine, false) : NULL;
    if (found) {
        *target = (bp__dropin_target){.routine = found, .library = library->id, .own = ""};
    }
    return found != NULL;
}

static bool is_single(const char *name) {
    return strncmp(name, "fftwf_", 6) == 0 || strncmp(name, "sfftw_", 6) == 0;
}

/* ---- Threads ---- */

/* Opens an FFTW's library of threads, which is in the folder of its first file.
 *
 * That library needs internal names of libfftw3.so.3. If a drop-in library has this SONAME, the loader takes it for the
 * one that is needed, and it has no such names. Then FFTW's names are made visible to the whole process, where the
 * loader looks after it has searched what the library needs. */
static void *open_threads(const char *file, bool single) {
    const int flags = RTLD_NOW | RTLD_LOCAL | (bp__sanitizer_runs() ? 0 : RTLD_DEEPBIND);
    char path[PATH_MAX];
    const char *slash = strrchr(file, '/');
    int length = snprintf(path, sizeof path, "%.*s/libfftw3%s_threads.so.3", slash ? (int)(slash - file) : 0, file,
                          single ? "f" : "");
    if (!slash || length < 0 || (size_t)length >= sizeof path || access(path, R_OK) != 0) {
        return NULL;
    }
    void *handle = dlopen(path, flags);
    if (!handle && dlopen(file, RTLD_LAZY | RTLD_NOLOAD | RTLD_GLOBAL)) {
        handle = dlopen(path, flags);
    }
    return handle;
}

/* Takes a routine from the library of threads that belongs to the library of plans. */
static bool take_from_threads(bp__dropin_target *target, const bp__dropin_library *library, bool single, int probe,
                              int routine) {
    Dl_info where;
    void *execute = bp__dropin_library_routine(library, probe, false);
    if (!execute || dladdr(execute, &where) == 0 || !where.dli_fname) {
        return false;
    }
    bp__dropin_library threads = *library;
    threads.handle = open_threads(where.dli_fname, single);
    if (!threads.handle || !take_fftw(target, &threads, routine)) {
        return false;
    }
    target->library = library->id;
    return true;
}

/* ---- Choice ---- */

bool bp__dropin_fftw(int routine, const char *asked, bp__dropin_target *target) {
    static bp__dropin_named fftw[2] = {{.name = "fftw"}, {.name = "fftwf"}};
    static bp__dropin_named mkl = {.name = "mkl"};
    bool single = is_single(bp__dropin_names[routine]);
    int probe = single ? BP__DROPIN_fftwf_execute : BP__DROPIN_fftw_execute; /* a library with it has plans */
    const bp__dropin_library *library = asked ? bp__dropin_library_asked(asked) : NULL;
    if (!library || !bp__dropin_library_routine(library, probe, false)) {
        library = bp__dropin_library_named(&fftw[single]);
        bool has_plans = library && bp__dropin_library_routine(library, probe, false);
        library = has_plans ? library : bp__dropin_library_named(&mkl);
    }
    if (take_fftw(target, library, routine)) {
        return true;
    }
    void *serial = library ? serial_form(routine) : NULL;
    if (serial && take_from_threads(target, library, single, probe, routine)) {
        return true;
    }
    *target = (bp__dropin_target){.routine = serial, .library = library ? library->id : "", .own = ""};
    return serial != NULL;
}
