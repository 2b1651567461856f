/* entry.c - decides where a call goes: to the program's own routine, to the routine of a library, or to Backplane.
 *
 * The first call of an entry chooses its routine and writes it into the entry, so that the stub jumps there from then
 * on. Several threads may do that at once, with equal results.
 */
#include "dropin/entry.h"

/* The routine of each entry. `state` is written last. */
static bp__dropin_target targets[BP__DROPIN_ENTRIES];
static unsigned char state[BP__DROPIN_ENTRIES];
enum { UNKNOWN, KNOWN, RECORDED, PRODUCT, RECORDED_PRODUCT };

__thread uintptr_t bp__dropin_mark;

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
    unsigned char known = policy->record ? (product ? RECORDED_PRODUCT : RECORDED) : product ? PRODUCT : KNOWN;
    __atomic_store_n(&state[index], known, __ATOMIC_RELEASE);
    bool direct = !policy->record && !chosen.converts;
    __atomic_store_n(&slot->limit, product ? limit_of(routine, policy) : UINT64_MAX, __ATOMIC_RELAXED);
    __atomic_store_n(&slot->small, direct ? chosen.routine : (void *)(uintptr_t)bp__dropin_enter, __ATOMIC_RELEASE);
}

/* Returns what the stub decides, for the first call of a routine, and for calls that are recorded. */
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
    unsigned char known = __atomic_load_n(&state[index], __ATOMIC_ACQUIRE);
    bool large = true; /* a stub sends nothing else here, once its routine is known */
    if (__builtin_expect(known == UNKNOWN, 0)) {
        learn(slot);
        known = state[index];
        large = is_large(slot, frame);
    }
    const bp__dropin_target *target = &targets[index];
    if (!bp__dropin_inside()) {
        if (known == PRODUCT && large && run_product(slot, frame)) {
            return NULL;
        }
        if (known == RECORDED || known == RECORDED_PRODUCT) {
            bp__dropin_note(slot, frame, target, known == RECORDED_PRODUCT && is_large(slot, frame));
            return NULL;
        }
    }
    if (target->converts) {
        bp__dropin_convert(slot, frame, target);
        return NULL;
    }
    return target->routine;
}
