/* accept.c - decides whether a library can run a product, with which threads, guarantees and estimated cost.
 *
 * Pure: it reads only the problem, the library's properties and its entry in families.c.
 */
#include "providers/blas/blas.h"

#include <stdio.h>

static bool takes_type(const bp_problem *problem, bp_verdict *verdict) {
    switch (problem->dtype) {
    case BP_F32:
    case BP_F64:
    case BP_C64:
    case BP_C128:
        return true;
    case BP_F16:
    case BP_BF16:
        bp__driver_refuse(verdict, BP_REASON_DTYPE, "BLAS has no routine for half precision; native has one");
        return false;
    default:
        bp__driver_refuse(verdict, BP_REASON_DTYPE, "BLAS has routines for f32, f64, c64 and c128 only");
        return false;
    }
}

static bool can_run(bp__driver *driver, const bp_problem *problem, bp_verdict *verdict) {
    if (problem->op != BP_OP_GEMM) {
        bp__driver_refuse(verdict, BP_REASON_OP, "it offers only matrix products");
        return false;
    }
    return takes_type(problem, verdict) && bp__driver_usable(driver, verdict);
}

/* ---- Threads ---- */

/* Returns whether the library stays on one thread for this size, whatever its thread count is. Then no count is set. */
static bool stays_alone(const bp__driver_family *family, const bp__blas_route *route) {
    double work = (double)route->first.rows * (double)route->first.columns;
    if (route->kind == BP__BLAS_GEMV) {
        return work < (double)family->own_gemv;
    }
    const int64_t side = family->own_side > 0 ? family->own_side : INT64_MAX;
    return route->kind <= BP__BLAS_SCALE || (work * (double)route->n <= (double)family->own_gemm && route->m <= side &&
                                             route->n <= side && route->k <= side);
}

static bp__thread_setup choose_threads(const bp__driver *driver, const bp_policy *policy, const bp__blas_route *route) {
    int allowed = bp__driver_allowed(driver, policy);
    bool gains = allowed > 1 && bp__blas_cost(driver, route, allowed) < bp__blas_cost(driver, route, 1);
    return bp__driver_thread_policy(driver, policy, stays_alone(driver->family, route), gains);
}

/* ---- Guarantees ---- */

static uint32_t reproducibility_of(const bp__driver *driver, const bp_problem *problem,
                                   const bp__blas_judgement *judgement) {
    const bp__blas_route *route = &judgement->route;
    if (route->kind <= BP__BLAS_SCALE) {
        return BP_PROPERTY_REPRODUCIBLE | BP_PROPERTY_THREAD_INVARIANT;
    }
    uint32_t properties = bp__driver_guarantees(driver, &problem->policy, &judgement->setup);
    return route->folded ? properties & ~BP_PROPERTY_THREAD_INVARIANT
                         : properties; /* rounding depends on the position in the batch */
}

static uint32_t properties_of(const bp__driver *driver, const bp_problem *problem,
                              const bp__blas_judgement *judgement) {
    const bp__blas_route *route = &judgement->route;
    bool wide = problem->dtype == BP_F64 || problem->dtype == BP_C128;
    uint32_t properties = wide ? BP_PROPERTY_ACCUMULATES_F64 : BP_PROPERTY_ACCUMULATES_F32;
    properties |= reproducibility_of(driver, problem, judgement);
    if (route->kind == BP__BLAS_GEMM ? driver->family->gemm_nan
                                     : route->kind == BP__BLAS_GEMV && driver->family->gemv_nan) {
        properties |= BP_PROPERTY_PROPAGATES_NAN;
    }
    bool packs_a = (route->swap ? &route->second : &route->first)->packs;
    bool packs_b = (route->swap ? &route->first : &route->second)->packs;
    return properties | (packs_a ? BP_PROPERTY_PACKS_A : 0) | (packs_b ? BP_PROPERTY_PACKS_B : 0) |
           (route->c.packs ? BP_PROPERTY_PACKS_C : 0);
}

