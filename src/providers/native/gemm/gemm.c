/* gemm.c - offers and plans matrix products of the native provider. */
#include "choose.h"
#include "providers/native/family.h"

static uint32_t properties_of(const bp_problem *problem, const bp__native_choice *choice) {
    uint32_t properties = BP_PROPERTY_REPRODUCIBLE | BP_PROPERTY_THREAD_INVARIANT | BP_PROPERTY_ROW_INVARIANT;
    if (bp_gemm_type(problem, problem->of.gemm.c_type) != BP_I32) { /* integers have no NaN, and nothing is rounded */
        properties |= BP_PROPERTY_PROPAGATES_NAN;
        properties |= problem->dtype == BP_F64 || problem->dtype == BP_C128 ? BP_PROPERTY_ACCUMULATES_F64
                                                                            : BP_PROPERTY_ACCUMULATES_F32;
    }
    if (choice->path == BP__PATH_PACKED) {
        properties |= BP_PROPERTY_PACKS_A | BP_PROPERTY_PACKS_B | (choice->kernels->widen ? BP_PROPERTY_PACKS_C : 0);
        properties |= choice->kernels->pair && problem->dtype == BP_F32 ? BP_PROPERTY_ROUNDS_BELOW_TF32 : 0;
    } else if (choice->path == BP__PATH_SMALL && bp__native_small_packs(choice)) {
        properties |= choice->transposed ? BP_PROPERTY_PACKS_B : BP_PROPERTY_PACKS_A;
        properties |= choice->kernels->s_columns > 0 ? BP_PROPERTY_PACKS_A | BP_PROPERTY_PACKS_B : 0;
    }
    return properties;
}

static void offer(const bp_problem *problem, const bp__native_choice *choice, bp_offers *offers) {
    bp_verdict verdict = BP_VERDICT_INIT;
    verdict.algorithm = choice->algorithm;
    verdict.properties = properties_of(problem, choice);
    verdict.threads = choice->threads;
    verdict.cost_ns = choice->cost_ns;
    verdict.packs = bp__native_packs(choice);
    offers->add(offers, &verdict, choice, sizeof *choice);
}

static void accept(const bp_host *host, const bp_problem *problem, bp_offers *offers) {
    bp__native_choice choices[BP__NATIVE_PATHS];
    const int count = bp__native_choose(host, problem, choices);
    if (count == 0) {
        bp__native_refuse(offers, BP_REASON_DTYPE, "only f16, bf16, f32, f64, c64, c128, i8 and u8 are offered");
    }
    for (int i = 0; i < count; i++) {
        offer(problem, &choices[i], offers);
    }
    const bp__native_kernels *pairs = bp__native_bf16_kernels(host, problem, offers);
    if (pairs && bp__native_choose_bf16(host, problem, pairs, &choices[0])) {
        offer(problem, &choices[0], offers);
    }
}

static bp_status plan(const bp_host *host, const bp_problem *problem, const void *found, bp_prepared **prepared) {
    return bp__native_prepare(host, found, &problem->of.gemm, prepared);
}

const bp__native_family bp__native_gemm = {accept, plan};
