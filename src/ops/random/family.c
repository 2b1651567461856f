/* family.c - describes random numbers to dispatch. */
#include "ops/random/random.h"

#include <inttypes.h>
#include <stdio.h>

/* Problems are hashed and compared byte by byte, so there must be no padding. */
_Static_assert(sizeof(bp_random_problem) == (2 + 2 * BP_MAX_RANDOM_NDIM) * 8, "bytes between the fields");

/* Writes "f32 normal numbers, 1024x768": the merged dimensions. */
static void describe(const bp_problem *problem, char *buffer, size_t size) {
    static const char *const kinds[BP_RANDOM_KINDS] = {"uniform numbers", "normal numbers", "random bits"};
    const bp_random_problem *p = &problem->of.random;
    size_t used = (size_t)snprintf(buffer, size, "%s %s,", bp_dtype_name((bp_dtype)problem->dtype), kinds[p->kind]);
    for (int d = 0; d < p->ndim && used < size; d++) {
        used += (size_t)snprintf(buffer + used, size - used, "%s%" PRId64, d ? "x" : " ", p->size[d]);
    }
    if (p->ndim == 0 && used < size) {
        snprintf(buffer + used, size - used, " 1 element");
    }
}

const bp__family bp__family_random = {
    .size = sizeof(bp_random_problem),
    .preference = BP_SET_random_preferred,
    .preferred = &(const bp__preference){"random numbers are", "random numbers", 0},
    .enabled = BP_SET_random_enabled,
    .precision = BP__NO_SETTING,
    .benchmark = BP_SET_random_benchmark,
    .make = bp__random_make,
    .describe = describe,
    .host_inputs = 1, /* the seed */
    .elements = bp__random_elements,
    .measuring = &bp__measuring_random,
};
