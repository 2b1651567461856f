/* fftw.c - chooses the library that runs a program's FFTW calls.
 *
 * A plan is memory of one library, so all names of a precision go to one library for the life of the process: the one
 * that was asked for, else FFTW itself, else MKL, which has FFTW's names but makes no plan for some transforms.
 * Backplane's own transforms are not used: a plan of FFTW keeps its arrays, takes others later, counts its operations
 * and is stored as wisdom, which no other library's plan does.
 */
#include "dropin/fftw.h"
#include "dropin/library.h"

#include <string.h>

/* ---- Threads of an FFTW whose library of threads is absent: all plans have one thread ---- */

static int accept_threads(void) {
    return 1;
}

static void ignore(void) {
}

static void *serial_form(const char *name) {
    static const char *const ignored[] = {"cleanup_threads", "plan_with_nthreads", "threads_set_callback",
                                          "make_planner_thread_safe"};
    name = strchr(name, '_') + 1;
    if (strcmp(name, "init_threads") == 0 || strcmp(name, "planner_nthreads") == 0) {
        return (void *)(uintptr_t)accept_threads;
    }
    for (size_t i = 0; i < sizeof ignored / sizeof ignored[0]; i++) {
        if (strcmp(name, ignored[i]) == 0) {
            return (void *)(uintptr_t)ignore;
        }
    }
    return NULL;
}

/* ---- Libraries ---- */

static bool take(bp__dropin_target *target, const bp__dropin_library *library, int routine) {
    void *found = library ? bp__dropin_library_routine(library, routine, false) : NULL;
    if (found) {
        *target = (bp__dropin_target){.routine = found, .library = library->id, .own = ""};
    }
    return found != NULL;
}

/* Returns the number of the precision's execute(), by which a library is known to have its plans. */
static int probe_of(bool single) {
    for (int i = 0; i < BP__DROPIN_ROUTINES; i++) {
        if (strcmp(bp__dropin_names[i], single ? "fftwf_execute" : "fftw_execute") == 0) {
            return i;
        }
    }
    return 0;
}

bool bp__dropin_fftw(int routine, const char *asked, bp__dropin_target *target) {
    static bp__dropin_named fftw[2] = {{.name = "fftw"}, {.name = "fftwf"}};
    static bp__dropin_named threads[2] = {{.name = "fftw-threads"}, {.name = "fftwf-threads"}};
    static bp__dropin_named mkl = {.name = "mkl"};
    bool single = strncmp(bp__dropin_names[routine], "fftwf_", 6) == 0;
    int probe = probe_of(single);
    const bp__dropin_library *library = asked ? bp__dropin_library_asked(asked) : NULL;
    bool own = false;
    if (!library || !bp__dropin_library_routine(library, probe, false)) {
        library = bp__dropin_library_named(&fftw[single]);
        own = library && bp__dropin_library_routine(library, probe, false);
        library = own ? library : bp__dropin_library_named(&mkl);
    }
    if (take(target, library, routine) || (own && take(target, bp__dropin_library_named(&threads[single]), routine))) {
        return true;
    }
    void *serial = library ? serial_form(bp__dropin_names[routine]) : NULL;
    *target = (bp__dropin_target){.routine = serial, .library = library ? library->id : "", .own = ""};
    return serial != NULL;
}
