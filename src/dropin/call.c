/* call.c - makes a call whose routine is known: through Backplane if it is large enough, else by the routine. */
#include "dropin/backplane.h"
#include "dropin/entry.h"
#include "dropin/library.h"

#include <fenv.h>
#include <string.h>

__thread uintptr_t bp__dropin_mark;

/* ---- Sizes, as the stubs read them ---- */

typedef enum kind { f_gemm, f_gemv, c_gemm, c_gemv, f_first_two, f_first, f_second } kind;

static const unsigned char kinds[] = {
#define X(name, kind) kind,
    BP__DROPIN_SIZED(X) 0
#undef X
};

static uint64_t value_at_address(const bp__dropin_frame *frame, int index, bool wide) {
    return (uint64_t)bp__dropin_integer(bp__dropin_address(frame, index), wide);
}

static uint64_t register_value(const bp__dropin_frame *frame, int index, bool wide) {
    uint64_t word = frame->integers[index];
    return wide ? word : (uint64_t)(int64_t)(int32_t)(uint32_t)word;
}

static uint64_t size_of(const bp__dropin_slot *slot, const bp__dropin_frame *frame) {
    bool wide = bp__dropin_wide(slot);
    switch ((kind)kinds[bp__dropin_routine(slot)]) {
    case f_gemm:
        return value_at_address(frame, 2, wide) * value_at_address(frame, 3, wide) * value_at_address(frame, 4, wide);
    case f_gemv:
        return value_at_address(frame, 1, wide) * value_at_address(frame, 2, wide);
    case c_gemm:
        return register_value(frame, 3, wide) * register_value(frame, 4, wide) * register_value(frame, 5, wide);
    case c_gemv:
        return register_value(frame, 2, wide) * register_value(frame, 3, wide);
    case f_first_two:
        return value_at_address(frame, 0, wide) * value_at_address(frame, 1, wide);
    case f_first:
        return value_at_address(frame, 0, wide) * value_at_address(frame, 0, wide);
    default:
        return value_at_address(frame, 1, wide) * value_at_address(frame, 1, wide);
    }
}

/* Under `deterministic`, every product must run on a candidate that guarantees it. `backplane launch` knows that
 * before, and libbackplane is not opened for small products there. */
static bool guarantees_are_asked_for(void) {
#if BP__DROPIN_LAUNCHED
    return false;
#else
    const bp__dropin_api *api = bp__dropin_backplane(NULL);
    return api && !bp__dropin_setting_is(api, "deterministic", "off");
#endif
}

uint64_t bp__dropin_limit(int routine, bp__dropin_deed deed, bool faulty) {
    uint64_t small = bp__dropin_policy_get()->small;
    if (deed == BP__DROPIN_PRODUCT && (faulty || guarantees_are_asked_for())) {
        return 0;
    }
    if (deed == BP__DROPIN_PRODUCT) {
        bool vector = kinds[routine] == f_gemv || kinds[routine] == c_gemv;
        return vector ? small / 4 : small; /* it reads each element of the matrix once */
    }
    return deed == BP__DROPIN_FACTOR ? BP__DROPIN_FACTOR_SMALL : UINT64_MAX;
}

bp__dropin_deed bp__dropin_deed_of(int routine, const bp__dropin_target *target) {
    const bp__dropin_policy *policy = bp__dropin_policy_get();
    bool elsewhere = policy->library && (!BP__DROPIN_LAUNCHED || target->library != target->own);
    bool unknown = policy->library && !bp__dropin_library_asked(policy->library);
    if (target->faulty && bp__dropin_is_product(routine)) {
        return BP__DROPIN_PRODUCT;
    }
    if (elsewhere || unknown || routine >= BP__DROPIN_SIZED_COUNT || !bp__dropin_allowed(policy, routine)) {
        return BP__DROPIN_PASS;
    }
    bool factor = BP__DROPIN_HAS_LAPACK && !bp__dropin_is_product(routine);
    return !factor ? BP__DROPIN_PRODUCT : policy->library ? BP__DROPIN_PASS : BP__DROPIN_FACTOR;
}

/* ---- Calls ---- */

/* Finds the libraries and their measured times before the first recorded call that needs them, so that its time is the
 * call's own. The chosen library is opened by the call itself: another one would start threads that no call uses.
 * Threads that come meanwhile do the same, and wait for the first one's list here. */
static void discover(void) {
    static bool done;
    if (__atomic_load_n(&done, __ATOMIC_ACQUIRE)) {
        return;
    }
    bp__dropin_visit visit;
    bp__dropin_visit_begin(&visit);
    fenv_t state; /* choosing computes, and the program must see no exception of that */
    feholdexcept(&state);
    const int64_t start = bp__dropin_now();
    bp__dropin_library_exists(0);
    bp__dropin_record_discovery(bp__dropin_now() - start);
    __atomic_store_n(&done, true, __ATOMIC_RELEASE);
    fesetenv(&state);
    bp__dropin_visit_end(&visit);
}

static bool run_product(const bp__dropin_slot *slot, const bp__dropin_frame *frame) {
    bp__dropin_visit visit;
    bp__dropin_visit_begin(&visit);
    bool done = bp__dropin_product(slot, frame);
    bp__dropin_visit_end(&visit);
    return done;
}

void *bp__dropin_run(const bp__dropin_slot *slot, bp__dropin_frame *frame, const bp__dropin_target *target,
                     bool plain) {
    bp__dropin_deed deed = plain ? BP__DROPIN_PASS : target->deed;
    bool record = !plain && bp__dropin_policy_get()->record;
    /* The stub may have found the call large because its limit was not known yet. */
    if (deed != BP__DROPIN_PASS &&
        (size_of(slot, frame) < bp__dropin_limit(bp__dropin_routine(slot), deed, target->faulty) ||
         bp__dropin_in_loader())) {
        deed = BP__DROPIN_PASS;
    }
    if (record && deed != BP__DROPIN_PASS) {
        discover();
    }
    const char *own = target->own;
    if (deed == BP__DROPIN_PRODUCT && !record && run_product(slot, frame)) {
        return NULL;
    }
#if BP__DROPIN_HAS_LAPACK
    if (deed == BP__DROPIN_FACTOR) {
        target = bp__dropin_factor(slot, frame, target);
    }
#endif
    if (record) {
        bp__dropin_note(slot, frame, target, own, deed == BP__DROPIN_PRODUCT);
        return NULL;
    }
    if (target->converts) {
        bp__dropin_convert(slot, frame, target);
        return NULL;
    }
    return target->routine;
}
