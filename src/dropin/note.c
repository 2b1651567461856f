/* note.c - times a call and hands its description to the recorder. */
#include "dropin/backplane.h"
#include "dropin/entry.h"

#include <string.h>

/* Words of arguments on the stack that any routine of the family has at most, with the lengths of its texts. */
static long most_words(bp__dropin_family family) {
    return family == BP__DROPIN_FAMILY_LAPACK || family == BP__DROPIN_FAMILY_LAPACKE ? 40 : 16;
}

static void run_target(const bp__dropin_slot *slot, bp__dropin_frame *frame, const bp__dropin_target *target) {
    if (target->converts) {
        bp__dropin_convert(slot, frame, target);
    } else {
        bp__dropin_invoke(target->routine, frame, most_words(bp__dropin_family_of(bp__dropin_routine(slot))));
    }
}

void bp__dropin_note(const bp__dropin_slot *slot, bp__dropin_frame *frame, const bp__dropin_target *target,
                     const char *own, bool product) {
    int routine = bp__dropin_routine(slot);
    bp__dropin_family family = bp__dropin_family_of(routine);
    bp__dropin_call call = {.routine = bp__dropin_names[routine],
                            .family = bp__dropin_family_name(family),
                            .width = family == BP__DROPIN_FAMILY_FFTW ? 0
                                     : bp__dropin_wide(slot)          ? 64
                                                                      : 32,
                            .ran = target->library,
                            .own = own,
                            .why = target->why ? target->why : ""};
    bp__dropin_visit visit;
    bp__dropin_measure(slot, frame, &call); /* before the call, which may change what its arguments point to */
    bp__dropin_visit_begin(&visit);
    call.start_ns = bp__dropin_now();
    call.through = product && bp__dropin_product(slot, frame);
    if (!call.through) {
        bp__dropin_visit_end(
            &visit); /* an error handler of the program may leave the routine by longjmp, as R's does */
        run_target(slot, frame, target);
        bp__dropin_visit_begin(&visit);
    }
    call.time_ns = bp__dropin_now() - call.start_ns;
    bp_plan_info plan = {.struct_size = sizeof plan};
    const bp__dropin_api *api = call.through ? bp__dropin_backplane(NULL) : NULL;
    if (api && api->bp_last_plan(&plan) == BP_OK) {
        call.ran = plan.library;
        call.why = plan.reason;
    }
    bp__dropin_record(&call);
    bp__dropin_visit_end(&visit);
}
