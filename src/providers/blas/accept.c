/* accept.c - whether a library may run a problem, on how many threads, with which promises and at what estimated cost.
 *
 * Pure: it reads the problem, the facts of the library and its row in families.c. */
#include "providers/blas/blas.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void refuse(bp_verdict *verdict, bp_reason reason, const char *format, ...) BP_PRINTF(3, 4);

static void refuse(bp_verdict *verdict, bp_reason reason, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(verdict->text, sizeof verdict->text, format, args);
    va_end(args);
    verdict->reason = reason;
}

static bool takes_type(const bp_problem *problem, bp_verdict *verdict) {
    switch (problem->dtype) {
    case BP_F32:
    case BP_F64:
    case BP_C64:
    case BP_C128:
        return true;
    case BP_F16:
    case BP_BF16:
        refuse(verdict, BP_REASON_DTYPE, "the BLAS has no routine for half precision; native has one");
        return false;
    default:
        refuse(verdict, BP_REASON_DTYPE, "the BLAS knows f32, f64, c64 and c128 only");
        return false;
    }
}

static bool can_run(bp__blas_instance *instance, const bp_problem *problem, bp_verdict *verdict) {
    const bp_library_info *library = instance->library;
    if (problem->op != BP_OP_GEMM) {
        refuse(verdict, BP_REASON_OP, "only matrix products are offered");
    } else if (!takes_type(problem, verdict)) {
        return false;
    } else if (library->int_bits != 32 && library->int_bits != 64) {
        refuse(verdict, BP_REASON_OTHER, "the width of the library's integers is not known");
    } else if (bp__blas_forked(instance)) {
        refuse(verdict, BP_REASON_FORKED,
               "its threads (%s) had run, or a thread was inside it, when this process was forked", library->threading);
    } else {
        return true;
    }
    return false;
}

/* ---- Threads ---- */

/* Below these sizes the library stays on one thread whatever count is in force: nothing needs to be set. */
static bool stays_alone(const bp__blas_family *family, const bp__blas_route *route) {
    double work = (double)route->first.rows * (double)route->first.columns;
    if (route->kind == BP__BLAS_GEMV) {
        return work < (double)family->own_gemv;
    }
    return route->kind <= BP__BLAS_SCALE || work * (double)route->n <= (double)family->own_gemm;
}

static void choose_threads(const bp__blas_instance *instance, const bp_policy *policy, bp__blas_judgement *judgement) {
    const bp__blas_family *family = instance->family;
    int most = atomic_load_explicit(&instance->most_threads, memory_order_relaxed);
    int allowed = policy->threads < most ? policy->threads : most;
    judgement->threads = 1;
    if (family->one_thread || stays_alone(family, &judgement->route)) {
        return;
    }
    if (family->setter == BP__BLAS_SET_NOTHING) {
        judgement->threads = 0;
        return;
    }
    judgement->settles = true;
    if (allowed > 1 && policy->deterministic < 2 &&
        bp__blas_cost(instance, &judgement->route, allowed) < bp__blas_cost(instance, &judgement->route, 1)) {
        judgement->threads = allowed;
    }
    judgement->locks = policy->deterministic > 0 || (family->serialise && judgement->threads > 1);
}

/* ---- Promises ---- */

/* Whether the count of threads of a call is certain: a count that belongs to the process may be changed by another
 * thread of the program between setting and calling, unless the lock is held. */
static bool is_pinned(const bp__blas_instance *instance, const bp__blas_judgement *judgement) {
    if (!judgement->settles) {
        return judgement->threads == 1;
    }
    bp__blas_setter setter = instance->family->setter;
    return judgement->locks || setter == BP__BLAS_SET_MKL || setter == BP__BLAS_SET_OPENMP;
}

