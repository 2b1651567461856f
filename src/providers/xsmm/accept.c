/* accept.c - decides whether libxsmm has a kernel for a product, on how many threads a batch runs, and estimates the
 * time. */
#include "providers/xsmm/xsmm.h"

/* Limit of m*n*k up to which libxsmm prefers its kernels by default: 64x64x64. Larger products need blocking for the
 * caches, which its kernels do not have. */
#define MOST_WORK ((double)(64 * 64 * 64))

static bool takes(bp__driver *driver, const bp_problem *problem, bp_verdict *verdict) {
    const bp_gemm_problem *g = &problem->of.gemm;
    if (problem->op != BP_OP_GEMM) {
        bp__driver_refuse(verdict, BP_REASON_OP, "it offers only matrix products");
    } else if (problem->dtype != BP_F32 && problem->dtype != BP_F64) {
        bp__driver_refuse(verdict, BP_REASON_DTYPE, "its kernels are used for f32 and f64 only");
    } else if (g->m == 0 || g->n == 0 || g->k == 0 || g->batch == 0) {
        bp__driver_refuse(verdict, BP_REASON_OTHER, "it has no kernel for empty operands");
    } else if ((double)g->m * (double)g->n * (double)g->k > MOST_WORK) {
        bp__driver_refuse(verdict, BP_REASON_OTHER, "its kernels are for small products, with m*n*k up to 262144");
    } else if (g->alpha != BP_FACTOR_ONE || g->beta == BP_FACTOR_ANY) {
        bp__driver_refuse(verdict, BP_REASON_OTHER, "its kernels have alpha 1, and beta 0 or 1");
    } else {
        return bp__driver_usable(driver, verdict);
    }
    return false;
}

static void judge(bp__driver *driver, const bp_problem *problem, bp__xsmm_judgement *judgement, bp_verdict *verdict) {
    const bp_policy *policy = &problem->policy;
    const bp__xsmm_route *route = &judgement->route;
    const bp__thread_setup setup = {.threads = 1};
    if (!takes(driver, problem, verdict)) {
        return;
    }
    const char *why = bp__xsmm_route_of(&judgement->route, problem, driver);
    if (why) {
        bp__driver_refuse(verdict, BP_REASON_LAYOUT, "%s", why);
        return;
    }
    why = bp__xsmm_unavailable(driver, route);
    if (why) {
        bp__driver_refuse(verdict, BP_REASON_OTHER, "%s", why);
        return;
    }
    double alone = bp__xsmm_alone_ns(driver, route);
    int sharers = bp__xsmm_sharers(route, alone, bp__driver_callers(driver, policy));
    double shared = bp__xsmm_shared_ns(alone, sharers);
    judgement->sharers = shared < alone ? sharers : 1;
    verdict->algorithm = route->batch.count > 1 ? "jit per product" : "jit";
    verdict->threads = judgement->sharers;
    verdict->cost_ns = shared < alone ? shared : alone;
    /* One thread computes an item, with the same kernel at any index of a batch. */
    verdict->properties = BP_PROPERTY_PROPAGATES_NAN |
                          (route->single ? BP_PROPERTY_ACCUMULATES_F32 : BP_PROPERTY_ACCUMULATES_F64) |
                          bp__driver_guarantees(driver, policy, &setup);
    bp__driver_enforce_policy(driver, policy, &setup, verdict);
}

void bp__xsmm_accept(void *driver, const bp_problem *problem, bp_offers *offers) {
    bp__xsmm_judgement judgement = {.sharers = 1};
    bp_verdict verdict = BP_VERDICT_INIT;
    judge(driver, problem, &judgement, &verdict);
    offers->add(offers, &verdict, &judgement, sizeof judgement);
}
