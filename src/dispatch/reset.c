/* reset.c - bp_reset: gives everything back, room by room, from the top down. */
#include "dispatch/internal.h"

#include "einsum/internal.h"
#include "machine/internal.h"
#include "registry/internal.h"
#include "settings/internal.h"

bp_status bp_reset(void) {
    int64_t settings = bp__settings_held();
    if (settings > 0) {
        return bp__fail(BP_E_BUSY, "%lld scopes and options are still held: leave and free them first",
                        (long long)settings);
    }
    int explanations = bp__explanations_alive();
    if (explanations > 0) {
        return bp__fail(BP_E_BUSY, "%d explanations are still held: free them first", explanations);
    }
    int paths = bp__einsum_paths_alive();
    if (paths > 0) {
        return bp__fail(BP_E_BUSY, "%d contraction path%s still held: release %s first", paths,
                        paths == 1 ? " is" : "s are", paths == 1 ? "it" : "them");
    }
    bp__hot_reset();
    bp__einsum_reset();
    bp__cache_reset();
    int held = bp__plans_alive();
    if (held > 0) {
        return bp__fail(BP_E_BUSY, "%d plan%s still held: release %s first", held, held == 1 ? " is" : "s are",
                        held == 1 ? "it" : "them");
    }
    bp__observe_reset();
    bp__candidates_reset();
    bp__registry_reset();
    bp__policy_reset();
    bp__pool_stop();
    bp__settings_reset();
    bp__warning_reset();
    bp__intern_reset();
    bp__error_reset();
    return BP_OK;
}
