/* plan.c - makes plans from choices, describes them and counts their references.
 *
 * All plans are in one list, so that bp_last_plan() needs no reference count on the fast path. A thread stores only the
 * serial number of its last plan; a search of the list finds whether that plan still exists. */
#include "dispatch/addresses.h"
#include "dispatch/composition.h"
#include "base/uncancelled.h"

#include "device/internal.h"
#include "dist/internal.h"

#include <fenv.h>
#include <stdio.h>
#include <string.h>

pthread_mutex_t bp__plans_mutex = PTHREAD_MUTEX_INITIALIZER;
static bp_plan *newest;
static uint64_t last_serial;

static void link_plan(bp_plan *plan) {
    pthread_mutex_lock(&bp__plans_mutex);
    plan->serial = ++last_serial;
    plan->older = newest;
    if (newest) {
        newest->newer = plan;
    }
    newest = plan;
    pthread_mutex_unlock(&bp__plans_mutex);
}

static void unlink_plan(bp_plan *plan) {
    pthread_mutex_lock(&bp__plans_mutex);
    if (plan->older) {
        plan->older->newer = plan->newer;
    }
    if (plan->newer) {
        plan->newer->older = plan->older;
    } else {
        newest = plan->older;
    }
    pthread_mutex_unlock(&bp__plans_mutex);
}

void bp__plan_retain(bp_plan *plan) {
    atomic_fetch_add_explicit(&plan->references, 1, memory_order_relaxed);
}

/* Takes a reference to a listed plan. Returns false if the count is already 0, that is, the plan is being freed. */
static bool retain_living(bp_plan *plan) {
    int references = atomic_load_explicit(&plan->references, memory_order_relaxed);
    while (references > 0) {
        if (atomic_compare_exchange_weak_explicit(&plan->references, &references, references + 1, memory_order_relaxed,
                                                  memory_order_relaxed)) {
            return true;
        }
    }
    return false;
}

void bp__plan_release(bp_plan *plan) {
    if (!plan || atomic_fetch_sub_explicit(&plan->references, 1, memory_order_acq_rel) != 1) {
        return;
    }
    BP__UNCANCELLED;
    unlink_plan(plan);
    plan->prepared->destroy(plan->prepared);
    bp__free(plan->addresses);
    bp__free(plan);
}

/* ---- Plans that the program owns ----
 *
 * Caches hold plans too, and release them when asked. bp_reset() must know the number of the program's plans before it
 * frees anything. */

static atomic_llong held;

int64_t bp__plans_held(void) {
    return atomic_load(&held);
}

void bp__plan_handed_out(void) {
    atomic_fetch_add(&held, 1);
}

void bp__plan_keep_as_part(void) {
    atomic_fetch_sub(&held, 1);
}

static atomic_llong graphs_held;

int64_t bp__graphs_held(void) {
    return atomic_load(&graphs_held);
}

void bp__graph_handed_out(int count) {
    atomic_fetch_add(&graphs_held, count);
}

static atomic_llong backends_held;

int64_t bp__graph_backends_held(void) {
    return atomic_load(&backends_held);
}

void bp__graph_backend_handed_out(int count) {
    atomic_fetch_add(&backends_held, count);
}

void bp_plan_release(bp_plan *plan) {
    if (plan) {
        atomic_fetch_sub(&held, 1);
        bp__plan_release(plan);
    }
}

/* Returns whether another candidate may succeed where this one failed. All other errors go to the caller. */
static bool another_may_succeed(bp_status status) {
    switch (status) {
    case BP_E_UNSUPPORTED:
    case BP_E_NO_MEMORY:
    case BP_E_NOT_FOUND:
    case BP_E_LOAD:
    case BP_E_BROKEN:
    case BP_E_SYMBOL:
    case BP_E_UNTRUSTED:
    case BP_E_FORKED:
        return true;
    default:
        return false;
    }
}

static bool needs_scalars(const bp_problem *problem) {
    const bp__family *family = bp__family_of(problem);
    return family->needs_scalars && family->needs_scalars(problem);
}

/* Replaces `*prepared` by the one that was wrapped around it. If that failed, destroys it. */
static bp_status replace(bp_prepared **prepared, bp_status status, bp_prepared *const *outer) {
    if (status != BP_OK) {
        (*prepared)->destroy(*prepared);
    }
    *prepared = status == BP_OK ? *outer : NULL;
    return status;
}

