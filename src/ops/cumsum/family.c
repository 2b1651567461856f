/* family.c - describes cumulative sums to dispatch. */
#include "ops/cumsum/cumsum.h"

#include <inttypes.h>
#include <stdio.h>

/* Problems are hashed and compared byte by byte, so there must be no padding. */
_Static_assert(sizeof(bp_cumsum_problem) == (5 + 3 * BP_MAX_CUMSUM_NDIM) * 8, "bytes between the fields");

/* Writes "f32 cumsum of 64 x 1000 elements, exclusive": rows, and the length of a row. */
static void describe(const bp_problem *problem, char *buffer, size_t size) {
    const bp_cumsum_problem *p = &problem->of.cumsum;
    const bool converts = p->output != problem->dtype;
    int64_t rows = p->length > 0;
    for (int d = 0; d < p->ndim; d++) {
        rows *= p->size[d];
    }
    snprintf(buffer, size, "%s cumsum of %" PRId64 " x %" PRId64 " elements%s%s%s%s",
             bp_dtype_name((bp_dtype)problem->dtype), rows, p->length, converts ? " as " : "",
             converts ? bp_dtype_name((bp_dtype)p->output) : "", p->exclusive ? ", exclusive" : "",
             p->reverse ? ", reverse" : "");
}

/* The output may overwrite an input of its type and strides. */
static bp__sharing sharing(const bp_problem *problem, int input) {
    const bp_cumsum_problem *p = &problem->of.cumsum;
    bool same = p->output == problem->dtype && p->x_axis == p->y_axis;
    (void)input;
    for (int d = 0; d < p->ndim; d++) {
        same = same && p->x[d] == p->y[d];
    }
    return same ? BP__MAY_SHARE : BP__APART;
}

const bp__family bp__family_cumsum = {
    .size = sizeof(bp_cumsum_problem),
    .preference = BP_SET_cumsum_preferred,
    .preferred = &(const bp__preference){"cumulative sums are", "cumulative sums", 0},
    .enabled = BP_SET_cumsum_enabled,
    .precision = BP__NO_SETTING,
    .benchmark = BP_SET_cumsum_benchmark,
    .make = bp__cumsum_make,
    .describe = describe,
    .elements = bp__cumsum_elements,
    .sharing = sharing,
    .measuring = &bp__measuring_cumsum,
};
