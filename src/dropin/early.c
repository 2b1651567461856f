/* early.c - opens libbackplane and the best library when a program starts, if the program may give up rights later.
 *
 * After setuid(), chroot() or a filter of system calls, or without a free descriptor, nothing can be opened, and a
 * routine has no way to report that. Opening takes as long as a program's first call otherwise does: about 10 ms, which
 * a program that makes no call would wait for nothing. So only processes with the right to change their user or their
 * root do it. BACKPLANE_DROPIN_OPEN decides for others. Nothing is probed here: if a library is not known yet, the
 * first call opens it.
 */
#define _GNU_SOURCE
#include "dropin/backplane.h"
#include "dropin/entry.h"
#include "dropin/fftw.h"
#include "dropin/files.h"
#include "dropin/library.h"

#include <fenv.h>
#include <limits.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- Whether to open ---- */

static bool may_give_up_rights(void) {
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {{0}};
    const uint32_t rights = 1u << CAP_SETUID | 1u << CAP_SYS_CHROOT;
    return syscall(SYS_capget, &header, sets) == 0 && (sets[0].effective & rights) != 0;
}

static bool is_wanted(void) {
    const char *when = bp__dropin_env(BP__DROPIN_VARIABLE("OPEN"));
    if (!when || (strcmp(when, "start") != 0 && strcmp(when, "call") != 0)) {
        if (when) {
            bp__dropin_say("backplane: BACKPLANE_DROPIN_OPEN is '%s'; it must be 'start' or 'call'\n", when);
        }
        return may_give_up_rights();
    }
    return strcmp(when, "start") == 0;
}

/* Backplane's helper program opens each library itself, also one that needs a drop-in library. */
static bool is_helper(void) {
    char path[PATH_MAX];
    const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    path[length > 0 ? length : 0] = 0;
    return bp__dropin_after(bp__dropin_file_name(path), "backplane-probe") != NULL;
}

static long count_threads(void) {
    struct stat facts;
    return stat("/proc/self/task", &facts) == 0 ? (long)facts.st_nlink - 2 : LONG_MAX;
}

/* The number of threads after the last early opening, of all drop-in libraries of the process. */
__attribute__((visibility("default"), weak)) long bp_dropin_threads = 1;

/* If a program opens this library later, its other threads may be inside Backplane and wait for the loader, whose lock
 * this one holds. */
static bool is_alone(void) {
    return !bp__dropin_in_loader() || count_threads() <= bp_dropin_threads;
}

/* ---- Opening ---- */

#if BP__DROPIN_PART == BP__DROPIN_PART_FFTW

/* Starts the libraries of both precisions and their libraries of threads. */
static void start_libraries(const char *asked) {
    static const int routines[] = {BP__DROPIN_fftw_execute, BP__DROPIN_fftwf_execute, BP__DROPIN_fftw_init_threads,
                                   BP__DROPIN_fftwf_init_threads};
    bp__dropin_target unused;
    for (size_t i = 0; i < sizeof routines / sizeof routines[0]; i++) {
        bp__dropin_fftw(routines[i], asked, &unused);
    }
}

#else

static void start_libraries(const char *asked) {
    bp__dropin_library_start(asked);
}

#endif

static void open_all(void) {
    const bp__dropin_api *api = bp__dropin_backplane(NULL);
    int known = 0;
    if (api && api->bp_libraries_cached(&known) == BP_OK && known) {
        start_libraries(bp__dropin_policy_get()->library);
    }
}

__attribute__((constructor)) static void begin(void) {
    bp__dropin_visit visit;
    fenv_t state; /* choosing computes, and the program must see no exception of that */
    if (!is_wanted() || is_helper() || !is_alone()) {
        return;
    }
    bp__dropin_visit_begin(&visit);
    feholdexcept(&state);
    open_all();
    bp_dropin_threads = count_threads();
    fesetenv(&state);
    bp__dropin_visit_end(&visit);
}
