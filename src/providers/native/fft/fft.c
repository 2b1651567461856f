/* fft.c - offers and plans Fourier transforms of the native provider. */
#include "choose.h"
#include "providers/native/family.h"

static void accept(const bp_host *host, const bp_problem *problem, bp_offers *offers) {
    bp__fft_choice *choice = host->scratch(sizeof *choice); /* large: not on the stack */
    if (!choice) {
        bp__native_refuse(offers, BP_REASON_MEMORY, "no memory for the description of the transform");
        return;
    }
    bp_reason reason = bp__fft_choose(host, problem, choice);
    if (reason != BP_REASON_ACCEPTED) {
        bp__native_refuse(offers, reason, "only plain transforms of c64 and c128 are offered");
        return;
    }
    bp_verdict verdict = BP_VERDICT_INIT;
    verdict.algorithm = choice->algorithm;
    verdict.properties = BP_PROPERTY_REPRODUCIBLE | BP_PROPERTY_THREAD_INVARIANT | BP_PROPERTY_PROPAGATES_NAN |
                         (choice->f64 ? BP_PROPERTY_ACCUMULATES_F64 : BP_PROPERTY_ACCUMULATES_F32);
    verdict.threads = choice->threads;
    verdict.cost_ns = choice->cost_ns;
    offers->add(offers, &verdict, choice, sizeof *choice);
}

static bp_status plan(const bp_host *host, const bp_problem *problem, const void *found, bp_prepared **prepared) {
    (void)problem;
    return bp__fft_prepare(host, found, prepared);
}

const bp__native_family bp__native_fft = {accept, plan};
