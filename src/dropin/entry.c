/* entry.c - keeps the routine of each entry.
 *
 * The first call of an entry chooses its routine and writes it into the entry, so that the stub jumps there from then
 * on. Several threads may do that at once, with equal results.
 */
#include "dropin/entry.h"

#include <fenv.h>

/* The routine of each entry. `known` is written last. */
static bp__dropin_target targets[BP__DROPIN_ENTRIES];
static bool known[BP__DROPIN_ENTRIES];

/* Chooses the routine of an entry, and writes what the stub reads. With records, every call comes to C code; calls
 * whose result is converted do, too. */
static void learn_slot(bp__dropin_slot *slot) {
    int routine = bp__dropin_routine(slot);
    bp__dropin_target chosen, *target = &targets[bp__dropin_index(slot)];
    const bool record = bp__dropin_policy_get()->record;
    bp__dropin_visit visit;
    bp__dropin_visit_begin(&visit);
    fenv_t state; /* choosing computes, and the program must see no exception of that */
    feholdexcept(&state);
    const int64_t start = record ? bp__dropin_now() : 0;
    bp__dropin_choose(slot, &chosen);
    if (record) {
        bp__dropin_record_discovery(bp__dropin_now() - start);
    }
    fesetenv(&state);
    bp__dropin_visit_end(&visit);
    bp__dropin_deed deed = bp__dropin_deed_of(routine, &chosen);
    __atomic_store_n(&target->library, chosen.library, __ATOMIC_RELAXED);
    __atomic_store_n(&target->own, chosen.own, __ATOMIC_RELAXED);
    __atomic_store_n(&target->why, chosen.why, __ATOMIC_RELAXED);
    __atomic_store_n(&target->converts, chosen.converts, __ATOMIC_RELAXED);
    __atomic_store_n(&target->hidden, chosen.hidden, __ATOMIC_RELAXED);
    __atomic_store_n(&target->faulty, chosen.faulty, __ATOMIC_RELAXED);
    __atomic_store_n(&target->routine, chosen.routine, __ATOMIC_RELAXED);
    __atomic_store_n(&target->deed, deed, __ATOMIC_RELAXED);
    __atomic_store_n(&known[bp__dropin_index(slot)], true, __ATOMIC_RELEASE);
    bool direct = !record && !chosen.converts;
    __atomic_store_n(&slot->limit, bp__dropin_limit(routine, deed, chosen.faulty), __ATOMIC_RELAXED);
    __atomic_store_n(&slot->small, direct ? chosen.routine : (void *)(uintptr_t)bp__dropin_enter, __ATOMIC_RELEASE);
}

void *bp__dropin_entry(bp__dropin_slot *slot, bp__dropin_frame *frame) {
    int index = bp__dropin_index(slot);
    if (__builtin_expect(!__atomic_load_n(&known[index], __ATOMIC_ACQUIRE), 0)) {
        /* A drop-in library has no other routine, and must choose one. */
        if (BP__DROPIN_LAUNCHED && bp__dropin_in_loader()) {
            const char *own = bp__dropin_owner(slot);
            bp__dropin_target original = {.routine = slot->original, .library = own, .own = own};
            return bp__dropin_run(slot, frame, &original, bp__dropin_inside());
        }
        learn_slot(slot);
    }
    return bp__dropin_run(slot, frame, &targets[index], bp__dropin_inside());
}
