/* call.c - the warm path of a one-shot call: from the caller's tensors to a plan without a lock or an allocation.
 *
 * Each thread keeps a short list of the calls that it made last. A call is told from another by a key of words:
 * operation, policy, generation, and each tensor's type, shape and strides. Everything that the checks of the long way
 * look at, but the addresses, is in the key, so equal keys need no second check; addresses are compared against each
 * other on every call. */
#include "dispatch/internal.h"

#include "tensor/internal.h"

#include <string.h>

#define SLOTS 64 /* a power of two */

typedef struct slot {
    uint64_t hash;
    bp_plan *plan;                                 /* one reference; NULL: empty */
    int64_t low[BP__OPERANDS], high[BP__OPERANDS]; /* bytes spanned, relative to the first element */
    bp__call_key key;
} slot;

typedef struct bp__hot {
    slot *last;
    bp_plan *described; /* what bp_last_plan gave out, kept alive for its strings */
    bp_plan *stand_in;  /* what ran last in place of a plan that failed; no cache keeps it */
    struct bp__hot *next, **link;
    slot slots[SLOTS];
} bp__hot;

pthread_mutex_t bp__hot_mutex = PTHREAD_MUTEX_INITIALIZER;
static bp__hot *all_lists;
static pthread_key_t ending;
static atomic_bool ending_ready;
static atomic_uint_least32_t resets; /* each frees the lists of all threads, who find out by this number */

static void free_list(bp__hot *hot) {
    for (int i = 0; i < SLOTS; i++) {
        bp_plan_release(hot->slots[i].plan);
    }
    bp_plan_release(hot->described);
    bp_plan_release(hot->stand_in);
    bp__free(hot);
}

void bp__hot_check(void) {
    if (bp__thread.resets != atomic_load_explicit(&resets, memory_order_acquire)) {
        bp__thread.hot = NULL;
    }
}

/* At the end of a thread. What the key holds only says that there was a list; a reset may have freed it. */
static void end_list(void *argument) {
    (void)argument;
    bp__hot_check();
    bp__hot *hot = bp__thread.hot;
    if (!hot) {
        return;
    }
    pthread_mutex_lock(&bp__hot_mutex);
    *hot->link = hot->next;
    if (hot->next) {
        hot->next->link = hot->link;
    }
    pthread_mutex_unlock(&bp__hot_mutex);
    bp__thread.hot = NULL;
    free_list(hot);
}

/* The thread's list, made on first use; NULL when memory is short, and then every call takes the long way. */
static bp__hot *hot_list(void) {
    bp__hot_check();
    if (BP__LIKELY(bp__thread.hot != NULL)) {
        return bp__thread.hot;
    }
    bp__hot *hot = bp__alloc_zero(1, sizeof *hot);
    if (!hot) {
        return NULL;
    }
    pthread_mutex_lock(&bp__hot_mutex);
    if (!atomic_load(&ending_ready) && pthread_key_create(&ending, end_list) == 0) {
        atomic_store(&ending_ready, true);
    }
    bool kept = atomic_load(&ending_ready) && pthread_setspecific(ending, hot) == 0;
    if (kept) {
        hot->next = all_lists;
        hot->link = &all_lists;
        if (all_lists) {
            all_lists->link = &hot->next;
        }
        all_lists = hot;
    }
    pthread_mutex_unlock(&bp__hot_mutex);
    if (!kept) {
        bp__free(hot);
        return NULL;
    }
    hot->last = &hot->slots[0];
    bp__thread.hot = hot;
    bp__thread.resets = atomic_load_explicit(&resets, memory_order_relaxed);
    return hot;
}

void bp__hot_reset(void) {
    pthread_mutex_lock(&bp__hot_mutex);
    bp__hot *hot = all_lists;
    all_lists = NULL;
    atomic_fetch_add_explicit(&resets, 1, memory_order_release);
    pthread_mutex_unlock(&bp__hot_mutex);
    while (hot) {
        bp__hot *next = hot->next;
        free_list(hot);
        hot = next;
    }
    bp__hot_check();
    bp__thread.last_serial = 0;
}

void bp__hot_describe(bp_plan *plan) {
    bp__hot *hot = hot_list();
    if (hot) {
        bp__plan_retain(plan);
        bp_plan_release(hot->described);
        hot->described = plan;
    }
}

/* Type and rank, every bit of them. */
static inline uint64_t type_word(const DLTensor *t) {
    return (uint64_t)t->dtype.code | (uint64_t)t->dtype.bits << 8 | (uint64_t)t->dtype.lanes << 16 |
           (uint64_t)(uint32_t)t->ndim << 32;
}

/* The device, and whether shape and strides are there. */
static inline uint64_t place_word(const DLTensor *t) {
    return (uint64_t)(uint32_t)t->device.device_type | (uint64_t)(t->shape != NULL) << 32 |
           (uint64_t)(t->strides != NULL) << 33;
}

