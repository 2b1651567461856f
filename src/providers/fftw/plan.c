/* plan.c - makes FFTW's plans. Measuring overwrites memory, so it runs on scratch memory with the operands' layout. */
#include "providers/fftw/fftw.h"

#include <time.h>

/* ---- One plan of the library ---- */

/* Addresses that stand for the operands, in `block` if the planner accesses them. */
typedef struct buffers {
    void *block;
    void *in, *out;
} buffers;

/* Prepares the addresses. Estimating inspects addresses without accessing them. */
static bool prepare_buffers(const bp__fftw_instance *instance, const bp__fftw_judgement *judgement, buffers *at) {
    static _Alignas(64) char nothing[2][64];
    const bp__fftw_route *route = &judgement->route;
    *at = (buffers){.in = nothing[0], .out = nothing[route->in_place ? 0 : 1]};
    if (judgement->effort == BP__FFTW_BY_ESTIMATE) {
        return true;
    }
    size_t in_bytes = bp__fftw_side_bytes(&route->in);
    at->block = instance->host->allocate(in_bytes + (route->in_place ? 0 : bp__fftw_side_bytes(&route->out)));
    if (!at->block) {
        return false;
    }
    at->in = (char *)at->block + bp__fftw_side_first(&route->in);
    at->out = route->in_place ? at->in : (char *)at->block + in_bytes + bp__fftw_side_first(&route->out);
    return true;
}

static unsigned flags_of(const bp__fftw_route *route, bp__fftw_effort effort) {
    unsigned input = route->copies ? BP__FFTW_DESTROY_INPUT : route->in_place ? 0 : BP__FFTW_PRESERVE_INPUT;
    return input | (effort == BP__FFTW_BY_ESTIMATE  ? BP__FFTW_ESTIMATE
                    : effort == BP__FFTW_BY_MEASURE ? BP__FFTW_MEASURE
                                                    : BP__FFTW_PATIENT);
}

static void *plan_guru(const bp__fftw_api *api, const bp__fftw_route *route, const buffers *at, unsigned flags) {
    switch (route->kind) {
    case BP_FFT_R2C:
        return api->plan_guru64_dft_r2c(route->rank, route->dims, route->many, route->howmany, at->in, at->out, flags);
    case BP_FFT_C2R:
        return api->plan_guru64_dft_c2r(route->rank, route->dims, route->many, route->howmany, at->in, at->out, flags);
    default:
        return api->plan_guru64_dft(route->rank, route->dims, route->many, route->howmany, at->in, at->out,
                                    route->inverse ? BP__FFTW_BACKWARD : BP__FFTW_FORWARD, flags);
    }
}

/* Makes a plan that is the same in every run. */
static void *plan_without_wisdom(const bp__fftw_api *api, const bp__fftw_route *route, const buffers *at,
                                 unsigned flags) {
    char *wisdom = bp__fftw_set_wisdom_aside(api);
    void *plan = plan_guru(api, route, at, flags);
    bp__fftw_return_wisdom(api, wisdom);
    return plan;
}

