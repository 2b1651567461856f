/* accept.c - decides whether FFTW can run a transform, how it is planned, its threads and guarantees. Pure. */
#include "providers/fftw/fftw.h"
#include "providers/transform/accept.h"

#include <stdarg.h>
#include <stdio.h>

/* Values of bp_policy.fft_planner, in the order of the setting fftw.planner. */
enum { PLANNER_AUTO, PLANNER_ESTIMATE, PLANNER_MEASURE, PLANNER_PATIENT };

/* Time limit of measuring with the planner `auto`. FFTW then takes the best plan found so far. */
#define AUTO_SECONDS 0.5

/* Measuring overwrites memory of the size of the operands. Above this number of bytes one transform takes much of the
 * time limit, so that little could be measured. */
#define MOST_MEASURED ((int64_t)256 << 20)

static void refuse(bp_verdict *verdict, bp_reason reason, const char *format, ...) BP_PRINTF(3, 4);

static void refuse(bp_verdict *verdict, bp_reason reason, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(verdict->text, sizeof verdict->text, format, args);
    va_end(args);
    verdict->reason = reason;
}

static bool takes_type(const bp__fftw_instance *instance, const bp_problem *problem, bp_verdict *verdict) {
    uint32_t own = instance->single ? BP_C64 : BP_C128;
    if (instance->role == BP__FFTW_WIDER) {
        refuse(verdict, BP_REASON_DTYPE, "its element type is wider than any tensor's");
    } else if (problem->dtype != own) {
        refuse(verdict, BP_REASON_DTYPE, "it transforms %s; another library has the other precision",
               instance->single ? "f32 and c64 only" : "f64 and c128 only");
    }
    return verdict->reason == BP_REASON_ACCEPTED;
}

static bool can_run(const bp__fftw_instance *instance, const bp_problem *problem, bp_verdict *verdict) {
    if (!bp__transform_is_plain(problem, verdict)) {
        return false;
    }
    if (instance->role == BP__FFTW_THREADS) {
        refuse(verdict, BP_REASON_OP,
               "this file holds only FFTW's threads; the transforms are in the library next to it");
    } else if (bp__fftw_unusable(instance->host)) {
        refuse(verdict, BP_REASON_FORKED, "a thread was inside its planner when this process was forked");
    } else {
        return takes_type(instance, problem, verdict) &&
               bp__transform_passed_check(instance->library, problem, verdict);
    }
    return false;
}

static void choose_effort(const bp_policy *policy, bp__fftw_judgement *judgement) {
    const bp__fftw_route *route = &judgement->route;
    int64_t bytes = route->in.span * route->in.size + route->out.span * route->out.size;
    judgement->limit_s = policy->fft_planner == PLANNER_AUTO ? AUTO_SECONDS : BP__FFTW_NO_TIME_LIMIT;
    if (judgement->repeats || policy->fft_planner == PLANNER_ESTIMATE || bytes > MOST_MEASURED) {
        judgement->effort = BP__FFTW_BY_ESTIMATE;
    } else {
        judgement->effort = policy->fft_planner == PLANNER_PATIENT ? BP__FFTW_BY_PATIENCE : BP__FFTW_BY_MEASURE;
    }
}

static double cost(const bp__fftw_instance *instance, const bp_problem *problem, const bp__fftw_judgement *judgement,
                   int threads) {
    return bp__fftw_cost(&problem->of.fft, &judgement->route, instance->single, judgement->effort, threads);
}

static void choose_threads(bp__fftw_instance *instance, const bp_problem *problem, bp__fftw_judgement *judgement) {
    int allowed = problem->policy.threads;
    judgement->threads = 1;
    if (allowed > 1 && problem->policy.deterministic < 2 && bp__fftw_has_threads(instance) &&
        cost(instance, problem, judgement, allowed) < cost(instance, problem, judgement, 1)) {
        judgement->threads = allowed;
    }
}

static const char *algorithm_of(bp__fftw_effort effort) {
    return effort == BP__FFTW_BY_ESTIMATE  ? "plan by estimate"
           : effort == BP__FFTW_BY_MEASURE ? "plan by measurement"
                                           : "plan by patient measurement";
}

void bp__fftw_judge(bp__fftw_instance *instance, const bp_problem *problem, bp__fftw_judgement *judgement,
                    bp_verdict *verdict) {
    if (!can_run(instance, problem, verdict)) {
        return;
    }
    const bp_policy *policy = &problem->policy;
    judgement->repeats = policy->deterministic > 0;
    bp__fftw_route_of(&judgement->route, problem, policy->deterministic == 2);
    if (judgement->route.unplannable) {
        refuse(verdict, BP_REASON_LAYOUT, "its planner may never end if some strides are negative and others positive");
        return;
    }
    choose_effort(policy, judgement);
    choose_threads(instance, problem, judgement);
    verdict->algorithm = algorithm_of(judgement->effort);
    verdict->threads = judgement->threads;
    verdict->properties = BP_PROPERTY_PROPAGATES_NAN |
                          (instance->single ? BP_PROPERTY_ACCUMULATES_F32 : BP_PROPERTY_ACCUMULATES_F64) |
                          (judgement->repeats ? BP_PROPERTY_REPRODUCIBLE : 0) |
                          (policy->deterministic == 2 ? BP_PROPERTY_THREAD_INVARIANT : 0);
    verdict->cost_ns = cost(instance, problem, judgement, judgement->threads);
    snprintf(verdict->text, sizeof verdict->text, "%s%s%s",
             judgement->route.copies ? "copies the input, which FFTW would destroy" : "",
             judgement->route.copies && judgement->repeats ? "; " : "",
             judgement->repeats ? "uses an estimated plan, since measured plans differ between runs" : "");
}

void bp__fftw_accept(void *instance, const bp_problem *problem, bp_offers *offers) {
    bp__fftw_judgement judgement = {.threads = 1};
    bp_verdict verdict = BP_VERDICT_INIT;
    bp__fftw_judge(instance, problem, &judgement, &verdict);
    offers->add(offers, &verdict, &judgement, sizeof judgement);
}
