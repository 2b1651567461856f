/* fft.c - Fourier transforms of the native provider: verdicts and plans. */
#include "choose.h"
#include "providers/native/part.h"

#include <stdio.h>

static void accept(const bp_host *host, const bp_problem *problem, bp_verdict *verdict) {
    bp__fft_choice choice;
    verdict->reason = bp__fft_choose(host, problem, &choice);
    if (verdict->reason != BP_REASON_ACCEPTED) {
        snprintf(verdict->text, sizeof verdict->text, "only plain transforms of c64 and c128 are offered");
        return;
    }
    verdict->algorithm = choice.algorithm;
    verdict->notes = BP_NOTE_SAME_RUN | BP_NOTE_SAME_THREADS | BP_NOTE_PROPAGATES_NAN |
                     (choice.f64 ? BP_NOTE_ACCUMULATES_F64 : BP_NOTE_ACCUMULATES_F32);
    verdict->threads = choice.threads;
    verdict->cost_ns = choice.cost_ns;
}

static bp_status plan(const bp_host *host, const bp_problem *problem, bp_prepared **prepared) {
    bp__fft_choice choice;
    if (bp__fft_choose(host, problem, &choice) != BP_REASON_ACCEPTED) {
        return host->fail(BP_E_UNSUPPORTED, "the native provider was asked to plan a problem that it refused");
    }
    return bp__fft_prepare(host, &choice, prepared);
}

const bp__native_part bp__native_fft = {accept, plan};
