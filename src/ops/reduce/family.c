/* family.c - describes reductions and softmax to dispatch. */
#include "ops/reduce/reduce.h"

#include "base/number.h"

#include <inttypes.h>
#include <stdio.h>

/* Problems are hashed and compared byte by byte, so there must be no padding. */
_Static_assert(sizeof(bp_reduce_problem) == (4 + 4 * BP_MAX_REDUCE_NDIM) * 8, "bytes between the fields");

static int64_t product(const bp_reduce_problem *p, int from, int to) {
    int64_t all = 1;
    for (int d = from; d < to; d++) {
        all *= p->size[d];
    }
    return all;
}

/* Writes "f32 sum of 64 x 1000 elements". */
static void describe(const bp_problem *problem, char *buffer, size_t size) {
    const bp_reduce_problem *p = &problem->of.reduce;
    const int64_t kept = product(p, 0, p->kept_ndim), reduced = product(p, p->kept_ndim, p->ndim);
    const bool converts = problem->op == BP_OP_REDUCE && p->output != problem->dtype && p->kind < BP_REDUCE_ARGMAX;
    char correction[40] = "";
    if (problem->op == BP_OP_VARIANCE) {
        bp__format(correction, sizeof correction, ", correction %g", p->correction);
    }
    snprintf(buffer, size, "%s %s%s of %" PRId64 " x %" PRId64 " elements%s%s%s%s",
             bp_dtype_name((bp_dtype)problem->dtype), bp__reduce_word((bp_op)problem->op, p->kind),
             problem->op == BP_OP_SOFTMAX_BACKWARD ? " gradient" : "", kept, reduced, converts ? " as " : "",
             converts ? bp_dtype_name((bp_dtype)p->output) : "", correction, p->in_place ? ", in place" : "");
}

static bp__sharing sharing(const bp_problem *problem, int input) {
    (void)input;
    return problem->op == BP_OP_SOFTMAX && problem->of.reduce.in_place ? BP__SHARED : BP__APART;
}

const bp__family bp__family_reduce = {
    .size = sizeof(bp_reduce_problem),
    .preference = BP_SET_reduce_preferred,
    .preferred = &(const bp__preference){"reductions are", "reductions", 0},
    .enabled = BP_SET_reduce_enabled,
    .precision = BP__NO_SETTING,
    .benchmark = BP_SET_reduce_benchmark,
    .make = bp__reduce_make,
    .describe = describe,
    .elements = bp__reduce_elements,
    .sharing = sharing,
    .measuring = &bp__measuring_reduce,
};