/* Adds what runs around the provider's part: the family's adapter, copies to the host, the queue of a device. */
BP__OWN_FRAME static bp_status wrap_call(bp_prepared **prepared, const bp__choice *choice, const bp_problem *problem,
                                         const char *text) {
    bp_problem local = *problem; /* as the provider's side sees it */
    bp_prepared *outer = NULL;
    bp_status status = BP_OK;
    local.place = choice->transferred ? 0 : problem->place;
    if (bp__adapted(&local)) {
        status = bp__family_of(&local)->adapter->wrap(&local, *prepared, &outer);
        BP__TRY(replace(prepared, status, &outer));
    }
    if (choice->transferred) {
        status = bp__prepare_transferred(problem, *prepared, &outer);
        BP__TRY(replace(prepared, status, &outer));
    }
    if (problem->place != 0) {
        status = bp__place_is_map(problem->place)
                     ? bp__prepare_distributed(problem, choice->offers[choice->chosen].candidate, *prepared, &outer)
                     : bp__prepare_on_device(problem, text, *prepared, &outer);
        BP__TRY(replace(prepared, status, &outer));
    }
    return BP_OK;
}

/* Makes the provider's part of the chosen candidate's plan. */
static bp_status prepare_chosen(bp_prepared **prepared, const bp__choice *choice) {
    const bp__offer *offer = &choice->offers[choice->chosen];
    const void *found = offer->size > 0 ? choice->found.bytes + offer->found_at : NULL;
    bp__choice *changed = (bp__choice *)(uintptr_t)choice; /* a copy of the problem takes more than 1 KiB of stack */
    const int threads = choice->asked.policy.threads;
    changed->asked.policy.threads = offer->one_thread ? 1 : threads;
    bp_status status =
        offer->candidate->provider->plan(offer->candidate->instance, &choice->asked, &offer->verdict, found, prepared);
    changed->asked.policy.threads = threads;
    return status == BP_OK ? bp__workspace_align(prepared, choice->asked.place) : status;
}

static bp_status prepare_call(bp_prepared **prepared, const bp__choice *choice, const bp_problem *problem,
                              const char *text) {
    BP__TRY(prepare_chosen(prepared, choice));
    return wrap_call(prepared, choice, problem, text);
}

/* Sets the fields that the fast path reads. */
static void finish(bp_plan *plan, bp_prepared *prepared) {
    plan->prepared = prepared;
    plan->guarded =
        plan->composed || plan->problem.place != 0 || (plan->candidate->library && plan->verdict.threads != 1);
    plan->threaded = plan->problem.place == 0 && plan->verdict.threads != 1;
    plan->plain = !plan->needs_scalars && prepared->workspace == 0 && !plan->guarded;
    plan->verdict.workspace = prepared->workspace;
    plan->verdict.packs = prepared->pack ? plan->verdict.packs : 0; /* adapters and devices take unpacked operands */
    link_plan(plan);
}

/* Returns the time of the chosen offer on the scale of estimates, so that it can be compared with operations that have
 * no measured times: its measured time relative to `native`'s, times the estimate of `native`. */
static double order_of(const bp__choice *choice) {
    const bp__offer *chosen = &choice->offers[choice->chosen];
    for (int i = 0; i < choice->count && choice->predicted; i++) {
        const bp__offer *o = &choice->offers[i];
        if (o->verdict.reason == BP_REASON_ACCEPTED && o->predicted_ns > 0 && bp__candidate_is_native(o->candidate)) {
            return chosen->predicted_ns * o->estimate_ns / o->predicted_ns;
        }
    }
    return chosen->estimate_ns;
}

static bp_status prepare(bp_plan **made, const bp__choice *choice, const bp_problem *problem) {
    bp_plan *plan = bp__alloc_zero(1, sizeof *plan);
    if (!plan) {
        return bp__fail_memory(sizeof *plan, "a plan");
    }
    const bp__offer *offer = &choice->offers[choice->chosen];
    plan->candidate = offer->candidate;
    plan->verdict = offer->verdict;
    plan->order_ns = order_of(choice);
    plan->predicted_ns = offer->neighbour_ns > 0 ? offer->neighbour_ns : choice->predicted ? offer->predicted_ns : 0;
    plan->problem = *problem;
    plan->key = (bp__plan_key){&plan->problem, bp__problem_size(problem)};
    plan->needs_scalars = needs_scalars(problem);
    plan->operands = bp__operand_count((bp_op)problem->op);
    plan->short_of_memory = choice->short_of_memory;
    atomic_init(&plan->references, 1);
    bp__tune_schedule(plan, choice);
    bp__copy_text(plan->reason, sizeof plan->reason, bp__text_get(&choice->decision));
    bp__problem_text(problem, plan->text, sizeof plan->text);
    bp_prepared *prepared = NULL;
    bp_status status = bp__addresses_of(&plan->addresses, problem);
    status = status == BP_OK ? prepare_call(&prepared, choice, problem, plan->text) : status;
    if (status != BP_OK) {
        bp__free(plan->addresses);
        bp__free(plan);
        return status;
    }
    finish(plan, prepared);
    *made = plan;
    return BP_OK;
}

