/* target.c - chooses the routine that an entry jumps to. */
#define _GNU_SOURCE
#include "dropin/backplane.h"
#include "dropin/entry.h"
#include "dropin/fftw.h"
#include "dropin/library.h"
#include "dropin/reference.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#if BP__DROPIN_PART != BP__DROPIN_PART_FFTW

/* Takes a library's routine, whatever the probe found. `hidden`: the program passes an address for complex results. */
static bool take_any(const bp__dropin_slot *slot, const bp__dropin_library *library, bool hidden, const char *own,
                     bp__dropin_target *target) {
    int routine = bp__dropin_routine(slot);
    void *found = library ? bp__dropin_library_routine(library, routine, bp__dropin_wide(slot)) : NULL;
    if (!found) {
        return false;
    }
    *target = (bp__dropin_target){.routine = found,
                                  .library = library->id,
                                  .own = own,
                                  .hidden = library->hidden,
                                  .converts = library->hidden != hidden && bp__dropin_returns_complex(routine)};
    return true;
}

/* Returns whether a library can report wrong arguments of the routine. MKL calls cblas_xerbla of the process, if there
 * is one, which may read a name as a number. */
static bool reports(const bp__dropin_library *library, int routine) {
    return !library->swaps || bp__dropin_family_of(routine) != BP__DROPIN_FAMILY_CBLAS ||
           !bp__dropin_has_handler_of_c();
}

/* Takes a library's routine if the probe found nothing wrong with it. A product is taken all the same, because it runs
 * through Backplane then, and the routine is called with wrong arguments only, which it reports. */
static bool take_target(const bp__dropin_slot *slot, const bp__dropin_library *library, bool hidden, const char *own,
                        bp__dropin_target *target) {
    int routine = bp__dropin_routine(slot);
    bool faulty = library && !bp__dropin_is_sound(&library->findings, routine);
    if (!library || (faulty && !bp__dropin_is_product(routine)) || !reports(library, routine) ||
        !take_any(slot, library, hidden, own, target)) {
        return false;
    }
    target->faulty = faulty;
    return true;
}

#endif
#if BP__DROPIN_LAUNCHED

/* MKL's functions with FFTW's names call each other by these names, which reach the program's own FFTW. So only a
 * library that is an FFTW takes its calls. */
static bool suits(const bp__dropin_library *library, int routine) {
    return library && (bp__dropin_family_of(routine) != BP__DROPIN_FAMILY_FFTW || !(library->kinds & BP_LIB_BLAS));
}

/* Takes the routine of the best library in which the probe found nothing wrong with it. */
static bool take_sound(const bp__dropin_slot *slot, bool hidden, const char *own, bp__dropin_target *target) {
    for (int rank = 0; bp__dropin_library_exists(rank); rank++) {
        const bp__dropin_library *library = bp__dropin_library_at(rank);
        if (library && !library->stays && take_target(slot, library, hidden, own, target)) {
            return true;
        }
    }
    return false;
}

/* Products with faults run through Backplane, and need no other library here. */
void bp__dropin_choose_launched(const bp__dropin_slot *slot, void *original, const char *own,
                                bp__dropin_target *target) {
    const bp__dropin_policy *policy = bp__dropin_policy_get();
    int routine = bp__dropin_routine(slot);
    /* A program that is linked to Intel's interface passes an address for complex results. */
    bool hidden = strstr(own, "libmkl_rt") || strstr(own, "libmkl_intel_");
    bool taken = false;
    *target = (bp__dropin_target){.routine = original, .library = own, .own = own};
    if (!bp__dropin_allowed(policy, routine)) {
        return;
    }
    const bp__dropin_findings findings = bp__dropin_findings_of(policy, own);
    /* A name without a suffix does not tell the width of its integers, and the library of the name does. */
    const bool faulty =
        findings.int_bits == (bp__dropin_wide(slot) ? 64 : 32) && !bp__dropin_is_sound(&findings, routine);
    target->faulty = faulty && bp__dropin_is_product(routine);
    if (policy->library) {
        const bp__dropin_library *library = bp__dropin_library_asked(policy->library);
        taken = suits(library, routine) && take_target(slot, library, hidden, own, target);
    } else if (bp__dropin_is_replaceable(routine) && bp__dropin_is_reference(own, bp__dropin_wide(slot)) &&
               take_target(slot, bp__dropin_replacement(bp__dropin_wide(slot)), hidden, own, target)) {
        target->why = BP__DROPIN_WHY_REFERENCE;
        taken = true;
    }
    if (!taken && faulty && !target->faulty && take_sound(slot, hidden, own, target)) {
        target->why = BP__DROPIN_WHY_FAULTY;
    }
}