static uint64_t *key_tensor(uint64_t *w, const uint64_t *end, const DLTensor *t) {
    uint32_t rank = (uint32_t)t->ndim;
    if (rank > BP_MAX_NDIM || (size_t)(end - w) < 2 + 2 * (size_t)rank || (rank > 0 && !t->shape)) {
        return NULL;
    }
    *w++ = type_word(t);
    *w++ = place_word(t);
    for (uint32_t i = 0; i < rank; i++) {
        *w++ = (uint64_t)t->shape[i];
    }
    for (uint32_t i = 0; i < rank && t->strides; i++) {
        *w++ = (uint64_t)t->strides[i];
    }
    return w;
}

static inline uint64_t tag_word(uint64_t tag) {
    return tag | (uint64_t)bp__thread.policy << 32;
}

static bool make_key(bp__call *call, uint64_t tag) {
    uint64_t *w = call->key.words;
    const uint64_t *end = w + BP__KEY_WORDS;
    call->key.count = 0;
    *w++ = tag_word(tag);
    *w++ = bp__generation();
    for (int i = 0; i < BP__OPERANDS; i++) {
        w = key_tensor(w, end, call->tensors[i]);
        if (!w) {
            return false;
        }
    }
    call->key.count = (int)(w - call->key.words);
    return true;
}

/* Compares the call with a key where it lies, without making one: most calls repeat the last one of their thread. The
 * first two words of a tensor hold its whole rank and say which arrays it has, so where they match, the arrays may be
 * read. */