bp_status bp__plan_compose(bp_plan **plan, bp_prepared *prepared, const bp__composition *c) {
    bp_plan *made = bp__alloc_zero(1, sizeof *made + c->key.size);
    *plan = NULL;
    if (!made) {
        return bp__fail_memory(sizeof *made + c->key.size, "a plan");
    }
    made->problem.op = (uint32_t)c->op;
    made->problem.place = c->device_place;
    bp_status status = bp__addresses_make(&made->addresses, c->addresses);
    if (status == BP_OK && c->device_place != 0) {
        status = bp__prepare_on_device(&made->problem, c->text, prepared, &prepared);
    }
    if (status != BP_OK) {
        bp__free(made->addresses);
        bp__free(made);
        return status;
    }
    if (c->key.size > 0) { /* else there may be no bytes */
        memcpy(made->own_key, c->key.bytes, c->key.size);
    }
    made->key = (bp__plan_key){made->own_key, c->key.size};
    made->candidate = c->candidate;
    made->verdict = (bp_verdict){.struct_size = sizeof(bp_verdict),
                                 .algorithm = c->algorithm,
                                 .properties = c->properties,
                                 .threads = c->threads,
                                 .cost_ns = c->cost_ns};
    made->problem.struct_size = sizeof made->problem;
    made->problem.dtype = (uint32_t)c->dtype;
    made->problem.policy = *c->policy;
    made->composed = true;
    made->operands = c->operands;
    atomic_init(&made->references, 1);
    atomic_init(&made->due, UINT64_MAX); /* its parts are measured */
    bp__copy_text(made->reason, sizeof made->reason, c->reason);
    bp__copy_text(made->text, sizeof made->text, c->text);
    finish(made, prepared);
    *plan = made;
    return BP_OK;
}

/* Handles the failure of the chosen candidate. Sets *again if dispatch.fallback permits another one; warns if it is
 * `warn`. */
static bp_status handle_failure(const bp__choice *choice, const bp_problem *problem, bp_status status,
                                bp__failures *failures, bool *again) {
    const bool refused = status == BP_E_UNSUPPORTED; /* as accept() would have done, had it known */
    const bp__offer *offer = &choice->offers[choice->chosen];
    const bool one_thread = bp__failures_try_one_thread(failures, &offer->verdict, status);
    if (!another_may_succeed(status) || (problem->policy.fallback == 0 && !refused && !one_thread)) {
        return status;
    }
    char sentence[512];
    bp__copy_text(sentence, sizeof sentence, bp_last_status() == status ? bp_last_error() : bp_status_text(status));
    BP__TRY(bp__failures_add(failures, offer->candidate, &offer->verdict, status, sentence));
    if (problem->policy.fallback == 1 && !refused && !one_thread) {
        bp__warn("'%s' was chosen but failed (%s); another candidate runs instead", bp__candidate_id(offer->candidate),
                 sentence);
    }
    *again = true;
    return status;
}

/* Returns the status of a choice that found no candidate. Without the failures for lack of memory there would be one.
 */
static bp_status status_of(const bp__choice *choice, const bp__failures *failures) {
    return choice->status == BP_E_NO_CANDIDATE && failures->short_of_memory ? BP_E_NO_MEMORY : choice->status;
}

bp_status bp__plan_try(const bp__choice *choice, const bp_problem *problem, bp__failures *failures, bool *refused) {
    bp_prepared *prepared = NULL;
    *refused = false;
    if (choice->status != BP_OK || choice->chosen < 0 ||
        !(choice->offers[choice->chosen].candidate->provider->library_kinds & BP_LIB_DNN)) {
        return BP_OK;
    }
    bp_status status = prepare_chosen(&prepared, choice);
    if (status == BP_OK) {
        prepared->destroy(prepared);
    } else if (status == BP_E_UNSUPPORTED) {
        status = handle_failure(choice, problem, status, failures, refused);
        return *refused ? BP_OK : status;
    }
    return BP_OK; /* another failure is as in a run */
}

/* Makes one choice and one attempt. Sets *again if the attempt failed, was added to the failures, and another one may
 * follow. */
static bp_status try_choice(bp_plan **plan, const bp__choice *choice, const bp_problem *problem, bp__failures *failures,
                            bool *again) {
    bp_status status = status_of(choice, failures);
    if (status != BP_OK) {
        return bp__fail(status, "%s", bp__text_get(&choice->decision));
    }
    if (choice->warning.length > 0) {
        bp__warn("%s", bp__text_get(&choice->warning));
    }
    bp__trace_plan(choice, problem);
    status = prepare(plan, choice, problem);
    if (status != BP_OK) {
        return handle_failure(choice, problem, status, failures, again);
    }
    bp__report_choice(*plan);
    return BP_OK;
}

