/* operation_fast_path.c - fast path of one-shot calls, for all operations except products.
 *
 * The key of the operation's parameters and tensors is looked up in the thread cache. Products have their own fast path
 * (gemm_fast_path.c), because a small product takes less time than making a key. */
#include "dispatch/thread_cache.h"
#include "base/uncancelled.h"

static bool make_key(bp__operation *o) {
    uint64_t *w = o->key.words;
    const uint64_t *end = w + BP__KEY_WORDS;
    o->key.count = 0;
    if (o->parameter_count > BP__PARAMETERS) {
        return false;
    }
    *w++ = bp__tag_word(o->tag | (uint64_t)(o->in_place != 0) << 31);
    *w++ = bp__plan_epoch();
    for (int i = 0; i < o->parameter_count; i++) {
        *w++ = o->parameters[i];
    }
    for (int i = 0; i < o->count; i++) {
        if (o->tensors[i]) {
            w = bp__key_tensor(w, end, o->tensors[i]);
        } else if (end - w >= 1) {
            *w++ = 0; /* no tensor begins with 0, because its type word contains bits > 0 */
        } else {
            w = NULL;
        }
        if (!w) {
            return false;
        }
    }
    o->key.count = (int)(w - o->key.words);
    return true;
}

static inline bool are_apart(const bp__operation *o, const bp__slot *s, int i, int j) {
    const DLTensor *x = o->tensors[i], *y = o->tensors[j];
    if (!x || !y) {
        return true;
    }
    int64_t a = (int64_t)(uintptr_t)bp__tensor_data(x);
    int64_t b = (int64_t)(uintptr_t)bp__tensor_data(y);
    return a + s->high[i] <= b + s->low[j] || b + s->high[j] <= a + s->low[i];
}

/* Returns whether the call's addresses are as valid as those that were checked. They must be aligned, and no output may
 * overlap an input or another output. */
static bool addresses_good(const bp__operation *o, const bp__slot *s) {
    for (int i = 0; i < o->count; i++) {
        if (o->tensors[i] && !bp__address_fits(o->tensors[i], s, i)) {
            return false;
        }
    }
    for (int j = o->inputs; j < o->count; j++) {
        for (int i = 0; i < j; i++) {
            if (!(o->in_place >> i & 1) && !are_apart(o, s, i, j)) {
                return false;
            }
        }
    }
    return true;
}

static const bp_plan *find_in_slots(bp__operation *o) {
    bp__thread_cache *cache = bp__thread.cache;
    if (!make_key(o) || !cache || bp__thread.policy == 0) {
        return NULL;
    }
    bp__slot *s = cache->last;
    if (!s->plan || !bp__same_key(&s->key, &o->key)) {
        uint64_t hash = bp__hash_key(&o->key);
        s = &cache->slots[hash & (BP__THREAD_CACHE_SLOTS - 1)];
        if (!s->plan || s->hash != hash || !bp__same_key(&s->key, &o->key)) {
            return NULL;
        }
        cache->last = s;
    }
    return addresses_good(o, s) ? s->plan : NULL;
}

const bp_plan *bp__operation_find(bp__operation *o) {
    bp__thread_update();
    const bp_plan *plan = find_in_slots(o);
    return BP__LIKELY(plan != NULL) || !bp__thread_find_runtimes() ? plan : find_in_slots(o);
}

static inline void read_operands(const bp__operation *o, bp_operand *operands) {
    for (int i = 0; i < o->count; i++) {
        operands[i] = o->tensors[i] ? bp__operand_of(o->tensors[i]) : (bp_operand){0};
    }
}

static bp_status execute(const void *context, const bp_plan *plan) {
    static const bp_exec exec = {.struct_size = sizeof exec, .scalars = bp__plain_scalars};
    bp_operand operands[BP__MOST_OPERANDS];
    read_operands(context, operands);
    return bp__plan_run(plan, operands, &exec);
}

/* Runs a plan whose time is wanted. */
__attribute__((noinline)) static bp_status execute_timed(const bp__operation *o, const bp_plan *plan, bool due) {
    bp_operand operands[BP__MOST_OPERANDS];
    int64_t start = bp__now_ns();
    bp_status status = execute(o, plan);
    int64_t end = bp__now_ns();
    if (bp__thread.observed) {
        bp__trace_call(plan, false, start, end, status);
    }
    if (due && status == BP_OK) {
        read_operands(o, operands);
        bp__tune_due(plan, operands, (double)(end - start));
    }
    return status;
}

