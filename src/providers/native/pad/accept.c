/* accept.c - offers and plans calls that pad, reverse and rotate tensors of the native provider. */
#include "pad.h"

#include "providers/native/family.h"
#include "providers/native/gemm/choose.h"

/* Returns the estimated time on one thread: for each row, and for elements that are copied together or one by one. */
static double cost_of(const bp_problem *problem) {
    const bp_pad_problem *p = &problem->of.pad;
    const int last = p->ndim - 1;
    double rows = 1, all = 1;
    for (int d = 0; d < p->ndim; d++) {
        rows *= d < last ? (double)p->size[d] : 1;
        all *= (double)p->size[d];
    }
    const bool together = last < 0 || (p->x[last] == 1 && p->y[last] == 1),
               flipped = last >= 0 && p->flipped >> last & 1;
    return 100 + 15 * rows + all * (!together ? 0.8 : flipped ? 0.3 : 0.2);
}

static void accept(const bp_host *host, const bp_problem *problem, bp_offers *offers) {
    bp_verdict verdict = BP_VERDICT_INIT;
    const double alone = cost_of(problem);
    const int threads = bp__native_worth(alone, problem->policy.threads);
    (void)host;
    verdict.algorithm = "rows";
    verdict.properties = BP_PROPERTY_REPRODUCIBLE | BP_PROPERTY_THREAD_INVARIANT | BP_PROPERTY_PROPAGATES_NAN;
    verdict.threads = threads;
    verdict.cost_ns = threads > 1 ? alone / (0.95 * threads) + 4000 : alone;
    offers->add(offers, &verdict, &threads, sizeof threads);
}

static bp_status plan(const bp_host *host, const bp_problem *problem, const void *found, bp_prepared **prepared) {
    return bp__native_pad_plan(host, problem, *(const int *)found, prepared);
}

const bp__native_family bp__native_pad = {accept, plan};
