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
    bool due = bp__count_run(plan), timed = due || bp__thread.observed;
    int64_t start = timed ? bp__now_ns() : 0;
    bp_status status = bp__needs_enter(plan, &kept);
    if (status == BP_OK) {
        status = run(call, plan);
        bp__needs_leave(plan, &kept, status);
    }
    int64_t end = timed ? bp__now_ns() : 0;
    if (bp__thread.observed) {
        bp__trace_call(plan, fresh, start, end, status);
    }
    if (due && status == BP_OK) {
        bp__tune_due(plan, NULL, (double)(end - start));
    }
    return status;
}

static bp_status run_another(const bp_problem *problem, bp__runner run, const void *call, const bp_plan *failed_plan,
                             bp_status status) {
    bp_plan *second;
    bp__failures failures = {0};
    char failure[512];
    bp__copy_text(failure, sizeof failure, bp_last_error());
    bp_status made =
        bp__failures_add(&failures, failed_plan->candidate, failed_plan->verdict.algorithm, status, failure);
    made = made == BP_OK ? bp__plan_make(&second, problem, &failures) : made;
    bp__failures_free(&failures);
    if (made != BP_OK) {
        return bp__fail(status, "%s", failure);
    }
    if (problem->policy.fallback == 1) {
        bp__warn("'%s' failed (%s); '%s' runs instead", bp__candidate_id(failed_plan->candidate), failure,
                 bp__candidate_id(second->candidate));
    }
    status = run_observed(run, call, second, true);
    bp__thread_cache_keep_stand_in(second);
    return status;
}

static bp_status plan_and_run(const bp_problem *problem, bp__runner run, const void *call, bp_plan **ran) {
    BP__UNCANCELLED;
    bp_plan *plan;
    bool fresh;
    *ran = NULL;
    BP__TRY(bp__cache_get(&plan, problem, &fresh));
    bp_status status = run_observed(run, call, plan, fresh);
    bool library_failed = another_may_run(status) && !bp__adapted(problem); /* else the adapter's copies may have failed
                                                                             */
    if (library_failed && problem->policy.fallback != 0) {
        status = run_another(problem, run, call, plan, status);
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