/* Plans with a time limit and a thread count. Both belong to the library, so they are restored for the program. */
static void *plan_within_limits(const bp__fftw_instance *instance, const bp__fftw_judgement *judgement, int threads,
                                const buffers *at, unsigned flags) {
    const bp__fftw_api *api = &instance->api;
    int before =
        api->plan_with_nthreads ? api->planner_nthreads() : 0; /* the program may plan with this library, too */
    api->set_timelimit(judgement->limit_s);
    if (before > 0) {
        api->plan_with_nthreads(threads);
    }
    void *plan = judgement->repeats ? plan_without_wisdom(api, &judgement->route, at, flags)
                                    : plan_guru(api, &judgement->route, at, flags);
    if (before > 0) {
        api->plan_with_nthreads(before);
    }
    api->set_timelimit(BP__FFTW_NO_TIME_LIMIT);
    return plan;
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Plans again on one thread if the time runs out. FFTW then discards its measurements and estimates. Several threads
 * take longer to measure, and a measured plan for one thread is often many times faster than an estimated one for all.
 */
static void *plan_until_measured(const bp__fftw_instance *instance, const bp__fftw_judgement *judgement,
                                 const buffers *at, unsigned flags) {
    bool limited = judgement->effort != BP__FFTW_BY_ESTIMATE && judgement->limit_s > 0;
    double start = seconds();
    void *plan = plan_within_limits(instance, judgement, judgement->threads, at, flags);
    double middle = seconds();
    if (!plan || !limited || judgement->threads == 1 || middle - start < judgement->limit_s) {
        return plan;
    }
    void *alone = plan_within_limits(instance, judgement, 1, at, flags);
    bool measured = alone && seconds() - middle < judgement->limit_s;
    if (alone) {
        instance->api.destroy_plan(measured ? plan : alone);
    }
    return measured ? alone : plan;
}

/* Makes one plan with the flags `more`. */
static bp_status make(bp__fftw_instance *instance, const bp__fftw_judgement *judgement, unsigned more, void **plan) {
    const bp_host *host = instance->host;
    const bool measures = judgement->effort != BP__FFTW_BY_ESTIMATE && !judgement->repeats;
    buffers at;
    if (!prepare_buffers(instance, judgement, &at)) {
        return host->fail(BP_E_NO_MEMORY, "no memory in which FFTW could measure a plan");
    }
    char *kept = measures ? bp__fftw_recall(instance) : NULL, *wisdom = NULL;
    bool free_to_plan = bp__fftw_lock(host);
    if (free_to_plan) {
        bp__fftw_import(instance, kept);
        *plan = plan_until_measured(instance, judgement, &at, flags_of(&judgement->route, judgement->effort) | more);
        wisdom = measures ? bp__fftw_export(instance, kept) : NULL;
        bp__fftw_unlock(host);
    }
    bp__fftw_remember(instance, wisdom);
    host->release(wisdom);
    host->release(kept);
    host->release(at.block);
    if (!free_to_plan) {
        return bp__fftw_fail_unusable(instance);
    }
    return *plan ? BP_OK
                 : host->fail(BP_E_UNSUPPORTED, "library '%s' has no plan for this transform", instance->library->id);
}

/* ---- Plans of the provider ---- */

static void destroy_plan(bp_prepared *prepared) {
    bp__fftw_discard((bp__fftw_plan *)prepared);
}

/* Makes the plan for aligned operands, the one for any address, or both. The second is needed if unaligned operands
 * cannot be copied. It serves all operands if results must not depend on addresses. */
static bp_status make_both(bp__fftw_plan *plan, const bp__fftw_judgement *judgement) {
    bp__fftw_judgement quick = *judgement;
    quick.effort = BP__FFTW_BY_ESTIMATE;
    bool needs_any = !judgement->route.bounces && plan->misaligned != 0;
    bp_status status = BP_OK;
    if (!needs_any || !judgement->repeats) {
        status = make(plan->instance, judgement, 0, &plan->aligned);
    }
    if (status == BP_OK && needs_any) {
        status = make(plan->instance, &quick, BP__FFTW_UNALIGNED, &plan->any);
    }
    return status;
}

static void choose_run(bp__fftw_plan *plan) {
    const bp__fftw_api *api = &plan->instance->api;
    const bp__fftw_route *route = &plan->route;
    plan->run = route->kind == BP_FFT_R2C   ? api->execute_dft_r2c
                : route->kind == BP_FFT_C2R ? api->execute_dft_c2r
                                            : api->execute_dft;
    bool plain = route->calls == 1 && route->walked == 0 && !route->copies && plan->aligned && plan->scale == 1;
    plan->prepared.enqueue = plain ? bp__fftw_run_plain : bp__fftw_run_general;
}

static size_t workspace_of(const bp__fftw_route *route) {
    size_t in = route->copies || route->bounces ? bp__fftw_side_bytes(&route->in) : 0;
    return in + (route->bounces ? bp__fftw_side_bytes(&route->out) : 0);
}

/* Evaluates the problem again after loading, because loading may have revealed more of the library's threads. */
static bp_status judge_loaded(bp__fftw_instance *instance, const bp_problem *problem, bp__fftw_judgement *judgement) {
    bp_verdict again = BP_VERDICT_INIT;
    bp_status status = bp__fftw_load(instance);
    if (status != BP_OK) {
        return status;
    }
    bp__fftw_judge(instance, problem, judgement, &again);
    return again.reason == BP_REASON_ACCEPTED
               ? BP_OK
               : instance->host->fail(again.reason == BP_REASON_FORKED ? BP_E_FORKED : BP_E_UNSUPPORTED,
                                      "library '%s' cannot run this transform: %s", instance->library->id, again.text);
}

bp_status bp__fftw_plan_make(void *opaque, const bp_problem *problem, const bp_verdict *verdict, const void *found,
                             bp_prepared **prepared) {
    bp__fftw_instance *instance = opaque;
    const bp_host *host = instance->host;
    bp__fftw_judgement judgement = *(const bp__fftw_judgement *)found;
    bp_status status = BP_OK;
    (void)verdict;
    if (!atomic_load_explicit(&instance->loaded, memory_order_acquire)) {
        status = judge_loaded(instance, problem, &judgement);
    }
    if (status != BP_OK) {
        return status;
    }
    bp__fftw_plan *plan = host->allocate(sizeof *plan);
    if (!plan) {
        return host->fail(BP_E_NO_MEMORY, "no memory for a plan of the fftw provider");
    }
    *plan = (bp__fftw_plan){.prepared = {.struct_size = sizeof plan->prepared,
                                         .destroy = destroy_plan,
                                         .workspace = workspace_of(&judgement.route)},
                            .misaligned = instance->misaligned,
                            .scale = problem->of.fft.scale,
                            .instance = instance,
                            .route = judgement.route};
    status = make_both(plan, &judgement);
    if (status != BP_OK) {
        destroy_plan(&plan->prepared);
        return status;
    }
    choose_run(plan);
    *prepared = &plan->prepared;
    return BP_OK;
}
