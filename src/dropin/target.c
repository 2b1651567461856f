/* target.c - chooses the routine that an entry jumps to. */
#include "dropin/entry.h"
#include "dropin/fftw.h"
#include "dropin/library.h"

#include "backplane/library.h"

#include <dlfcn.h>
#include <string.h>

#if BP__DROPIN_PART != BP__DROPIN_PART_FFTW

/* Returns whether the program's own routine gets an address for its complex result: Intel's interface does. */
static bool own_is_hidden(const bp__dropin_slot *slot) {
    const char *owner = bp__dropin_owner(slot);
    return strstr(owner, "libmkl_rt") || strstr(owner, "libmkl_intel_");
}

static bool program_is_hidden(const bp__dropin_slot *slot) {
    return BP__DROPIN_PART == BP__DROPIN_PART_HOOKS ? own_is_hidden(slot) : bp__dropin_policy_get()->hidden_result;
}

static bool take(const bp__dropin_slot *slot, const bp__dropin_library *library, bp__dropin_target *target) {
    int routine = bp__dropin_routine(slot);
    void *found = library ? bp__dropin_library_routine(library, routine, bp__dropin_wide(slot)) : NULL;
    if (!found) {
        return false;
    }
    bool complex = bp__dropin_returns_complex(routine);
    *target = (bp__dropin_target){.routine = found,
                                  .library = library->id,
                                  .hidden = library->hidden,
                                  .converts = complex && library->hidden != program_is_hidden(slot)};
    return true;
}

#endif
#if BP__DROPIN_PART == BP__DROPIN_PART_HOOKS

/* MKL's functions with FFTW's names call each other by these names, which reach the program's own FFTW. So only a
 * library that is an FFTW takes its calls. */
static bool suits(const bp__dropin_library *library, int routine) {
    return library && (bp__dropin_family_of(routine) != BP__DROPIN_FAMILY_FFTW || !(library->kinds & BP_LIB_BLAS));
}

void bp__dropin_choose(const bp__dropin_slot *slot, bp__dropin_target *target) {
    const bp__dropin_policy *policy = bp__dropin_policy_get();
    int routine = bp__dropin_routine(slot);
    if (policy->library && bp__dropin_allowed(policy, routine)) {
        const bp__dropin_library *library = bp__dropin_library_asked(policy->library);
        if (suits(library, routine) && take(slot, library, target)) {
            return;
        }
    }
    *target = (bp__dropin_target){.routine = slot->original, .library = bp__dropin_owner(slot)};
}

#else

/* Ends the process as the loader does when it does not find a symbol: the routine has no way to report that. */
static void missing(const bp__dropin_slot *slot) {
    bp__dropin_say(
        "backplane: no library of this machine has %s with %d-bit integers; 'backplane list' shows the libraries\n",
        bp__dropin_names[bp__dropin_routine(slot)], bp__dropin_wide(slot) ? 64 : 32);
    bp__dropin_end();
}

#if BP__DROPIN_PART == BP__DROPIN_PART_FFTW

/* Plans belong to one library, so all names of a precision go to one. */
void bp__dropin_choose(const bp__dropin_slot *slot, bp__dropin_target *target) {
    const bp__dropin_policy *policy = bp__dropin_policy_get();
    if (!bp__dropin_fftw(bp__dropin_routine(slot), policy->library, target)) {
        missing(slot);
    }
}

#else

void bp__dropin_choose(const bp__dropin_slot *slot, bp__dropin_target *target) {
    const bp__dropin_policy *policy = bp__dropin_policy_get();
    if (policy->library && take(slot, bp__dropin_library_asked(policy->library), target)) {
        return;
    }
    for (int rank = 0; bp__dropin_library_exists(rank); rank++) {
        if (take(slot, bp__dropin_library_at(rank), target)) {
            return;
        }
    }
    missing(slot);
}

#endif
#endif
