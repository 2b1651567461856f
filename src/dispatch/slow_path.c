/* slow_path.c - runs a call that misses the thread cache.
 *
 * It gets or makes the plan, runs it, and tries the next candidate if the library fails. Products and all other
 * operations use it. */
#include "dispatch/thread_cache.h"
#include "dispatch/needs.h"
#include "base/uncancelled.h"

/* A library without scratch memory or unusable after fork is replaced by the next candidate. Its output is untouched
 * then. */
static bool another_may_run(bp_status status) {
    return status == BP_E_NO_MEMORY || status == BP_E_FORKED || status == BP_E_UNSUPPORTED;
}

static bp_status run_observed(bp__runner run, const void *call, const bp_plan *plan, bool fresh) {
    bp__memory kept;
    bp__thread_observe();
    const bool observed = bp__thread.observed; /* calls in interrupt checks may change it */
    bool due = bp__count_run(plan), timed = due || observed;
    int64_t start = timed ? bp__now_ns() : 0;
    bp_status status = bp__needs_enter(plan, &kept);
    if (status == BP_OK) {
        status = run(call, plan);
        bp__needs_leave(plan, &kept, status);
    }
    int64_t end = timed ? bp__now_ns() : 0;
    if (observed) {
        bp__trace_call(plan, fresh, start, end, status);
    }
    if (due && status == BP_OK) {
        bp__tune_due(plan, NULL, (double)(end - start));
    }
    return status;
}

/* A call that failed, and what may run in its place. */
typedef struct substitution {
    const bp_problem *problem;
    bp__runner run;
    const void *call;
    bp__failures failures;
} substitution;

/* Whether something may run after this failure: one thread, or, once, another candidate. */
static bool may_try(const substitution *s, const bp_verdict *verdict, bp_status status) {
    return s->problem->policy.fallback != 0 ? s->failures.count == 0
                                            : bp__failures_try_one_thread(&s->failures, verdict, status);
}

/* Makes and runs a plan after the failure of another one, which is in `failures`. */
static bp_status run_second(substitution *s, const bp__candidate *failed, const char *failure, bp_status status,
                            bp_plan **second) {
    const int fallback = s->problem->policy.fallback;
    if (bp__plan_make(second, s->problem, &s->failures) != BP_OK) {
        *second = NULL;
        return bp__fail(status, "%s", failure);
    }
    const bool other = (*second)->candidate != failed; /* it may be the same one, on one thread */
    if (other && fallback == 0) {
        return bp__fail(status, "%s", failure);
    }
    if (other && fallback == 1) {
        bp__warn("'%s' failed (%s); '%s' runs instead", bp__candidate_id(failed), failure,
                 bp__candidate_id((*second)->candidate));
    }
    return run_observed(s->run, s->call, *second, true);
}

/* Runs what may succeed after a failure: the same library on one thread, then another candidate. */
static bp_status run_another(substitution *s, const bp_plan *failed_plan, bp_status status) {
    const bp__candidate *failed = failed_plan->candidate;
    char failure[512];
    bp_plan *second;
    bp__copy_text(failure, sizeof failure, bp_last_error());
    if (bp__failures_add(&s->failures, failed, &failed_plan->verdict, status, failure) != BP_OK) {
        return bp__fail(status, "%s", failure);
    }
    status = run_second(s, failed, failure, status, &second);
    if (second && another_may_run(status) && may_try(s, &second->verdict, status)) {
        status = run_another(s, second, status);
        bp__plan_release(second);
    } else if (second) {
        bp__thread_cache_keep_stand_in(second);
    }
    return status;
}

static bp_status plan_and_run(const bp_problem *problem, bp__runner run, const void *call, bp_plan **ran) {
    BP__UNCANCELLED;
    bp_plan *plan;
    bool fresh;
    *ran = NULL;
    bp_status status = bp__cache_get(&plan, problem, &fresh);
    if (status != BP_OK) {
        return bp__distributed_conclude(problem, NULL, status);
    }
    status = run_observed(run, call, plan, fresh);
    bool library_failed = another_may_run(status) && !bp__adapted(problem); /* else the adapter's copies may have failed
                                                                             */
    substitution s = {problem, run, call, {0}};
    if (library_failed && may_try(&s, &plan->verdict, status)) {
        status = run_another(&s, plan, status);
        bp__failures_free(&s.failures);
        bp__plan_release(plan);
        return status;
    }
    *ran = plan;
    return status;
}

/* If another candidate runs, the failure of the first one is no error of the call. */
bp_status bp__plan_and_run(const bp_problem *problem, bp__runner run, const void *call, bp_plan **ran) {
    bp__held_error held;
    bp__error_hold(&held);
    return bp__error_finish(&held, plan_and_run(problem, run, call, ran));
}
