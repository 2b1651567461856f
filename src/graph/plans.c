/* plans.c - keeps the plans of a graph: for each layout of its tensors and each policy one, the ones used last.
 *
 * They are not in the plan cache of the process, because they hold the graph's constants, which are freed with the
 * graph. A run finds its plan without a lock: it counts itself as a reader, and reads entries that never change. Who
 * changes the list holds the mutex of the plan cache, which the fork handlers know. What it takes out of the list is
 * freed when there is no reader. In a child of fork the readers of other threads stay counted, so that it may be freed
 * with the graph only. */
#include "graph/plan.h"
#include "graph/region.h"
#include "graph/rewrite.h"

#include "dispatch/thread_cache.h"
#include "tensor/internal.h"

#include <string.h>

enum { MOST_PLANS = 64, NEAR_WORDS = 160, TENSOR_WORDS = 2 + 2 * BP_MAX_NDIM };
enum { POLICY, EPOCH, BACKEND, BLOCK_BYTES, LAYOUT, REWRITE, TENSORS }; /* words of a key */

typedef struct kept {
    bp_plan *plan;
    atomic_uint_least64_t used; /* when, in calls of the graph */
    struct kept *next;          /* that was taken out of the list before */
    int count;
    uint64_t words[];
} kept;

struct bp__graph_plans {
    _Atomic(kept *) list[MOST_PLANS];
    atomic_int count, readers;
    atomic_uint_least64_t calls;
    _Atomic(kept *) retired; /* taken out of the list, and not freed yet */
};

bp_status bp__graph_plans_create(struct bp__graph_plans **plans) {
    *plans = bp__alloc_zero(1, sizeof **plans);
    if (!*plans) {
        return bp__fail_memory(sizeof **plans, "a graph");
    }
    return BP_OK;
}

static void drop_kept(kept *k) {
    while (k) {
        kept *next = k->next;
        bp__plan_release(k->plan);
        bp__free(k);
        k = next;
    }
}

void bp__graph_plans_release(struct bp__graph_plans *plans) {
    for (int i = 0; plans && i < atomic_load(&plans->count); i++) {
        drop_kept(atomic_load(&plans->list[i]));
    }
    if (plans) {
        drop_kept(atomic_load(&plans->retired));
    }
    bp__free(plans);
}

/* ---- Keys ---- */

/* All that decides a plan: the policy, the epoch of plans, and type, shape and strides of each tensor. */
typedef struct key {
    uint64_t near[NEAR_WORDS], *words;
    int count;
    uint64_t settings; /* their epoch when the key was made */
} key;

/* Returns a number that changes when older plans become invalid, also because the list of backends has changed. */
static uint64_t epoch_now(void) {
    return bp__plan_epoch() + bp__backends_epoch();
}

static bool add_tensors(uint64_t **at, const uint64_t *end, int count, const DLTensor *const *tensors) {
    for (int i = 0; i < count && *at; i++) {
        *at = tensors[i] ? bp__key_tensor(*at, end, tensors[i]) : NULL;
    }
    return *at != NULL;
}

static bool fill_key(key *k, uint64_t *words, size_t size, const bp_graph *graph, const DLTensor *const *inputs,
                     const DLTensor *const *outputs) {
    uint64_t *at = words + TENSORS;
    words[POLICY] = bp__thread.policy;
    words[EPOCH] = epoch_now();
    words[BACKEND] = bp__setting(BP_SET_graph_backend); /* equal texts are one */
    words[BLOCK_BYTES] = (uint64_t)bp__setting_int(BP_SET_graph_block_bytes);
    words[LAYOUT] = (uint64_t)bp__setting_int(BP_SET_graph_layout);
    words[REWRITE] = (uint64_t)bp__setting_int(BP_SET_graph_rewrite);
    const bool fits = add_tensors(&at, words + size, graph->input_count, inputs) &&
                      add_tensors(&at, words + size, graph->output_count, outputs);
    k->words = words;
    k->count = fits ? (int)(at - words) : 0;
    return fits;
}

