/* constraints.c - refuses candidates and verdicts that settings or limits of memory do not permit. */
#include "dispatch/needs.h"

#include <stdio.h>

void bp__verdict_refuse(bp_verdict *verdict, bp_reason reason, const char *text) {
    verdict->reason = reason;
    bp__copy_text(verdict->text, sizeof verdict->text, text);
}

const char *bp__newer_member(const bp_provider *provider, const bp_problem *problem) {
    const bp__family *family = bp__family_of(problem);
    return family->is_newer ? family->is_newer(problem, provider->abi & 0xffffu) : NULL;
}

static bool has_items_as_rows(const bp_problem *problem) {
    const bp__family *family = bp__family_of(problem);
    return family->has_items_as_rows && family->has_items_as_rows(problem);
}

/* Refuses a verdict without a guarantee that the policy requires. An absent property means "unknown". */
static void check_guarantees(const bp_problem *problem, bp_verdict *verdict) {
    const bp_policy *policy = &problem->policy;
    bool f32 = problem->dtype == BP_F32 || problem->dtype == BP_C64;
    int precision = f32 ? policy->precision : 0;
    bool bf16 = (verdict->properties & BP_PROPERTY_ROUNDS_BELOW_TF32) != 0,
         tf32 = (verdict->properties & BP_PROPERTY_INPUTS_TF32) != 0;
    if ((bf16 && precision < 2) || (tf32 && precision < 1)) {
        bp__verdict_refuse(verdict, BP_REASON_PRECISION,
                           "rounds its inputs to lower precision than fp32_precision allows");
    } else if ((policy->constraints & BP__IEEE) && (verdict->properties & BP_PROPERTY_LARGER_ERROR)) {
        bp__verdict_refuse(verdict, BP_REASON_PRECISION, "has larger rounding errors than fp32_precision=ieee allows");
    } else if (policy->deterministic == 2 && !(verdict->properties & BP_PROPERTY_THREAD_INVARIANT)) {
        bp__verdict_refuse(verdict, BP_REASON_DETERMINISM,
                           "does not guarantee bitwise identical results with any number of threads");
    } else if (has_items_as_rows(problem) && !(verdict->properties & BP_PROPERTY_ROW_INVARIANT)) {
        bp__verdict_refuse(verdict, BP_REASON_DETERMINISM,
                           "does not guarantee bitwise identical results in all rows and columns, which may be items "
                           "of the batch here");
    } else if (policy->deterministic == 1 &&
               !(verdict->properties & (BP_PROPERTY_REPRODUCIBLE | BP_PROPERTY_THREAD_INVARIANT))) {
        bp__verdict_refuse(verdict, BP_REASON_DETERMINISM,
                           "does not guarantee bitwise identical results in the next run");
    } else if (verdict->threads > policy->threads) {
        bp__verdict_refuse(verdict, BP_REASON_THREADS, "would use more threads than num_threads allows");
    }
}

/* Refuses a candidate of oneDNN without the guarantee that mkldnn.deterministic requires. */
static void check_onednn(const bp_problem *problem, const bp__candidate *candidate, bp_verdict *verdict) {
    const bool required = (problem->policy.constraints & BP__REPRODUCIBLE_ONEDNN) && candidate->library &&
                          bp__text_equal(candidate->library->family, "onednn");
    if (required && verdict->reason == BP_REASON_ACCEPTED && !(verdict->properties & BP_PROPERTY_REPRODUCIBLE)) {
        bp__verdict_refuse(
            verdict, BP_REASON_DETERMINISM,
            "mkldnn.deterministic is true, and it does not guarantee bitwise identical results in the next run");
    }
}

/* Refuses the threads of another library than native's. Those that are idle spin, and take processors from the others.
 */
static void check_threads(const bp_problem *problem, const bp__candidate *candidate, bp_verdict *verdict) {
    const bp__family *family = bp__family_of(problem);
    const bool apart = bp__candidate_has_threads(candidate) && verdict->threads != 1;
    if (verdict->reason == BP_REASON_ACCEPTED && apart && family->runs_with_native &&
        family->runs_with_native(problem)) {
        bp__verdict_refuse(verdict, BP_REASON_THREADS,
                           "other parts of this call run on native's threads, with which its threads would compete");
    }
}

static uint32_t simulation_property(const bp_problem *problem) {
    bool simulated = bp__family_of(problem)->products && bp__adapted(problem);
    return !simulated ? 0 : problem->policy.simulate == 2 ? BP_PROPERTY_ROUNDS_BELOW_TF32 : BP_PROPERTY_INPUTS_TF32;
}

const char *bp__candidate_off(const bp__candidate *candidate, unsigned avoid) {
    const bp_library_info *library = candidate->library;
    if (!library || avoid == 0) {
        return NULL;
    }
    return avoid & BP__DISABLED_MKL && bp__text_equal(library->family, "mkl")         ? "mkl.enabled is false"
           : avoid & BP__DISABLED_ONEDNN && bp__text_equal(library->family, "onednn") ? "mkldnn.enabled is false"
           : avoid & BP__DISABLED_OPENMP && bp__on_openmp(library)                    ? "openmp.enabled is false"
                                                                                      : NULL;
}

void bp__verdict_check(const bp_problem *problem, const bp__candidate *candidate, bp_verdict *verdict) {
    char text[64];
    if (bp__kernel_off(problem, verdict->algorithm, text, sizeof text)) {
        bp__verdict_refuse(verdict, BP_REASON_EXCLUDED, text);
        return;
    }
    check_guarantees(problem, verdict);
    check_onednn(problem, candidate, verdict);
    check_threads(problem, candidate, verdict);
    bp__needs_check(problem, candidate, verdict);
    verdict->properties |= simulation_property(problem);
}
