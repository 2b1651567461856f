/* tune_due.c - decides when a problem class is worth measuring, and when a plan that memory was too short for is made
 * again.
 *
 * A class is measured when its calls have taken WORTH times what measuring is expected to take, and all measuring takes
 * at most one part in WORTH of the time of all counted calls. The time of a call is taken at few of its runs, so that
 * counting costs nothing else. A plan is made again, because memory may have become free, when its runs have taken
 * WORTH times what the choice took: it costs little, too, if the limit is permanent. */
#include "dispatch/thread_cache.h"
#include "base/uncancelled.h"
#include "dispatch/times/tune.h"

#include "machine/internal.h"
#include "machine/pool.h"

#include <math.h>

enum { WORTH = 50, FIRST_TIMED = 4 };

/* Time of the calls of classes that were considered, and of measuring that no caller asked for. */
static atomic_llong called_ns, measured_ns;

void bp__tune_schedule(bp_plan *plan, const bp__choice *choice) {
    const bp_policy *policy = &plan->problem.policy;
    bool open = bp__benchmark_mode(policy) == BP__BENCHMARK_AUTO && policy->deterministic == 0 && !choice->measured;
    plan->due_ns = plan->short_of_memory ? (double)(bp__now_ns() - choice->since_ns) + 1
                   : open                ? bp__tune_cost(choice)
                                         : 0;
    atomic_init(&plan->due, plan->due_ns > 0 ? FIRST_TIMED : UINT64_MAX);
}

/* Removes the plan from the caches, in other threads at their next run of it. */
static void forget(bp_plan *plan) {
    bp__cache_forget(plan);
    atomic_store_explicit(&plan->replaced, true, memory_order_release);
    atomic_store_explicit(&plan->due, 0, memory_order_relaxed);
    bp__thread_cache_forget(plan);
}

/* Considers the class again after some more runs, at most twice as many as before. */
static void postpone(bp_plan *plan, double more) {
    uint64_t runs = atomic_load_explicit(&plan->runs, memory_order_relaxed);
    uint64_t step = more < (double)runs ? (uint64_t)more + 1 : runs + 1;
    atomic_store_explicit(&plan->due, runs + step, memory_order_relaxed);
}

static double least_ns(bp_plan *plan, double ns) {
    uint64_t least = atomic_load_explicit(&plan->least_ns, memory_order_relaxed);
    uint64_t now = ns < 1 ? 1 : (uint64_t)ns;
    if (least == 0 || now < least) {
        atomic_store_explicit(&plan->least_ns, now, memory_order_relaxed);
        least = now;
    }
    return (double)least;
}

/* Adds the time of the plan's runs to the time of all calls; returns the time of its own. */
static double count_time(bp_plan *plan, double each) {
    uint64_t runs = atomic_load_explicit(&plan->runs, memory_order_relaxed);
    uint64_t total = (uint64_t)((double)runs * each);
    uint64_t before = atomic_load_explicit(&plan->counted_ns, memory_order_relaxed);
    if (total > before) {
        atomic_store_explicit(&plan->counted_ns, total, memory_order_relaxed);
        atomic_fetch_add_explicit(&called_ns, (long long)(total - before), memory_order_relaxed);
    }
    return (double)total;
}

/* Measures the class of a plan. Scratch memory and the last plan of the thread stay as the call has them. */
static bp__tune_result measure(const bp_plan *plan, const bp_operand *operands) {
    const uint64_t last = bp__thread.last_serial;
    const int64_t start = bp__now_ns();
    bp__scratch_held held;
    bp__scratch_hold(&held);
    const bp__tune_result result = bp__tune_problem(&plan->problem, operands);
    bp__scratch_return(&held);
    atomic_fetch_add_explicit(&measured_ns, bp__now_ns() - start, memory_order_relaxed);
    bp__thread.last_serial = last;
    return result;
}

void bp__tune_due(const bp_plan *given, const bp_operand *operands, double ns) {
    BP__UNCANCELLED;
    bp_plan *plan = (bp_plan *)given; /* the counters do not belong to the plan's value */
    if (atomic_load_explicit(&plan->replaced, memory_order_acquire)) {
        bp__thread_cache_forget(plan);
        return;
    }
    const double each = least_ns(plan, ns), total = count_time(plan, each), wanted = WORTH * plan->due_ns;
    if (total < wanted) {
        postpone(plan, (wanted - total) / each);
        return;
    }
    if (plan->short_of_memory) {
        forget(plan);
        return;
    }
    const double all = (double)atomic_load_explicit(&called_ns, memory_order_relaxed);
    const double spent = (double)atomic_load_explicit(&measured_ns, memory_order_relaxed);
    if ((spent + plan->due_ns) * WORTH > all || bp__executor_awaited() || bp__interrupt_check_runs()) {
        postpone(plan, INFINITY);
        return;
    }
    atomic_store_explicit(&plan->due, UINT64_MAX, memory_order_relaxed); /* other threads go on without measuring */
    const bp__tune_result result = measure(plan, operands);
    if (result == BP__TUNE_BUSY) {
        postpone(plan, INFINITY);
    } else if (result == BP__TUNE_RANKED) {
        forget(plan);
    }
}

/* A composed plan is made again when one of its parts is. */
void bp__tune_parts(bp_plan *whole) {
    const bp_plan *part = bp__thread.due_part;
    bp__thread.due_part = NULL;
    bp__tune_due(part, NULL, (double)bp__thread.due_ns);
    if (atomic_load_explicit(&part->replaced, memory_order_acquire)) {
        bp__cache_forget(whole);
        bp__thread_cache_forget(whole);
    }
}