/* Makes the key; free it with free_key(). Its count is 0 if it cannot be made, and the tensors must be checked. */
static void make_key(key *k, const bp_graph *graph, const DLTensor *const *inputs, const DLTensor *const *outputs) {
    const size_t most = TENSORS + (size_t)(graph->input_count + graph->output_count) * TENSOR_WORDS;
    k->settings = bp__thread.epoch;
    k->count = 0;
    k->words = k->near;
    if (!outputs || (!inputs && graph->input_count > 0) || bp__thread.policy == 0 ||
        fill_key(k, k->near, NEAR_WORDS, graph, inputs, outputs)) {
        return;
    }
    uint64_t *words = bp__alloc(most * sizeof *words);
    if (words && !fill_key(k, words, most, graph, inputs, outputs)) {
        bp__free(words);
        k->words = k->near;
    }
}

static void free_key(const key *k) {
    bp__free(k->words == k->near ? NULL : k->words);
}

static bool has_key(const kept *entry, const key *k) {
    return entry->count == k->count && memcmp(entry->words, k->words, (size_t)k->count * sizeof *k->words) == 0;
}

/* Returns whether no setting has changed since the key was made, by another thread or by what the thread itself called.
 * Otherwise a plan that was made meanwhile may not be what the key says. */
static bool is_current(const key *k) {
    return k->count > 0 && k->settings == bp__settings_epoch() && k->words[POLICY] == bp__thread.policy &&
           k->words[EPOCH] == epoch_now();
}

/* ---- Lists ---- */

/* Returns what can be freed, with the mutex held. A reader that is counted later does not find it any more. */
static kept *take_retired(struct bp__graph_plans *plans) {
    return atomic_load(&plans->readers) == 0 ? atomic_exchange(&plans->retired, NULL) : NULL;
}

static void retire(struct bp__graph_plans *plans, kept *entry) {
    entry->next = atomic_load(&plans->retired);
    atomic_store(&plans->retired, entry);
}

__attribute__((noinline)) static void free_retired(struct bp__graph_plans *plans) {
    pthread_mutex_lock(&bp__cache_mutex);
    kept *old = take_retired(plans);
    pthread_mutex_unlock(&bp__cache_mutex);
    drop_kept(old);
}

void bp__graph_plans_leave(const bp_graph *graph) {
    struct bp__graph_plans *plans = graph->plans;
    if (BP__UNLIKELY(atomic_fetch_sub(&plans->readers, 1) == 1 && atomic_load(&plans->retired))) {
        free_retired(plans);
    }
}

/* Returns the plan, which is valid until bp__graph_plans_leave(); NULL if there is none. */
static bp_plan *look_up(struct bp__graph_plans *plans, const key *k) {
    atomic_fetch_add(&plans->readers, 1);
    const int count = k->count > 0 ? atomic_load(&plans->count) : 0;
    for (int i = 0; i < count; i++) {
        kept *entry = atomic_load(&plans->list[i]);
        if (has_key(entry, k)) {
            const uint64_t now = atomic_load_explicit(&plans->calls, memory_order_relaxed) + 1;
            atomic_store_explicit(&plans->calls, now, memory_order_relaxed); /* about the number of calls suffices */
            atomic_store_explicit(&entry->used, now, memory_order_relaxed);
            return entry->plan;
        }
    }
    return NULL;
}

/* Returns the place of the entry to replace: one of an older epoch, which no call finds any more, or the one that was
 * used least recently. */
static int choose_entry(struct bp__graph_plans *plans, uint64_t epoch) {
    const int count = atomic_load(&plans->count);
    uint64_t least = UINT64_MAX;
    int oldest = count;
    for (int i = 0; i < count; i++) {
        const kept *entry = atomic_load(&plans->list[i]);
        const uint64_t used = atomic_load(&entry->used);
        if (entry->words[EPOCH] != epoch) {
            return i;
        }
        if (count == MOST_PLANS && used < least) {
            least = used;
            oldest = i;
        }
    }
    return oldest;
}

/* Puts an entry into the list. */
static void insert(struct bp__graph_plans *plans, kept *entry) {
    const int at = choose_entry(plans, entry->words[EPOCH]);
    if (at == atomic_load(&plans->count)) {
        atomic_store(&plans->list[at], entry);
        atomic_store(&plans->count, at + 1);
    } else {
        retire(plans, atomic_exchange(&plans->list[at], entry));
    }
}