static uint32_t promises(const bp__blas_instance *instance, const bp_problem *problem,
                         const bp__blas_judgement *judgement) {
    const bp__blas_family *family = instance->family;
    const bp__blas_route *route = &judgement->route;
    if (route->kind <= BP__BLAS_SCALE) {
        return BP_NOTE_SAME_RUN | BP_NOTE_SAME_THREADS;
    }
    if (!family->repeats || !is_pinned(instance, judgement)) {
        return 0;
    }
    /* On one thread whatever is allowed, product by product: nothing is left that could differ. */
    bool alone = family->one_thread || problem->policy.deterministic == 2;
    return BP_NOTE_SAME_RUN | (alone && !route->folded ? BP_NOTE_SAME_THREADS : 0);
}

static uint32_t notes_of(const bp__blas_instance *instance, const bp_problem *problem,
                         const bp__blas_judgement *judgement) {
    const bp__blas_route *route = &judgement->route;
    bool wide = problem->dtype == BP_F64 || problem->dtype == BP_C128;
    uint32_t notes = wide ? BP_NOTE_ACCUMULATES_F64 : BP_NOTE_ACCUMULATES_F32;
    notes |= promises(instance, problem, judgement);
    if (route->kind == BP__BLAS_GEMM ? instance->family->gemm_nan
                                     : route->kind == BP__BLAS_GEMV && instance->family->gemv_nan) {
        notes |= BP_NOTE_PROPAGATES_NAN;
    }
    bool packs_a = (route->swap ? &route->second : &route->first)->packs;
    bool packs_b = (route->swap ? &route->first : &route->second)->packs;
    return notes | (packs_a ? BP_NOTE_PACKS_A : 0) | (packs_b ? BP_NOTE_PACKS_B : 0) |
           (route->c.packs ? BP_NOTE_PACKS_C : 0);
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
        return route->batch > 1 ? "gemv per product" : "gemv";
    case BP__BLAS_GEMM:
        break;
    }
    return route->batch > 1 ? "gemm per product" : route->folded ? "gemm over the batch" : "gemm";
}

static void insist_on_determinism(const bp_problem *problem, bp_verdict *verdict, const bp__blas_instance *instance) {
    int wanted = problem->policy.deterministic;
    uint32_t needed = wanted == 2 ? BP_NOTE_SAME_THREADS : wanted == 1 ? BP_NOTE_SAME_RUN : 0;
    if ((verdict->notes & needed) == needed) {
        return;
    }
    refuse(verdict, BP_REASON_DETERMINISM, "%s",
           instance->family->repeats ? "its count of threads cannot be fixed"
                                     : "it does not promise to repeat results");
}

void bp__blas_judge(bp__blas_instance *instance, const bp_problem *problem, bp__blas_judgement *judgement,
                    bp_verdict *verdict) {
    *judgement = (bp__blas_judgement){.threads = 1};
    if (!can_run(instance, problem, verdict)) {
        return;
    }
    bp__blas_route *route = &judgement->route;
    bool fold = problem->policy.deterministic < 2;
    if (!bp__blas_route_of(route, problem, instance->int_max, fold, verdict->text, sizeof verdict->text)) {
        verdict->reason = BP_REASON_SIZE;
        return;
    }
    choose_threads(instance, &problem->policy, judgement);
    verdict->algorithm = algorithm_of(route);
    verdict->threads = judgement->threads;
    verdict->notes = notes_of(instance, problem, judgement);
    verdict->cost_ns = bp__blas_cost(instance, route, judgement->threads > 1 ? judgement->threads : 1);
    if (judgement->threads == 0) {
        snprintf(verdict->text, sizeof verdict->text, "its count of threads can neither be set nor read");
    } else {
        explain_copies(route, verdict->text, sizeof verdict->text);
    }
    insist_on_determinism(problem, verdict, instance);
    int cpus = instance->host->machine.usable_cpus;
    if (verdict->reason == BP_REASON_ACCEPTED && judgement->threads == 0 && problem->policy.threads < cpus) {
        refuse(verdict, BP_REASON_THREADS, "its count of threads cannot be set, and it may use all %d processors",
               cpus);
    }
}

void bp__blas_accept(void *instance, const bp_problem *problem, bp_verdict *verdict) {
    bp__blas_judgement judgement;
    bp__blas_judge(instance, problem, &judgement, verdict);
}