static bp_status try_once(bp_plan **plan, const bp_problem *problem, bp__failures *failures, bool *again) {
    *again = false;
    if (problem->place != 0) {
        BP__TRY(bp__queue_may_prepare(problem->place));
    }
    bp__choice *choice = bp__alloc(sizeof *choice); /* large: not on the stack */
    if (!choice) {
        return bp__fail_memory(sizeof *choice, "a choice");
    }
    bp_status status = bp__choose(choice, problem, failures, false);
    if (status == BP_OK) {
        status = try_choice(plan, choice, problem, failures, again);
        bp__choice_free(choice);
    }
    bp__free(choice);
    return status;
}

bp_status bp__plan_make(bp_plan **plan, const bp_problem *problem, bp__failures *failures) {
    bp__failures own = {0};
    bp_status status;
    bool again;
    fenv_t program; /* estimates divide by zero; programs test the flags after a call, and some let exceptions trap */
    if (problem->place != 0) {
        BP__TRY(bp__place_is_map(problem->place) ? bp__map_can_run(problem->place) : bp__device_check(problem->place));
    }
    const bool on_hold = feholdexcept(&program) == 0;
    do {
        status = try_once(plan, problem, failures ? failures : &own, &again);
    } while (again);
    if (on_hold) {
        fesetenv(&program);
    }
    bp__failures_free(&own);
    return status;
}

/* Returns the largest alignment that the rules for operands require; the alignment of the type if there are no
 * elements. */
static int alignment_of(const bp_plan *plan) {
    const bool complex = plan->problem.dtype == BP_C64 || plan->problem.dtype == BP_C128;
    const bp__addresses *a = plan->addresses;
    uintptr_t low_bits = 0;
    for (int i = 0; i < a->count; i++) {
        low_bits |= a->rules[i].needed ? a->rules[i].low_bits : 0;
    }
    /* Complex numbers are aligned like their components. */
    return low_bits ? (int)low_bits + 1 : (int)bp_dtype_size((bp_dtype)plan->problem.dtype) / (complex ? 2 : 1);
}

bp_status bp_plan_describe(const bp_plan *plan, bp_plan_info *info) {
    if (!plan) {
        return bp__fail(BP_E_ARGUMENT, "bp_plan_describe: plan must not be NULL");
    }
    BP__TRY(bp__struct_check(info, sizeof *info, "info"));
    BP__TRY(BP__STRUCT_MEMBER(info, bp_plan_info, problem));
    const bp_library_info *library = plan->candidate->library;
    bp_plan_info own;
    memset(&own, 0, sizeof own); /* padding too: the whole struct is copied to the caller */
    own.operation = bp_op_name((bp_op)plan->problem.op);
    own.provider = plan->candidate->provider->name;
    own.library = bp__candidate_id(plan->candidate);
    own.library_path = library ? library->path : "";
    own.library_version = bp__candidate_version(plan->candidate);
    own.algorithm = plan->verdict.algorithm;
    own.reason = plan->reason;
    own.properties = plan->verdict.properties;
    own.threads = plan->verdict.threads;
    own.cost_ns = bp__plan_expected_ns(plan);
    own.workspace = plan->prepared->workspace;
    own.packs = plan->verdict.packs;
    own.operands = plan->operands;
    own.alignment = alignment_of(plan);
    own.workspace_alignment = (int)bp__workspace_alignment(plan->prepared, plan->problem.place);
    own.runs = atomic_load_explicit(&plan->runs, memory_order_relaxed);
    bp__copy_text(own.problem, sizeof own.problem, plan->text);
    bp__struct_write(info, &own, sizeof own);
    return BP_OK;
}

bp_status bp_last_plan(bp_plan_info *info) {
    BP__TRY(bp__struct_check(info, sizeof *info, "info"));
    BP__TRY(BP__STRUCT_MEMBER(info, bp_plan_info, problem));
    if (bp__thread.last_serial == 0) {
        return bp__fail(BP_E_NOT_FOUND, "this thread has run no plan yet");
    }
    if (bp__thread.last_serial == BP__NO_PLAN_RAN) {
        return bp__fail(BP_E_NOT_FOUND, "the last call of this thread had an empty result, so that no plan ran");
    }
    pthread_mutex_lock(&bp__plans_mutex);
    bp_plan *plan = newest;
    while (plan && plan->serial != bp__thread.last_serial) {
        plan = plan->older;
    }
    bool living = plan && retain_living(plan);
    pthread_mutex_unlock(&bp__plans_mutex);
    if (!living) {
        return bp__fail(BP_E_NOT_FOUND, "the plan that this thread ran last has been released");
    }
    bp_status status = bp_plan_describe(plan, info);
    bp__thread_cache_describe(plan);
    bp__plan_release(plan);
    return status;
}
