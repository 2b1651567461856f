/* gemm.c - offers and plans matrix products of the native provider. */
#include "choose.h"
#include "family.h"

static uint32_t properties_of(const bp_problem *problem, const bp__native_choice *choice) {
    uint32_t properties = BP_PROPERTY_REPRODUCIBLE | BP_PROPERTY_THREAD_INVARIANT | BP_PROPERTY_PROPAGATES_NAN;
    properties |= problem->dtype == BP_F64 || problem->dtype == BP_C128 ? BP_PROPERTY_ACCUMULATES_F64
                                                                        : BP_PROPERTY_ACCUMULATES_F32;
    if (choice->path == BP__PATH_PACKED) {
        properties |= BP_PROPERTY_PACKS_A | BP_PROPERTY_PACKS_B | (choice->kernels->widen ? BP_PROPERTY_PACKS_C : 0);
    } else if (choice->path == BP__PATH_SMALL && bp__native_small_packs(choice)) {
        properties |= choice->transposed ? BP_PROPERTY_PACKS_B : BP_PROPERTY_PACKS_A;
    }
    return properties;
}

static void accept(const bp_host *host, const bp_problem *problem, bp_offers *offers) {
    bp__native_choice choices[BP__NATIVE_PATHS];
    const int count = bp__native_choose(host, problem, choices);
    if (count == 0) {
        bp__native_refuse(offers, BP_REASON_DTYPE, "only f16, bf16, f32, f64, c64 and c128 are offered");
    }
    for (int i = 0; i < count; i++) {
        bp_verdict verdict = BP_VERDICT_INIT;
        verdict.algorithm = choices[i].algorithm;
        verdict.properties = properties_of(problem, &choices[i]);
        verdict.threads = choices[i].threads;
        verdict.cost_ns = choices[i].cost_ns;
        verdict.packs = bp__native_packs(&choices[i]);
        offers->add(offers, &verdict, &choices[i], sizeof choices[i]);
    }
}

static bp_status plan(const bp_host *host, const bp_problem *problem, const void *found, bp_prepared **prepared) {
    return bp__native_prepare(host, found, &problem->of.gemm, prepared);
}

const bp__native_family bp__native_gemm = {accept, plan};