bp_status bp__operation_run(const bp__operation *o, const bp_plan *plan) {
    bool due = bp__count_run(plan);
    bp_status status = BP__LIKELY(!(due | bp__thread.observed)) ? execute(o, plan) : execute_timed(o, plan, due);
    if (!due) { /* else the plan may have been replaced and freed; a composed plan itself is never due */
        bp__parts_ran(plan);
    }
    return status;
}

void bp__operation_remember(const bp__operation *o, bp_plan *plan) {
    static const bp__call_key none;
    bp__slot *s = bp__thread_cache_remember(o ? &o->key : &none, plan);
    for (int i = 0; s && o && i < o->count; i++) {
        bp__slot_span(s, i, o->tensors[i]);
    }
}

bp_status bp__operation_plan_and_run(bp__operation *o, const bp_problem *problem) {
    bp_plan *plan;
    bp_status status = bp__plan_and_run(problem, execute, o, &plan);
    if (status == BP_OK && plan) {
        bp__operation_remember(o, plan);
    }
    bp__plan_release(plan);
    return status;
}

/* The tensors were checked. */
static bool writes_nothing(const bp__operation *o) {
    for (int i = o->inputs; i < o->count; i++) {
        if (o->tensors[i] && bp__tensor_elements(o->tensors[i]) > 0) {
            return false;
        }
    }
    return true;
}

bp_status bp__operation_run_request(bp__operation *o, const bp__family *family, const void *request) {
    bp_problem problem;
    const bp_status status = bp__problem_make(&problem, family, request);
    if (status != BP_OK) {
        return bp__distributed_conclude(&problem, NULL, status);
    }
    if (writes_nothing(o)) {
        bp__thread.last_serial = BP__NO_PLAN_RAN;
        return bp__distributed_conclude(&problem, NULL, BP_OK);
    }
    return bp__operation_plan_and_run(o, &problem);
}

bp_status bp__composed_run(bp__operation *o, bp_plan *plan, bool fresh, const bp_operand *operands) {
    BP__UNCANCELLED;
    static const bp_exec exec = {.struct_size = sizeof exec, .scalars = bp__plain_scalars};
    bp__count_run(plan);
    bp__thread_observe();
    const bool observed = bp__thread.observed; /* calls in interrupt checks may change it */
    int64_t start = observed ? bp__now_ns() : 0;
    bp_status status = bp__plan_run(plan, operands, &exec);
    if (observed) {
        bp__trace_call(plan, fresh, start, bp__now_ns(), status);
    }
    if (status == BP_OK) {
        bp__operation_remember(o, plan);
    }
    bp__parts_ran(plan);
    return status;
}

bp_status bp__problem_make(bp_problem *problem, const bp__family *family, const void *request) {
    memset(problem, 0, sizeof *problem);
    problem->struct_size = sizeof *problem;
    BP__TRY(bp__policy_resolve(&problem->policy, family));
    bp__devices_noted noted;
    bp__devices_note(&noted);
    bp_status status = family->make(problem, request);
    bp__devices_noted_end(&noted);
    problem->place = noted.place; /* also after a failure, which the ranks of distributed operands tell each other */
    return status == BP_OK && noted.place != 0 ? bp__problem_put_on_device(problem, family, &noted) : status;
}

bp_status bp__plan_for(bp_plan **plan, const bp_options *options, const bp__family *family, const void *request) {
    BP__UNCANCELLED;
    if (!plan) {
        return bp__fail(BP_E_ARGUMENT, "plan must not be NULL");
    }
    *plan = NULL;
    bp__call_scope scope;
    bp__call_enter(&scope, options);
    bp_problem problem;
    bool fresh;
    bp_status status = bp__problem_make(&problem, family, request);
    if (status == BP_OK) {
        status = bp__cache_get(plan, &problem, &fresh);
    }
    bp_status concluded = bp__distributed_conclude(&problem, status == BP_OK ? (*plan)->candidate : NULL, status);
    if (status == BP_OK && concluded != BP_OK) {
        bp__plan_release(*plan);
        *plan = NULL;
    }
    status = concluded;
    if (status == BP_OK) {
        bp__plan_handed_out();
    }
    bp__call_leave(&scope);
    return status;
}

bp_status bp__explain_for(bp_explanation **explanation, const bp_options *options, const bp__family *family,
                          const void *request) {
    BP__UNCANCELLED;
    if (!explanation) {
        return bp__fail(BP_E_ARGUMENT, "explanation must not be NULL");
    }
    *explanation = NULL;
    bp__call_scope scope;
    bp__call_enter(&scope, options);
    bp_problem problem;
    bp_status status = bp__problem_make(&problem, family, request);
    if (status == BP_OK) {
        status = bp__explain(explanation, &problem);
    }
    bp__call_leave(&scope);
    return status;
}