static inline bool is_call(const bp__call_key *key, const bp__call *call, uint64_t tag) {
    const uint64_t *w = key->words;
    uint64_t differs = (w[0] ^ tag_word(tag)) | (w[1] ^ bp__generation());
    w += 2;
    for (int i = 0; i < BP__OPERANDS; i++) {
        const DLTensor *t = call->tensors[i];
        differs |= *w++ ^ type_word(t);
        differs |= *w++ ^ place_word(t);
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

static uint64_t hash_key(const bp__call_key *key) {
    uint64_t x = 0x9e3779b97f4a7c15u;
    uint64_t y = 0xc2b2ae3d27d4eb4fu;
    for (int i = 0; i + 1 < key->count; i += 2) {
        x = (x ^ key->words[i]) * 0xff51afd7ed558ccdu;
        y = (y ^ key->words[i + 1]) * 0xc4ceb9fe1a85ec53u;
    }
    x = (x ^ key->words[key->count - 1]) * 0xff51afd7ed558ccdu;
    x ^= y >> 29;
    x ^= x >> 32;
    return x ^ y;
}

static inline bool same_key(const bp__call_key *a, const bp__call_key *b) {
    return a->count == b->count && memcmp(a->words, b->words, (size_t)a->count * sizeof a->words[0]) == 0;
}

static inline bool address_fits(const DLTensor *t, const slot *s, int i) {
    uintptr_t at = (uintptr_t)bp__tensor_data(t);
    return t->data != NULL &&
           (at & (uintptr_t)((t->dtype.code == kDLComplex ? t->dtype.bits / 16 : t->dtype.bits / 8) - 1)) == 0 &&
           s->high[i] > s->low[i];
}

/* Whether the addresses of this call are as good as the checked ones: aligned, and the output apart from the inputs. */
static inline bool addresses_good(const bp__call *call, const slot *s) {
    const DLTensor *out = call->tensors[BP__OPERANDS - 1];
    int64_t at = (int64_t)(uintptr_t)bp__tensor_data(out);
    bool good = address_fits(out, s, BP__OPERANDS - 1);
    for (int i = 0; i < BP__OPERANDS - 1; i++) {
        int64_t in = (int64_t)(uintptr_t)bp__tensor_data(call->tensors[i]);
        good &= address_fits(call->tensors[i], s, i);
        good &= in + s->high[i] <= at + s->low[BP__OPERANDS - 1] || at + s->high[BP__OPERANDS - 1] <= in + s->low[i];
    }
    return good;
}

/* A call that is not the last one again. Leaves its key in the call, for remember(). */
__attribute__((noinline)) static const bp_plan *find_in_slots(bp__call *call, uint64_t tag) {
    bp__hot *hot = bp__thread.hot;
    if (!make_key(call, tag) || !hot || bp__thread.policy == 0) {
        return NULL;
    }
    uint64_t hash = hash_key(&call->key);
    slot *s = &hot->slots[hash & (SLOTS - 1)];
    if (!s->plan || s->hash != hash || !same_key(&s->key, &call->key)) {
        return NULL;
    }
    hot->last = s;
    return addresses_good(call, s) ? s->plan : NULL;
}

const bp_plan *bp__call_find(bp__call *call, uint64_t tag) {
    uint64_t epoch = bp__settings_epoch();
    if (BP__UNLIKELY(epoch != bp__thread.epoch)) {
        bp__thread_refresh(epoch);
    }
    for (int i = 0; i < BP__OPERANDS; i++) {
        if (BP__UNLIKELY(!call->tensors[i])) {
            call->key.count = 0;
            return NULL;
        }
    }
    bp__hot *hot = bp__thread.hot;
    if (BP__LIKELY(hot && hot->last->plan && is_call(&hot->last->key, call, tag))) {
        if (BP__LIKELY(addresses_good(call, hot->last))) {
            return hot->last->plan;
        }
    }
    return find_in_slots(call, tag);
}

static inline void count_run(const bp_plan *plan) {
    bp_plan *counted = (bp_plan *)plan; /* the counter is no part of what a plan is */
    uint64_t runs = atomic_load_explicit(&counted->runs, memory_order_relaxed);
    atomic_store_explicit(&counted->runs, runs + 1, memory_order_relaxed);
    bp__thread.last_serial = plan->serial;
}

bp_status bp__call_run(const bp__call *call, const bp_plan *plan, const bp_scalar *scalars) {
    count_run(plan);
    const char *a = bp__tensor_data(call->tensors[0]);
    const char *b = bp__tensor_data(call->tensors[1]);
    char *c = bp__tensor_data(call->tensors[2]);
    if (BP__LIKELY(!bp__thread.observed)) {
        return plan->prepared->run(plan->prepared, a, b, c, scalars);
    }
    int64_t start = bp__now_ns();
    bp_status status = plan->prepared->run(plan->prepared, a, b, c, scalars);
    bp__observe_call(plan, false, start, bp__now_ns(), status);
    return status;
}

/* Keeps the plan in the thread's list, in place of what was in its slot. Takes over no reference. */
static void remember(const bp__call *call, bp_plan *plan) {
    bp__hot *hot = hot_list();
    if (!hot || call->key.count == 0 || bp__thread.policy == 0) {
        return;
    }
    uint64_t hash = hash_key(&call->key);
    slot *s = &hot->slots[hash & (SLOTS - 1)];
    bp__plan_retain(plan);
    bp_plan_release(s->plan);
    s->plan = plan;
    s->hash = hash;
    s->key = call->key;
    for (int i = 0; i < BP__OPERANDS; i++) {
        uintptr_t low, high;
        uintptr_t at = (uintptr_t)bp__tensor_data(call->tensors[i]);
        bp__tensor_span(call->tensors[i], &low, &high);
        s->low[i] = (int64_t)(low - at);
        s->high[i] = (int64_t)(high - at);
    }
    hot->last = s;
}

/* A library that lacks scratch memory, or that a fork took away, is left for the next candidate; its output is
 * untouched then. */
static bool another_may_run(bp_status status) {
    return status == BP_E_NO_MEMORY || status == BP_E_FORKED || status == BP_E_UNSUPPORTED;
}

static bp_status run_observed(const bp__call *call, const bp_plan *plan, bool fresh, const bp_scalar *scalars) {
    count_run(plan);
    int64_t start = bp__thread.observed ? bp__now_ns() : 0;
    bp_status status =
        plan->prepared->run(plan->prepared, bp__tensor_data(call->tensors[0]), bp__tensor_data(call->tensors[1]),
                            bp__tensor_data(call->tensors[2]), scalars);
    if (bp__thread.observed) {
        bp__observe_call(plan, fresh, start, bp__now_ns(), status);
    }
    return status;
}

/* Takes over the reference. No cache keeps such a plan, and bp_last_plan must know what ran. */
static void keep_stand_in(bp_plan *plan) {
    bp__hot *hot = hot_list();
    if (hot) {
        bp_plan_release(hot->stand_in);
        hot->stand_in = plan;
    } else {
        bp_plan_release(plan);
    }
}

bp_status bp__call_plan_and_run(bp__call *call, const bp_problem *problem, const bp_scalar *scalars) {
    bp_plan *plan;
    bool fresh;
    BP__TRY(bp__cache_get(&plan, problem, &fresh));
    bp_status status = run_observed(call, plan, fresh, scalars);
    bool library_failed = another_may_run(status) && !bp__simulated(problem); /* else the copies may be what failed */
    if (library_failed && problem->policy.fallback != 0 && plan->candidate_index < 64) {
        bp_plan *second;
        uint64_t skip = UINT64_C(1) << plan->candidate_index;
        char failure[512];
        bp__copy_text(failure, sizeof failure, bp_last_error());
        if (bp__plan_make(&second, problem, skip) != BP_OK) {
            bp__fail(status, "%s", failure);
        } else {
            if (problem->policy.fallback == 1) {
                bp__warn("'%s' failed (%s); '%s' runs instead", bp__candidate_id(plan->candidate), failure,
                         bp__candidate_id(second->candidate));
            }
            status = run_observed(call, second, true, scalars);
            keep_stand_in(second);
        }
    } else if (status == BP_OK) {
        remember(call, plan);
    }
    bp_plan_release(plan);
    return status;
}
