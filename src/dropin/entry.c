/* entry.c - keeps the routine of each entry.
 *
 * The first call of an entry chooses its routine and writes it into the entry, so that the stub jumps there from then
 * on. Several threads may choose at once. The first one that is ready writes. Each other one makes its call with what
 * it has chosen itself. It does not wait, because it may be a handler of a signal that interrupted the writer. In a
 * child of a fork that came while another thread wrote, every call of that entry chooses.
 */
#include "dropin/entry.h"

#include <fenv.h>

typedef enum entry_state { UNKNOWN, BEING_WRITTEN, KNOWN } entry_state;

/* The routine of each entry, and whether it may be read. */
static bp__dropin_target targets[BP__DROPIN_ENTRIES];
static unsigned char states[BP__DROPIN_ENTRIES];

/* Writes what later calls read, unless another thread does. Returns what is valid for this call. */
static const bp__dropin_target *keep_target(bp__dropin_slot *slot, const bp__dropin_target *chosen, bool direct) {
    const int index = bp__dropin_index(slot);
    unsigned char state = UNKNOWN;
    if (!__atomic_compare_exchange_n(&states[index], &state, BEING_WRITTEN, false, __ATOMIC_RELAXED,
                                     __ATOMIC_RELAXED)) {
        return chosen;
    }
    targets[index] = *chosen;
    __atomic_store_n(&states[index], KNOWN, __ATOMIC_RELEASE);
    __atomic_store_n(&slot->limit, bp__dropin_limit(bp__dropin_routine(slot), chosen->deed, chosen->faulty),
                     __ATOMIC_RELAXED);
    __atomic_store_n(&slot->small, direct ? chosen->routine : (void *)(uintptr_t)bp__dropin_enter, __ATOMIC_RELEASE);
    return &targets[index];
}

/* Chooses the routine of an entry, and writes what the stub reads. With records, every call comes to C code; calls
 * whose result is converted do, too. */
static const bp__dropin_target *learn_slot(bp__dropin_slot *slot, bp__dropin_target *chosen) {
    const bool record = bp__dropin_policy_get()->record;
    bp__dropin_visit visit;
    bp__dropin_visit_begin(&visit);
    fenv_t state; /* choosing computes, and the program must see no exception of that */
    feholdexcept(&state);
    const int64_t start = record ? bp__dropin_now() : 0;
    bp__dropin_choose(slot, chosen);
    if (record) {
        bp__dropin_record_discovery(bp__dropin_now() - start);
    }
    fesetenv(&state);
    bp__dropin_visit_end(&visit);
    chosen->deed = bp__dropin_deed_of(bp__dropin_routine(slot), chosen);
    return keep_target(slot, chosen, !record && !chosen->converts);
}

void *bp__dropin_entry(bp__dropin_slot *slot, bp__dropin_frame *frame) {
    const int index = bp__dropin_index(slot);
    const bp__dropin_target *target = &targets[index];
    bp__dropin_target chosen;
    if (__builtin_expect(__atomic_load_n(&states[index], __ATOMIC_ACQUIRE) != KNOWN, 0)) {
        /* A drop-in library has no other routine, and must choose one. */
        if (BP__DROPIN_LAUNCHED && bp__dropin_in_loader()) {
            const char *own = bp__dropin_owner(slot);
            bp__dropin_target original = {.routine = slot->original, .library = own, .own = own};
            return bp__dropin_run(slot, frame, &original, bp__dropin_inside());
        }
        target = learn_slot(slot, &chosen);
    }
    return bp__dropin_run(slot, frame, target, bp__dropin_inside());
}