static void explain_copies(const bp__blas_route *route, char *text, size_t size) {
    const char *names[] = {route->swap ? "B" : "A", route->swap ? "A" : "B", "C"};
    const bp__blas_matrix *all[] = {&route->first, &route->second, &route->c};
    size_t length = 0;
    for (int i = 0; i < 3; i++) {
        if (all[i]->packs && length < size) {
            int more =
                snprintf(text + length, size - length, "%scopies %s: %s", length ? "; " : "", names[i], all[i]->packs);
            length += more > 0 ? (size_t)more : 0;
        }
    }
}

static const char *algorithm_of(const bp__blas_route *route) {
    switch (route->kind) {
    case BP__BLAS_NOTHING:
        return "nothing to do";
    case BP__BLAS_SCALE:
        return "scale";
    case BP__BLAS_GEMV:
        return route->batch.count > 1 ? "gemv per product" : "gemv";
    case BP__BLAS_GEMM:
        break;
    }
    return route->folded ? "gemm over the batch" : route->batch.count > 1 ? "gemm per product" : "gemm";
}

/* Returns whether the probe found that the routine stays within its operands. */
static bool passed_check(const bp__driver *driver, const bp_problem *problem, bp__blas_kind kind, bp_verdict *verdict) {
    const bp_check check = kind == BP__BLAS_GEMV ? BP_CHECK_GEMV : BP_CHECK_GEMM;
    return kind <= BP__BLAS_SCALE || bp__driver_passed_check(driver, check, problem->dtype, verdict);
}

static void judge(bp__driver *driver, const bp_problem *problem, bp__blas_ways ways, bp__blas_judgement *judgement,
                  bp_verdict *verdict) {
    bp__blas_route *route = &judgement->route;
    if (!bp__blas_route_of(route, problem, driver->int_max, ways, verdict->text, sizeof verdict->text)) {
        verdict->reason = BP_REASON_SIZE;
        return;
    }
    verdict->algorithm = algorithm_of(route);
    if (!passed_check(driver, problem, route->kind, verdict)) {
        return;
    }
    judgement->setup = choose_threads(driver, &problem->policy, route);
    int threads = judgement->setup.threads;
    verdict->threads = threads;
    verdict->properties = properties_of(driver, problem, judgement);
    verdict->cost_ns = bp__blas_cost(driver, route, threads > 1 ? threads : 1);
    if (threads == 0) {
        snprintf(verdict->text, sizeof verdict->text, "its thread count can neither be set nor read");
    } else {
        explain_copies(route, verdict->text, sizeof verdict->text);
    }
    bp__driver_enforce_policy(driver, &problem->policy, &judgement->setup, verdict);
}

/* Offers one variant and returns its route. The cost of a later variant is raised to at least `least`: the cost model
 * cannot tell that it gains, so it runs only if the caller names it. */
static bp__blas_route offer(bp__driver *driver, const bp_problem *problem, bp__blas_ways ways, double least,
                            double *cost_ns, bp_offers *offers) {
    bp__blas_judgement judgement = {.setup.threads = 1};
    bp_verdict verdict = BP_VERDICT_INIT;
    judge(driver, problem, ways, &judgement, &verdict);
    verdict.cost_ns = verdict.cost_ns < least ? least : verdict.cost_ns;
    *cost_ns = verdict.cost_ns;
    offers->add(offers, &verdict, &judgement, sizeof judgement);
    return judgement.route;
}

/* Offers gemv for products with a vector, and gemm as well, because gemm rounds as it does in larger products. Offers
 * one large call for a batch if its strides allow, and also one call per product. */
void bp__blas_accept(void *instance, const bp_problem *problem, bp_offers *offers) {
    bp__driver *driver = instance;
    bp_verdict refusal = BP_VERDICT_INIT;
    double cost, other;
    if (!can_run(driver, problem, &refusal)) {
        offers->add(offers, &refusal, NULL, 0);
        return;
    }
    bp__blas_ways ways = {.fold = problem->policy.deterministic < 2};
    bp__blas_route route = offer(driver, problem, ways, 0, &cost, offers);
    if (route.kind == BP__BLAS_GEMV) {
        offer(driver, problem, (bp__blas_ways){.fold = ways.fold, .gemm = true}, 1.01 * cost, &other, offers);
    } else if (route.folded) {
        offer(driver, problem, (bp__blas_ways){.fold = false}, 1.01 * cost, &other, offers);
    }
}