/* Keeps a plan, with a reference of its own, unless settings have changed. Without memory it is not kept. */
static void keep_plan(struct bp__graph_plans *plans, const key *k, bp_plan *plan) {
    const size_t size = (size_t)k->count * sizeof *k->words;
    kept *entry = is_current(k) ? bp__alloc_zero(1, sizeof *entry + size) : NULL;
    if (!entry) {
        return;
    }
    entry->plan = plan;
    entry->count = k->count;
    memcpy(entry->words, k->words, size);
    bp__plan_retain(plan);
    pthread_mutex_lock(&bp__cache_mutex);
    atomic_store(&entry->used, atomic_fetch_add(&plans->calls, 1) + 1);
    insert(plans, entry);
    kept *old = take_retired(plans);
    pthread_mutex_unlock(&bp__cache_mutex);
    drop_kept(old);
}

void bp__graph_plans_forget(const bp_graph *graph, const bp_plan *plan) {
    struct bp__graph_plans *plans = graph->plans;
    pthread_mutex_lock(&bp__cache_mutex);
    const int last = atomic_load(&plans->count) - 1;
    for (int i = 0; i <= last; i++) {
        kept *entry = atomic_load(&plans->list[i]);
        if (entry->plan == plan) {
            atomic_store(&plans->list[i], atomic_load(&plans->list[last])); /* who reads meanwhile may miss it */
            atomic_store(&plans->count, last);
            retire(plans, entry);
            break;
        }
    }
    kept *old = take_retired(plans);
    pthread_mutex_unlock(&bp__cache_mutex);
    drop_kept(old);
}

/* ---- Finding ---- */

static bp_status make_plan(bp_plan **plan, const bp_graph *graph, const DLTensor *const *inputs,
                           const DLTensor *const *outputs, bool data_optional, const key *k) {
    const bp_graph *runs;
    BP__TRY(bp__graph_check_tensors(graph, inputs, outputs, data_optional));
    BP__TRY(bp__graph_rewritten(&runs, graph));
    BP__TRY(bp__graph_plan_make(plan, runs, inputs, outputs, &(bp__plan_key){NULL, 0}));
    keep_plan(graph->plans, k, *plan);
    return BP_OK;
}

/* Makes the plan under the settings of now, if a library that planning opened has started a runtime. */
static bp_status make_again(bp_plan **plan, const bp_graph *graph, const DLTensor *const *inputs,
                            const DLTensor *const *outputs, bool data_optional, key *k) {
    bp__plan_release(*plan);
    *plan = NULL;
    free_key(k);
    bp__thread_update();
    make_key(k, graph, inputs, outputs);
    return make_plan(plan, graph, inputs, outputs, data_optional, k);
}

/* Makes the plan, with a reference for the caller. */
__attribute__((noinline)) static bp_status make_first(bp_plan **plan, const bp_graph *graph,
                                                      const DLTensor *const *inputs, const DLTensor *const *outputs,
                                                      bool data_optional, key *k) {
    bp_status status = make_plan(plan, graph, inputs, outputs, data_optional, k);
    return status == BP_OK && k->count > 0 && !is_current(k)
               ? make_again(plan, graph, inputs, outputs, data_optional, k)
               : status;
}

bp_status bp__graph_plans_enter(bp_plan **plan, const bp_graph *graph, const DLTensor *const *inputs,
                                const DLTensor *const *outputs, bool data_optional, bool *fresh) {
    key k;
    bp__thread_update();
    make_key(&k, graph, inputs, outputs);
    *plan = look_up(graph->plans, &k);
    if (BP__UNLIKELY(!*plan)) { /* a new runtime changes settings */
        bp__graph_plans_leave(graph);
        bp__thread_find_runtimes();
        free_key(&k);
        make_key(&k, graph, inputs, outputs);
        *plan = look_up(graph->plans, &k);
    }
    *fresh = !*plan;
    bp_status status = BP_OK;
    if (BP__UNLIKELY(!*plan)) {
        bp__graph_plans_leave(graph);
        status = make_first(plan, graph, inputs, outputs, data_optional, &k);
    }
    free_key(&k);
    return status;
}

bp_status bp__graph_plans_get(bp_plan **plan, const bp_graph *graph, const DLTensor *const *inputs,
                              const DLTensor *const *outputs, bool data_optional, bool *fresh) {
    BP__TRY(bp__graph_plans_enter(plan, graph, inputs, outputs, data_optional, fresh));
    if (!*fresh) {
        bp__plan_retain(*plan);
        bp__graph_plans_leave(graph);
    }
    return BP_OK;
}
