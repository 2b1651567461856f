/* plan.c - plans: made from a choice, run, described, counted.
 *
 * All living plans are in one list, so that "which plan ran last" can be answered without a reference count on the hot
 * path: a thread remembers address and serial number, and the list tells whether that plan still lives. */
#include "dispatch/internal.h"

#include <stdio.h>
#include <string.h>

pthread_mutex_t bp__plans_mutex = PTHREAD_MUTEX_INITIALIZER;
static bp_plan *newest;
static uint64_t last_serial;
static int alive;

static void link_plan(bp_plan *plan) {
    pthread_mutex_lock(&bp__plans_mutex);
    plan->serial = ++last_serial;
    plan->older = newest;
    if (newest) {
        newest->newer = plan;
    }
    newest = plan;
    alive++;
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
    alive--;
    pthread_mutex_unlock(&bp__plans_mutex);
}

int bp__plans_alive(void) {
    pthread_mutex_lock(&bp__plans_mutex);
    int count = alive;
    pthread_mutex_unlock(&bp__plans_mutex);
    return count;
}

void bp__plan_retain(bp_plan *plan) {
    atomic_fetch_add_explicit(&plan->references, 1, memory_order_relaxed);
}

/* For who found the plan in the list: false when its last reference has gone and it is about to leave the list. */
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

void bp_plan_release(bp_plan *plan) {
    if (!plan || atomic_fetch_sub_explicit(&plan->references, 1, memory_order_acq_rel) != 1) {
        return;
    }
    unlink_plan(plan);
    plan->prepared->destroy(plan->prepared);
    bp__free(plan);
}

/* Failures of one candidate that another may not share. Everything else is the caller's business. */
static bool worth_another(bp_status status) {
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
    const bp_gemm_problem *gemm = &problem->of.gemm;
    return problem->op == BP_OP_GEMM && (gemm->alpha == BP_FACTOR_ANY || gemm->beta == BP_FACTOR_ANY);
}

/* Stands where a plan of another operation has no run(), so that bp_plan_run() need not look. */
static bp_status refuse_run(const bp_prepared *self, const void *a, const void *b, void *c, const bp_scalar *scalars) {
    (void)self;
    (void)a;
    (void)b;
    (void)c;
    (void)scalars;
    return bp__fail(BP_E_ARGUMENT, "the plan is of no product: run it by bp_plan_execute()");
}

static bp_status prepare_call(bp_prepared **prepared, const bp__candidate *candidate, const bp__choice *choice,
                              const bp_problem *problem) {
    bp_prepared *inner;
    BP__TRY(candidate->provider->plan(candidate->instance, &choice->asked, &choice->verdicts[choice->chosen], &inner));
    bp_status status = bp__adapt_wrap(problem, inner, prepared);
    if (status != BP_OK) {
        inner->destroy(inner);
    } else if (problem->op != BP_OP_GEMM) {
        (*prepared)->run = refuse_run;
    }
    return status;
}

static bp_status prepare(bp_plan **made, const bp__choice *choice, const bp_problem *problem) {
    bp_plan *plan = bp__alloc_zero(1, sizeof *plan);
    if (!plan) {
        return bp__fail_memory(sizeof *plan, "a plan");
    }
    const bp__candidate *candidate = choice->candidates[choice->chosen];
    plan->candidate = candidate;
    plan->candidate_index = choice->chosen;
    plan->verdict = choice->verdicts[choice->chosen];
    plan->order_ns = choice->order[choice->chosen];
    plan->problem = *problem;
    plan->key = (bp__plan_key){&plan->problem, bp__problem_size(problem)};
    plan->needs_scalars = needs_scalars(problem);
    atomic_init(&plan->references, 1);
    bp__copy_text(plan->reason, sizeof plan->reason, bp__text_get(&choice->decision));
    bp__problem_text(problem, plan->text, sizeof plan->text);
    bp_status status = prepare_call(&plan->prepared, candidate, choice, problem);
    if (status != BP_OK) {
        bp__free(plan);
        return status;
    }
    link_plan(plan);
    *made = plan;
    return BP_OK;
}

bp_status bp__plan_compose(bp_plan **plan, bp_prepared *prepared, const bp__composition *c) {
    bp_plan *made = bp__alloc_zero(1, sizeof *made + c->key.size);
    *plan = NULL;
    if (!made) {
        return bp__fail_memory(sizeof *made + c->key.size, "a plan");
    }
    memcpy(made->own_key, c->key.bytes, c->key.size);
    made->key = (bp__plan_key){made->own_key, c->key.size};
    made->candidate = c->longest->candidate;
    made->candidate_index = c->longest->candidate_index;
    made->verdict = (bp_verdict){.struct_size = sizeof(bp_verdict),
                                 .algorithm = c->algorithm,
                                 .notes = c->notes,
                                 .threads = c->threads,
                                 .cost_ns = c->cost_ns};
    made->problem.struct_size = sizeof made->problem;
    made->problem.op = (uint32_t)c->op;
    made->problem.dtype = (uint32_t)c->dtype;
    made->problem.policy = *c->policy;
    made->workspace = c->workspace;
    atomic_init(&made->references, 1);
    bp__copy_text(made->reason, sizeof made->reason, c->reason);
    bp__copy_text(made->text, sizeof made->text, c->text);
    prepared->run = refuse_run;
    made->prepared = prepared;
    link_plan(made);
    *plan = made;
    return BP_OK;
}

