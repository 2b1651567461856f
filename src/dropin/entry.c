/* entry.c - decides where a call goes: to the program's own routine, to the routine of a library, or to Backplane.
 *
 * The first call of an entry chooses its routine and writes it into the entry, so that the stub jumps there from then
 * on. Several threads may do that at once, with equal results.
 */
#include "dropin/entry.h"

/* The routine of each entry. `state` is written last. */
static bp__dropin_target targets[BP__DROPIN_ENTRIES];
static unsigned char state[BP__DROPIN_ENTRIES];
enum { UNKNOWN, KNOWN, KNOWN_PRODUCT };

/* A product with a vector reads each element once, so it takes more of them until choosing pays. */
static uint64_t limit_of(int routine, const bp__dropin_policy *policy) {
    const char *name = bp__dropin_names[routine];
    bool vector = name[bp__dropin_family_of(routine) == BP__DROPIN_FAMILY_CBLAS ? 10 : 4] == 'v';
    return vector ? policy->small / 4 : policy->small;
}

/* Chooses the routine of an entry, and writes what the stub reads. With records, every call comes here; calls whose
 * result is converted do, too. */
static void learn(bp__dropin_slot *slot) {
    const bp__dropin_policy *policy = bp__dropin_policy_get();
    int routine = bp__dropin_routine(slot), index = bp__dropin_index(slot);
    bp__dropin_target chosen;
    bp__dropin_visit visit;
    bp__dropin_visit_begin(&visit);
    bp__dropin_choose(slot, &chosen);
    bp__dropin_visit_end(&visit);
    bool product = !policy->library && bp__dropin_is_product(routine) && bp__dropin_allowed(policy, routine);
    bp__dropin_target *target = &targets[index];
    __atomic_store_n(&target->library, chosen.library, __ATOMIC_RELAXED);
    __atomic_store_n(&target->converts, chosen.converts, __ATOMIC_RELAXED);
    __atomic_store_n(&target->hidden, chosen.hidden, __ATOMIC_RELAXED);
    __atomic_store_n(&target->routine, chosen.routine, __ATOMIC_RELAXED);
    __atomic_store_n(&state[index], product ? KNOWN_PRODUCT : KNOWN, __ATOMIC_RELEASE);
    bool direct = !policy->record && !chosen.converts;
    __atomic_store_n(&slot->limit, product ? limit_of(routine, policy) : UINT64_MAX, __ATOMIC_RELAXED);
    __atomic_store_n(&slot->small, direct ? chosen.routine : (void *)(uintptr_t)bp__dropin_enter, __ATOMIC_RELEASE);
}

/* Returns the product of the sizes as the stub computes it. */
static bool is_large(const bp__dropin_slot *slot, const bp__dropin_frame *frame) {
    bp__dropin_call call = {.sizes = 0};
    bp__dropin_measure(slot, frame, &call);
    uint64_t size = 1;
    for (int i = 0; i < call.sizes; i++) {
        size *= (uint64_t)call.size[i];
    }
    return size >= __atomic_load_n(&slot->limit, __ATOMIC_RELAXED);
}

static bool run_product(const bp__dropin_slot *slot, const bp__dropin_frame *frame) {
    bp__dropin_visit visit;
    bp__dropin_visit_begin(&visit);
    bool done = bp__dropin_product(slot, frame);
    bp__dropin_visit_end(&visit);
    return done;
}

void *bp__dropin_entry(bp__dropin_slot *slot, bp__dropin_frame *frame) {
    int index = bp__dropin_index(slot);
    bool inside = bp__dropin_inside();
    if (__builtin_expect(__atomic_load_n(&state[index], __ATOMIC_ACQUIRE) == UNKNOWN, 0)) {
        learn(slot);
    }
    const bp__dropin_target *target = &targets[index];
    const bp__dropin_policy *policy = bp__dropin_policy_get();
    bool product = !inside && state[index] == KNOWN_PRODUCT && (!policy->record || is_large(slot, frame));
    if (policy->record && !inside) {
        bp__dropin_note(slot, frame, target, product);
        return NULL;
    }
    if (product && run_product(slot, frame)) {
        return NULL;
    }
    if (target->converts) {
        bp__dropin_convert(slot, frame, target);
        return NULL;
    }
    return target->routine;
}
