/* plans.c - keeps the plans of a graph: for each layout of its tensors and each policy one, the ones used last.
 *
 * They are not in the plan cache of the process, because they hold the graph's constants, which are freed with the
 * graph. They share its mutex, which the fork handlers know. */
#include "graph/plan.h"

#include "dispatch/thread_cache.h"
#include "tensor/internal.h"

#include <string.h>

enum { MOST_PLANS = 64, NEAR_WORDS = 160, TENSOR_WORDS = 2 + 2 * BP_MAX_NDIM };
enum { POLICY, EPOCH, BLOCK_BYTES, LAYOUT, TENSORS }; /* words of a key */

typedef struct kept {
    bp_plan *plan;
    uint64_t *words;
    int count;
    uint64_t used; /* when, in calls of the graph */
} kept;

struct bp__graph_plans {
    kept list[MOST_PLANS];
    int count;
    uint64_t calls;
};

bp_status bp__graph_plans_create(struct bp__graph_plans **plans) {
    *plans = bp__alloc_zero(1, sizeof **plans);
    if (!*plans) {
        return bp__fail_memory(sizeof **plans, "a graph");
    }
    return BP_OK;
}

static void drop_kept(const kept *k) {
    bp__plan_release(k->plan);
    bp__free(k->words);
}

void bp__graph_plans_release(struct bp__graph_plans *plans) {
    for (int i = 0; plans && i < plans->count; i++) {
        drop_kept(&plans->list[i]);
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
    words[EPOCH] = bp__plan_epoch();
    words[BLOCK_BYTES] = (uint64_t)bp__setting_int(BP_SET_graph_block_bytes);
    words[LAYOUT] = (uint64_t)bp__setting_int(BP_SET_graph_layout);
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
           k->words[EPOCH] == bp__plan_epoch();
}

/* ---- Lists ---- */

static bp_plan *look_up(struct bp__graph_plans *plans, const key *k) {
    bp_plan *plan = NULL;
    if (k->count == 0) {
        return NULL;
    }
    pthread_mutex_lock(&bp__cache_mutex);
    for (int i = 0; i < plans->count && !plan; i++) {
        if (has_key(&plans->list[i], k)) {
            plan = plans->list[i].plan;
            plans->list[i].used = ++plans->calls;
            bp__plan_retain(plan);
        }
    }
    pthread_mutex_unlock(&bp__cache_mutex);
    return plan;
}

/* Returns the entry to replace: one of an older epoch, which no call finds any more, a new one, or the one that was
 * used least recently. */
static kept *choose_entry(struct bp__graph_plans *plans, uint64_t epoch) {
    kept *oldest = &plans->list[0];
    for (int i = 0; i < plans->count; i++) {
        if (plans->list[i].words[EPOCH] != epoch) {
            return &plans->list[i];
        }
        oldest = plans->list[i].used < oldest->used ? &plans->list[i] : oldest;
    }
    if (plans->count < MOST_PLANS) {
        plans->list[plans->count] = (kept){0};
        return &plans->list[plans->count++];
    }
    return oldest;
}

/* Keeps a plan, with a reference of its own, unless settings have changed. Without memory it is not kept. */
static void keep_plan(struct bp__graph_plans *plans, const key *k, bp_plan *plan) {
    const size_t size = (size_t)k->count * sizeof *k->words;
    uint64_t *words = is_current(k) ? bp__alloc(size) : NULL;
    kept old = {0};
    if (!words) {
        return;
    }
    memcpy(words, k->words, size);
    bp__plan_retain(plan);
    pthread_mutex_lock(&bp__cache_mutex);
    kept *entry = choose_entry(plans, k->words[EPOCH]);
    old = *entry;
    *entry = (kept){plan, words, k->count, ++plans->calls};
    pthread_mutex_unlock(&bp__cache_mutex);
    drop_kept(&old);
}

void bp__graph_plans_forget(const bp_graph *graph, const bp_plan *plan) {
    struct bp__graph_plans *plans = graph->plans;
    kept found = {0};
    pthread_mutex_lock(&bp__cache_mutex);
    for (int i = 0; i < plans->count && !found.plan; i++) {
        if (plans->list[i].plan == plan) {
            found = plans->list[i];
            plans->list[i] = plans->list[--plans->count];
        }
    }
    pthread_mutex_unlock(&bp__cache_mutex);
    drop_kept(&found);
}

/* ---- Finding ---- */

static bp_status make_plan(bp_plan **plan, const bp_graph *graph, const DLTensor *const *inputs,
                           const DLTensor *const *outputs, bool data_optional, const key *k) {
    BP__TRY(bp__graph_check_tensors(graph, inputs, outputs, data_optional));
    BP__TRY(bp__graph_plan_make(plan, graph, inputs, outputs, &(bp__plan_key){NULL, 0}));
    keep_plan(graph->plans, k, *plan);
    return BP_OK;
}

bp_status bp__graph_plans_get(bp_plan **plan, const bp_graph *graph, const DLTensor *const *inputs,
                              const DLTensor *const *outputs, bool data_optional, bool *fresh) {
    key k;
    bp__thread_update();
    make_key(&k, graph, inputs, outputs);
    *plan = look_up(graph->plans, &k);
    if (!*plan) { /* a new runtime changes settings */
        bp__thread_find_runtimes();
        free_key(&k);
        make_key(&k, graph, inputs, outputs);
        *plan = look_up(graph->plans, &k);
    }
    *fresh = !*plan;
    bp_status status = *plan ? BP_OK : make_plan(plan, graph, inputs, outputs, data_optional, &k);
    const bool outdated = status == BP_OK && *fresh && k.count > 0 && !is_current(&k);
    free_key(&k);
    if (outdated) { /* a library that planning opened has started a runtime: plan for the settings of now */
        bp__plan_release(*plan);
        *plan = NULL;
        bp__thread_update();
        make_key(&k, graph, inputs, outputs);
        status = make_plan(plan, graph, inputs, outputs, data_optional, &k);
        free_key(&k);
    }
    return status;
}
