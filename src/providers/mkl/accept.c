/* accept.c - decides whether MKL can run a transform, on how many threads, and estimates its cost. Pure. */
#include "providers/mkl/mkl.h"
#include "providers/transform/accept.h"

static bool takes(bp__driver *driver, const bp_problem *problem, bp_verdict *verdict) {
    if (!bp__transform_is_plain(problem, verdict)) {
        return false;
    }
    if (problem->dtype != BP_C64 && problem->dtype != BP_C128) {
        bp__driver_refuse(verdict, BP_REASON_DTYPE, "DFTI has transforms of f32, f64, c64 and c128 only");
        return false;
    }
    return bp__driver_usable(driver, verdict) && bp__transform_passed_check(driver->library, problem, verdict);
}

static void judge(bp__driver *driver, const bp_problem *problem, bp__mkl_judgement *judgement, bp_verdict *verdict) {
    const bp_policy *policy = &problem->policy;
    const bp_fft_problem *fft = &problem->of.fft;
    const char *why;
    if (!takes(driver, problem, verdict)) {
        return;
    }
    if (!bp__mkl_route_of(&judgement->route, problem, policy->deterministic == 2, &why)) {
        bp__driver_refuse(verdict, BP_REASON_LAYOUT, "%s", why);
        return;
    }
    int allowed = bp__driver_allowed(driver, policy);
    const bp__mkl_route *route = &judgement->route;
    bool gains = allowed > 1 && bp__mkl_cost(driver, fft, route, allowed) < bp__mkl_cost(driver, fft, route, 1);
    judgement->setup =
        bp__driver_thread_policy(driver, policy, !gains, gains); /* a descriptor can be limited to one thread */
    int threads = judgement->setup.threads;
    verdict->algorithm = route->stages > 1 ? "dfti, last dimension by itself" : "dfti";
    verdict->threads = threads;
    verdict->cost_ns = bp__mkl_cost(driver, fft, route, threads);
    verdict->properties = BP_PROPERTY_PROPAGATES_NAN |
                          (route->single ? BP_PROPERTY_ACCUMULATES_F32 : BP_PROPERTY_ACCUMULATES_F64) |
                          bp__driver_guarantees(driver, policy, &judgement->setup);
    bp__driver_enforce_policy(driver, policy, &judgement->setup, verdict);
}

void bp__mkl_accept(void *driver, const bp_problem *problem, bp_offers *offers) {
    bp__mkl_judgement judgement = {.setup.threads = 1};
    bp_verdict verdict = BP_VERDICT_INIT;
    judge(driver, problem, &judgement, &verdict);
    offers->add(offers, &verdict, &judgement, sizeof judgement);
}
