/* gemm.c - matrix products of the native provider: its candidates and plans. */
#include "choose.h"
#include "part.h"

static uint32_t notes_of(const bp_problem *problem, const bp__native_choice *choice) {
    uint32_t notes = BP_NOTE_SAME_RUN | BP_NOTE_SAME_THREADS | BP_NOTE_PROPAGATES_NAN;
    notes |= problem->dtype == BP_F64 || problem->dtype == BP_C128 ? BP_NOTE_ACCUMULATES_F64 : BP_NOTE_ACCUMULATES_F32;
    if (choice->path == BP__PATH_PACKED) {
        notes |= BP_NOTE_PACKS_A | BP_NOTE_PACKS_B | (choice->kernels->widen ? BP_NOTE_PACKS_C : 0);
    } else if (choice->path == BP__PATH_SMALL && (choice->view.v_p != 1 || choice->kernels->complex)) {
        notes |= choice->transposed ? BP_NOTE_PACKS_B : BP_NOTE_PACKS_A;
    }
    return notes;
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
        verdict.notes = notes_of(problem, &choices[i]);
        verdict.threads = choices[i].threads;
        verdict.cost_ns = choices[i].cost_ns;
        verdict.packs = bp__native_packs(&choices[i]);
        offers->add(offers, &verdict, &choices[i], sizeof choices[i]);
    }
}

static bp_status plan(const bp_host *host, const bp_problem *problem, const void *found, bp_prepared **prepared) {
    return bp__native_prepare(host, found, &problem->of.gemm, prepared);
}

const bp__native_part bp__native_gemm = {accept, plan};
