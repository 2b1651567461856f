/* builds.c - chooses among builds of one library that are about equally fast. */
#include "dispatch/internal.h"

/* Whether the offers are of two builds of a library, which run the same algorithm. */
static bool are_builds(const bp__offer *a, const bp__offer *b) {
    const bp_library_info *of_a = a->candidate->library, *of_b = b->candidate->library;
    return of_a && of_b && *of_a->family && bp__text_equal(of_a->family, of_b->family) && a->rank == b->rank &&
           a->candidate->provider == b->candidate->provider &&
           bp__text_equal(a->verdict.algorithm, b->verdict.algorithm);
}

/* Calibrated times of two builds differ by less than the measurement is exact. But each build that a process uses has
 * threads of its own, which wait busily after a call and take processors from the others. */
int bp__choice_build(const bp__choice *choice, int fastest) {
    const double hardly_faster = 1.03;
    int chosen = fastest;
    if (fastest < 0 || !choice->predicted || choice->measured || *choice->neighbour) {
        return fastest;
    }
    const bp__offer *best = &choice->offers[fastest];
    for (int i = choice->count - 1; i >= 0; i--) { /* of several equals, the first stays */
        const bp__offer *o = &choice->offers[i];
        if (bp__offer_is_usable(o) && are_builds(o, best) && o->order <= hardly_faster * best->order &&
            o->candidate->library->loaded >= choice->offers[chosen].candidate->library->loaded) {
            chosen = i;
        }
    }
    return chosen;
}

void bp__choice_tell_build(bp__choice *choice, int fastest) {
    if (choice->chosen != fastest) {
        bp__text_addf(&choice->decision, "; %s is hardly faster, and this build of it %s",
                      bp__candidate_id(choice->offers[fastest].candidate),
                      choice->offers[choice->chosen].candidate->library->loaded ? "is loaded by the program"
                                                                                : "comes first in the list");
    }
}