/* A candidate failed although it had accepted: allowed to go on, and said to the user once? */
static bool may_go_on(const bp__choice *choice, const bp_problem *problem, bp_status status, uint64_t *skip) {
    if (!worth_another(status) || choice->chosen >= 64 || problem->policy.fallback == 0) {
        return false;
    }
    *skip |= UINT64_C(1) << choice->chosen;
    if (problem->policy.fallback == 1) {
        bp__warn("'%s' was chosen but failed (%s); another library runs instead",
                 bp__candidate_id(choice->candidates[choice->chosen]), bp_last_error());
    }
    return true;
}

bp_status bp__plan_make(bp_plan **plan, const bp_problem *problem, uint64_t skip) {
    for (;;) {
        bp__choice choice;
        BP__TRY(bp__choose(&choice, problem, skip, false));
        bp_status status = choice.status;
        if (status != BP_OK) {
            bp__fail(status, "%s", bp__text_get(&choice.decision));
            bp__choice_free(&choice);
            return status;
        }
        if (choice.warning.length > 0) {
            bp__warn("%s", bp__text_get(&choice.warning));
        }
        bp__observe_plan(&choice, problem);
        status = prepare(plan, &choice, problem);
        bool again = status != BP_OK && may_go_on(&choice, problem, status, &skip);
        bp__choice_free(&choice);
        if (!again) {
            return status;
        }
    }
}

static const bp_scalar plain_scalars[2] = {{1.0, 0.0}, {0.0, 0.0}};

bp_status bp_plan_run(const bp_plan *plan, const void *a, const void *b, void *c, const bp_scalar *scalars) {
    if (!scalars) {
        if (BP__UNLIKELY(plan->needs_scalars)) {
            return bp__fail(BP_E_ARGUMENT, "scalars is NULL, but the plan was made for an alpha or beta of its own");
        }
        scalars = plain_scalars;
    }
    uint64_t epoch = bp__settings_epoch();
    if (BP__UNLIKELY(epoch != bp__thread.epoch)) {
        bp__thread_refresh(epoch);
    }
    bp__thread.last_serial = plan->serial;
    if (BP__LIKELY(!bp__thread.observed)) {
        return plan->prepared->run(plan->prepared, a, b, c, scalars);
    }
    int64_t start = bp__now_ns();
    bp_status status = plan->prepared->run(plan->prepared, a, b, c, scalars);
    bp__observe_call(plan, false, start, bp__now_ns(), status);
    return status;
}

static bp_status execute(const bp_plan *plan, void *const *operands) {
    if (plan->problem.op == BP_OP_GEMM) {
        return bp_plan_run(plan, operands[0], operands[1], operands[2], NULL);
    }
    return plan->prepared->execute(plan->prepared, operands);
}

bp_status bp__plan_run_part(const bp_plan *part, void *const *operands) {
    const bp_prepared *prepared = part->prepared;
    int64_t start = BP__UNLIKELY(bp__thread.observed) ? bp__now_ns() : 0;
    bp_status status = part->problem.op == BP_OP_GEMM
                           ? prepared->run(prepared, operands[0], operands[1], operands[2], plain_scalars)
                           : prepared->execute(prepared, operands);
    if (BP__UNLIKELY(bp__thread.observed)) {
        bp__observe_call(part, false, start, bp__now_ns(), status);
    }
    return status;
}

bp_status bp_plan_execute(const bp_plan *plan, void *const *operands) {
    if (BP__UNLIKELY(!operands)) {
        return bp__fail(BP_E_ARGUMENT, "bp_plan_execute: operands must not be NULL");
    }
    uint64_t epoch = bp__settings_epoch();
    if (BP__UNLIKELY(epoch != bp__thread.epoch)) {
        bp__thread_refresh(epoch);
    }
    bp__thread.last_serial = plan->serial;
    if (BP__LIKELY(!bp__thread.observed || plan->problem.op == BP_OP_GEMM)) {
        return execute(plan, operands);
    }
    int64_t start = bp__now_ns();
    bp_status status = execute(plan, operands);
    bp__observe_call(plan, false, start, bp__now_ns(), status);
    return status;
}

bp_status bp_plan_describe(const bp_plan *plan, bp_plan_info *info) {
    if (!plan || !info || info->struct_size != sizeof *info) {
        return bp__fail(BP_E_ARGUMENT, "bp_plan_describe: plan must not be NULL and info->struct_size must be %zu",
                        sizeof *info);
    }
    const bp_library_info *library = plan->candidate->library;
    info->operation = bp_op_name((bp_op)plan->problem.op);
    info->provider = plan->candidate->provider->name;
    info->library = bp__candidate_id(plan->candidate);
    info->library_path = library ? library->path : "";
    info->library_version = bp__candidate_version(plan->candidate);
    info->algorithm = plan->verdict.algorithm;
    info->reason = plan->reason;
    info->notes = plan->verdict.notes;
    info->threads = plan->verdict.threads;
    info->cost_ns = plan->verdict.cost_ns;
    bool complex = plan->problem.dtype == BP_C64 || plan->problem.dtype == BP_C128; /* aligned as its parts are */
    info->workspace = plan->workspace;
    info->alignment = (int)bp_dtype_size((bp_dtype)plan->problem.dtype) / (complex ? 2 : 1);
    info->runs = atomic_load_explicit(&plan->runs, memory_order_relaxed);
    bp__copy_text(info->problem, sizeof info->problem, plan->text);
    return BP_OK;
}

bp_status bp_last_plan(bp_plan_info *info) {
    if (!info || info->struct_size != sizeof *info) {
        return bp__fail(BP_E_ARGUMENT, "bp_last_plan: info->struct_size must be %zu", sizeof *info);
    }
    if (bp__thread.last_serial == 0) {
        return bp__fail(BP_E_NOT_FOUND, "this thread has run no plan yet");
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
    bp__hot_describe(plan);
    bp_plan_release(plan);
    return status;
}
