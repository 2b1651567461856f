/* gemm_fast_path.c - fast path of one-shot products: from the caller's tensors to a plan, without a lock or an
 * allocation.
 *
 * It uses the thread's cache of recent calls (thread_cache.h). */
#include "dispatch/thread_cache.h"

static bool make_key(bp__call *call, uint64_t tag) {
    uint64_t *w = call->key.words;
    const uint64_t *end = w + BP__KEY_WORDS;
    call->key.count = 0;
    *w++ = bp__tag_word(tag);
    *w++ = bp__plan_epoch();
    for (int i = 0; i < BP__OPERANDS; i++) {
        w = bp__key_tensor(w, end, call->tensors[i]);
        if (!w) {
            return false;
        }
    }
    call->key.count = (int)(w - call->key.words);
    return true;
}

/* Compares the call with a stored key without making a key, because most calls repeat the last one of their thread. The
 * first two words of a tensor hold its rank and which arrays it has. If they match, the arrays may be read. */
static inline bool is_call(const bp__call_key *key, const bp__call *call, uint64_t tag) {
    const uint64_t *w = key->words;
    uint64_t differs = (w[0] ^ bp__tag_word(tag)) | (w[1] ^ bp__plan_epoch());
    w += 2;
    for (int i = 0; i < BP__OPERANDS; i++) {
        const DLTensor *t = call->tensors[i];
        differs |= *w++ ^ bp__type_word(t);
        differs |= *w++ ^ bp__place_word(t);
        if (differs) {
            return false;
        }
        int32_t rank = t->ndim;
        for (int32_t d = 0; d < rank; d++) {
            differs |= *w++ ^ (uint64_t)t->shape[d];
        }
        for (int32_t d = 0; t->strides && d < rank; d++) {
            differs |= *w++ ^ (uint64_t)t->strides[d];
        }
    }
    return differs == 0;
}

/* Returns whether the call's addresses are as valid as those that were checked: aligned, and no overlap of output and
 * inputs. */
static inline bool addresses_good(const bp__call *call, const bp__slot *s) {
    const DLTensor *out = call->tensors[BP__OPERANDS - 1];
    int64_t at = (int64_t)(uintptr_t)bp__tensor_data(out);
    bool good = bp__address_fits(out, s, BP__OPERANDS - 1);
    for (int i = 0; i < BP__OPERANDS - 1; i++) {
        int64_t in = (int64_t)(uintptr_t)bp__tensor_data(call->tensors[i]);
        good &= bp__address_fits(call->tensors[i], s, i);
        good &= in + s->high[i] <= at + s->low[BP__OPERANDS - 1] || at + s->high[BP__OPERANDS - 1] <= in + s->low[i];
    }
    return good;
}

/* Looks up a call that differs from the thread's last one. Leaves the key in the call, for remember(). */
__attribute__((noinline)) static const bp_plan *find_in_slots(bp__call *call, uint64_t tag) {
    bp__thread_cache *cache = bp__thread.cache;
    if (!make_key(call, tag) || !cache || bp__thread.policy == 0) {
        return NULL;
    }
    uint64_t hash = bp__hash_key(&call->key);
    bp__slot *s = &cache->slots[hash & (BP__THREAD_CACHE_SLOTS - 1)];
    if (!s->plan || s->hash != hash || !bp__same_key(&s->key, &call->key)) {
        return NULL;
    }
    cache->last = s;
    return addresses_good(call, s) ? s->plan : NULL;
}

const bp_plan *bp__call_find(bp__call *call, uint64_t tag) {
    bp__thread_update();
    for (int i = 0; i < BP__OPERANDS; i++) {
        if (BP__UNLIKELY(!call->tensors[i])) {
            call->key.count = 0;
            return NULL;
        }
    }
    bp__thread_cache *cache = bp__thread.cache;
    if (BP__LIKELY(cache && cache->last->plan && is_call(&cache->last->key, call, tag))) {
        if (BP__LIKELY(addresses_good(call, cache->last))) {
            return cache->last->plan;
        }
    }
    const bp_plan *plan = find_in_slots(call, tag);
    return BP__LIKELY(plan != NULL) || !bp__thread_find_runtimes() ? plan : find_in_slots(call, tag);
}

#define OPERANDS(t)                                                                                                    \
    { bp__operand_of((t)[0]), bp__operand_of((t)[1]), bp__operand_of((t)[2]) }

static inline bp_status run_gemm_plan(const bp_plan *plan, const DLTensor *const *t, const bp_scalar *scalars) {
    const bp_operand operands[BP__OPERANDS] = OPERANDS(t);
    const bp_exec exec = {.struct_size = sizeof exec, .scalars = scalars};
    return bp__plan_run(plan, operands, &exec);
}

/* Runs a plan whose time is wanted. */
__attribute__((noinline)) static bp_status run_timed(const bp__call *call, const bp_plan *plan,
                                                     const bp_scalar *scalars, bool due) {
    const bp_operand operands[BP__OPERANDS] = OPERANDS(call->tensors);
    int64_t start = bp__now_ns();
    bp_status status = run_gemm_plan(plan, call->tensors, scalars);
    int64_t end = bp__now_ns();
    if (bp__thread.observed) {
        bp__trace_call(plan, false, start, end, status);
    }
    if (due && status == BP_OK) {
        bp__tune_due(plan, operands, (double)(end - start));
    }
    return status;
}

bp_status bp__call_run(const bp__call *call, const bp_plan *plan, const bp_scalar *scalars) {
    bool due = bp__count_run(plan);
    return BP__LIKELY(!(due | bp__thread.observed)) ? run_gemm_plan(plan, call->tensors, scalars)
                                                    : run_timed(call, plan, scalars, due);
}

/* Puts the plan into its slot of the thread cache, replacing the content. Takes its own reference. */
static void remember(const bp__call *call, bp_plan *plan) {
    bp__slot *s = bp__thread_cache_remember(&call->key, plan);
    for (int i = 0; s && i < BP__OPERANDS; i++) {
        bp__slot_span(s, i, call->tensors[i]);
    }
}

typedef struct product {
    const bp__call *call;
    const bp_scalar *scalars;
} product;

static bp_status run_product(const void *context, const bp_plan *plan) {
    const product *p = context;
    return run_gemm_plan(plan, p->call->tensors, p->scalars);
}

bp_status bp__call_plan_and_run(bp__call *call, const bp_problem *problem, const bp_scalar *scalars) {
    product p = {call, scalars};
    bp_plan *plan;
    bp_status status = bp__plan_and_run(problem, run_product, &p, &plan);
    if (status == BP_OK && plan) {
        remember(call, plan);
    }
    bp__plan_release(plan);
    return status;
}
