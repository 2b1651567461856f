/* family.c - describes linear algebra to dispatch. */
#include "ops/linalg/linalg.h"
#include "base/number.h"

#include <inttypes.h>
#include <stdio.h>

/* Problems are hashed and compared byte by byte, so there must be no padding. */
_Static_assert(sizeof(bp_linalg_operand) == (5 + BP_MAX_BATCH_NDIM) * 8, "bytes between the fields");
_Static_assert(sizeof(bp_linalg_problem) ==
                   (9 + BP_MAX_BATCH_NDIM) * 8 + BP_LINALG_OPERANDS * sizeof(bp_linalg_operand),
               "bytes between the fields");

static const char *mode_text(const bp_linalg_problem *l) {
    static const char *const texts[] = {[BP_MODE_DEFAULT] = "",
                                        [BP_QR_REDUCED] = " reduced",
                                        [BP_QR_COMPLETE] = " complete",
                                        [BP_QR_R] = " r",
                                        [BP_SVD_REDUCED] = " reduced",
                                        [BP_SVD_FULL] = " full",
                                        [BP_LSTSQ_GELSY] = " gelsy",
                                        [BP_LSTSQ_GELS] = " gels",
                                        [BP_LSTSQ_GELSD] = " gelsd",
                                        [BP_LSTSQ_GELSS] = " gelss",
                                        [BP_NORM_FRO] = " fro",
                                        [BP_NORM_NUC] = " nuc",
                                        [BP_NORM_P] = " p"};
    return l->mode < BP__COUNT(texts) ? texts[l->mode] : "";
}

/* Writes "f64 100 x 32x32" or "f64 64x64, 3 right sides". */
static void describe(const bp_problem *problem, char *buffer, size_t size) {
    const bp_linalg_problem *l = &problem->of.linalg;
    char batch[32] = "", sides[48] = "", order[40] = "";
    if (l->batch_ndim > 0) {
        snprintf(batch, sizeof batch, "%" PRId64 " x ", l->batch);
    }
    if (l->k > 0) {
        snprintf(sides, sizeof sides, ", %" PRId64 " right sides", l->k);
    }
    if (l->mode == BP_NORM_P) {
        bp__format(order, sizeof order, "=%g", l->order);
    }
    snprintf(buffer, size, "%s %s%" PRId64 "x%" PRId64 "%s%s%s", bp_dtype_name((bp_dtype)problem->dtype), batch, l->m,
             l->n, sides, mode_text(l), order);
}

static bool is_empty(const bp_problem *problem) {
    return problem->of.linalg.empty;
}

/* The matrices of a batch are shared between threads. */
static bool has_callers(const bp_problem *problem) {
    return problem->of.linalg.batch > 1;
}

const bp__family bp__family_linalg = {
    .size = sizeof(bp_linalg_problem),
    .preference = BP_SET_linalg_preferred,
    .preferred = &(const bp__preference){"linear algebra is", "LAPACK", BP_LIB_LAPACK},
    .enabled = BP_SET_linalg_enabled,
    .precision = BP__NO_SETTING,
    .benchmark = BP_SET_linalg_benchmark,
    .cuda = {.library = BP_SET_cuda_preferred_linalg_library},
    .make = bp__linalg_make,
    .describe = describe,
    .elements = bp__linalg_elements,
    .has_callers = has_callers,
    .fail_item = bp__linalg_fail_item,
    .is_trivial = is_empty,
    .measuring = &bp__measuring_linalg,
};
