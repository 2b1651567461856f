/* linalg.c - linear algebra of the native provider. */
#include "providers/native/part.h"

#include <stdio.h>

static void accept(const bp_host *host, const bp_problem *problem, bp_verdict *verdict) {
    (void)host;
    (void)problem;
    verdict->reason = BP_REASON_OP;
    snprintf(verdict->text, sizeof verdict->text, "not offered yet");
}

static bp_status plan(const bp_host *host, const bp_problem *problem, bp_prepared **prepared) {
    (void)problem;
    (void)prepared;
    return host->fail(BP_E_UNSUPPORTED, "the native provider was asked to plan a problem that it refused");
}

const bp__native_part bp__native_linalg = {accept, plan};
