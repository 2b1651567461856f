/* family.c - describes calls that pad, reverse and rotate tensors to dispatch. */
#include "ops/pad/pad.h"

#include <inttypes.h>
#include <stdio.h>

/* Problems are hashed and compared byte by byte, so there must be no padding. */
_Static_assert(sizeof(bp_pad_problem) == (4 + 5 * BP_MAX_PAD_NDIM) * 8, "bytes between the fields");

static int64_t product(int ndim, const int64_t *sizes) {
    int64_t all = 1;
    for (int d = 0; d < ndim; d++) {
        all *= sizes[d];
    }
    return all;
}

/* Writes "f32 reflect padding of 64 to 100 elements" or "f32 flip of 64 elements". */
static void describe(const bp_problem *problem, char *buffer, size_t size) {
    static const char *const modes[] = {"constant", "reflect", "replicate", "circular"};
    const bp_pad_problem *p = &problem->of.pad;
    const char *dtype = bp_dtype_name((bp_dtype)problem->dtype);
    const int64_t to = product(p->ndim, p->size);
    if (problem->op == BP_OP_PAD) {
        snprintf(buffer, size, "%s %s padding of %" PRId64 " to %" PRId64 " elements", dtype, modes[p->mode],
                 product(p->ndim, p->inner), to);
    } else {
        snprintf(buffer, size, "%s %s of %" PRId64 " elements", dtype, problem->op == BP_OP_FLIP ? "flip" : "roll", to);
    }
}

static bp__sharing sharing(const bp_problem *problem, int input) {
    (void)problem;
    (void)input;
    return BP__APART;
}

const bp__family bp__family_pad = {
    .size = sizeof(bp_pad_problem),
    .preference = BP_SET_pad_preferred,
    .preferred = &(const bp__preference){"padding is", "padding", 0},
    .enabled = BP_SET_pad_enabled,
    .precision = BP__NO_SETTING,
    .benchmark = BP_SET_pad_benchmark,
    .make = bp__pad_make,
    .describe = describe,
    .elements = bp__pad_elements,
    .sharing = sharing,
    .measuring = &bp__measuring_pad,
};