#endif
#if BP__DROPIN_PART == BP__DROPIN_PART_HOOKS

void bp__dropin_choose(const bp__dropin_slot *slot, bp__dropin_target *target) {
    bp__dropin_choose_launched(slot, slot->original, bp__dropin_owner(slot), target);
}

#endif
#if !BP__DROPIN_LAUNCHED

/* Returns why this process cannot open files that exist; NULL if it can. `own`: the path of this object. */
static const char *why_closed(const char *own, char *text, size_t size) {
    const int file = open(own, O_RDONLY | O_CLOEXEC);
    if (file >= 0) {
        close(file);
        return NULL;
    }
    const int error = errno;
    const bool hidden = error == ENOENT || error == ENOTDIR;
    char reason[128];
    snprintf(text, size, "%s, from which this library was loaded: %s%s", own, strerror_r(error, reason, sizeof reason),
             hidden            ? " (the process has changed its root with chroot(), or the file was removed)"
             : error == EMFILE ? " (the process has used all its descriptors, see 'ulimit -n')"
                               : "");
    return text;
}

/* Adds why a library of the list cannot be used, if there is one. */
static void add_unusable(const bp__dropin_api *api, char *text, size_t size) {
    bp_library_info info = {.struct_size = sizeof info};
    *text = 0;
    for (int i = 0; !*text && api->bp_library_at(i, &info); i++) {
        if ((info.state == BP_LIBRARY_BROKEN || info.state == BP_LIBRARY_UNPROBED) && !(info.kinds & BP_LIB_GPU) &&
            (info.kinds & (BP_LIB_BLAS | BP_LIB_LAPACK | BP_LIB_FFT))) {
            snprintf(text, size, "'%s' (%s) is not used: %s; ", info.id, info.path, info.reason);
        }
    }
}

/* Ends the process as the loader does when it does not find a symbol, because the routine has no way to report that. */
static void end_without_routine(const bp__dropin_slot *slot) {
    const char *why, *name = bp__dropin_names[bp__dropin_routine(slot)];
    const bp__dropin_api *api = bp__dropin_backplane(&why);
    const char *failure = api ? bp__dropin_library_failure() : why;
    char text[PATH_MAX + 256];
    Dl_info own;
    const bool found = dladdr((const void *)(uintptr_t)&bp__dropin_choose, &own) != 0 && own.dli_fname;
    const char *closed = found ? why_closed(own.dli_fname, text, sizeof text) : NULL;
    if (closed || *failure) {
        bp__dropin_say("backplane: %s cannot run, because a library cannot be opened now: %s. A program that gives up "
                       "rights makes one call before, or runs with BACKPLANE_DROPIN_OPEN=start and a probe cache that "
                       "'backplane list' has filled\n",
                       name, closed ? closed : failure);
    } else {
        const char *width = bp__dropin_wide(slot) ? " with 64-bit integers" : " with 32-bit integers";
        add_unusable(api, text, sizeof text);
        bp__dropin_say("backplane: no library of this machine has %s%s; %s'backplane list' shows the libraries\n", name,
                       BP__DROPIN_PART == BP__DROPIN_PART_FFTW ? "" : width, text);
    }
    bp__dropin_end();
}

#if BP__DROPIN_PART == BP__DROPIN_PART_FFTW

/* Plans belong to one library, so all names of a precision go to one. */
void bp__dropin_choose(const bp__dropin_slot *slot, bp__dropin_target *target) {
    int routine = bp__dropin_routine(slot);
    if (!bp__dropin_fftw(routine, bp__dropin_policy_get()->library, target)) {
        end_without_routine(slot);
    }
}

#else

void bp__dropin_choose(const bp__dropin_slot *slot, bp__dropin_target *target) {
    const bp__dropin_policy *policy = bp__dropin_policy_get();
    if (policy->library &&
        take_target(slot, bp__dropin_library_asked(policy->library), policy->hidden_result, "", target)) {
        return;
    }
    /* A routine with a fault is better than none, because the process would end. */
    for (int any = 0; any < 2; any++) {
        for (int rank = 0; bp__dropin_library_exists(rank); rank++) {
            if ((any ? take_any : take_target)(slot, bp__dropin_library_at(rank), policy->hidden_result, "", target)) {
                return;
            }
        }
    }
    end_without_routine(slot);
}

#endif
#endif
