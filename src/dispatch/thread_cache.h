/* thread_cache.h - per-thread cache of recent calls: slots, key construction, key comparison.
 *
 * gemm_fast_path.c (products) and operation_fast_path.c (all other operations) use it. A key holds the operation,
 * the policy, the plan epoch, and each tensor's type, shape and strides. It contains everything that the checks of the
 * slow path read, except the addresses. Calls with equal keys therefore need no second check; addresses are compared on
 * every call. */
#ifndef BP_DISPATCH_THREAD_CACHE_H
#define BP_DISPATCH_THREAD_CACHE_H

#include "dispatch/internal.h"
#include "tensor/internal.h"

#include <string.h>

#define BP__THREAD_CACHE_SLOTS 64 /* a power of two */

typedef struct bp__slot {
    uint64_t hash;
    bp_plan *plan;                                           /* one reference; NULL: empty */
    int64_t low[BP__MOST_OPERANDS], high[BP__MOST_OPERANDS]; /* byte range, relative to the first element */
    bp__call_key key;
} bp__slot;

typedef struct bp__thread_cache {
    bp__slot *last;
    bp_plan *described; /* plan described by bp_last_plan, kept alive for its strings */
    bp_plan *stand_in;  /* plan that ran last and has no slot; the plan cache may not hold it either */
    struct bp__thread_cache *next, **link;
    bp__slot slots[BP__THREAD_CACHE_SLOTS];
} bp__thread_cache;

/* Returns the thread's cache, made on first use. Returns NULL if memory is short; every call then takes the slow path.
 */
bp__thread_cache *bp__thread_cache_list(void);

/* Puts the plan and the key into the key's slot, replacing its content. The caller fills low and high. Takes its own
 * reference. Returns NULL if the call cannot be cached or its cache is off. The plan is kept alive anyway, for
 * bp_last_plan. */
bp__slot *bp__thread_cache_remember(const bp__call_key *key, bp_plan *plan);

/* Takes ownership of the reference. For a plan that no cache keeps, because bp_last_plan must describe the last plan.
 */
void bp__thread_cache_keep_stand_in(bp_plan *plan);

/* Type and rank with all their bits. */
static inline uint64_t bp__type_word(const DLTensor *t) {
    return (uint64_t)t->dtype.code | (uint64_t)t->dtype.bits << 8 | (uint64_t)t->dtype.lanes << 16 |
           (uint64_t)(uint32_t)t->ndim << 32;
}

/* Device, and whether shape and strides are present. */
static inline uint64_t bp__place_word(const DLTensor *t) {
    return (uint64_t)(uint32_t)t->device.device_type | (uint64_t)(t->shape != NULL) << 32 |
           (uint64_t)(t->strides != NULL) << 33 | (uint64_t)(uint32_t)t->device.device_id << 34;
}

static inline bp_operand bp__operand_of(const DLTensor *t) {
    return (bp_operand){t->data, t->byte_offset};
}

static inline uint64_t *bp__key_tensor(uint64_t *w, const uint64_t *end, const DLTensor *t) {
    uint32_t rank = (uint32_t)t->ndim;
    if (rank > BP_MAX_NDIM || (size_t)(end - w) < 2 + 2 * (size_t)rank || (rank > 0 && !t->shape)) {
        return NULL;
    }
    *w++ = bp__type_word(t);
    *w++ = bp__place_word(t);
    for (uint32_t i = 0; i < rank; i++) {
        *w++ = (uint64_t)t->shape[i];
    }
    for (uint32_t i = 0; i < rank && t->strides; i++) {
        *w++ = (uint64_t)t->strides[i];
    }
    return w;
}

/* Stores the byte range of the tensor, relative to its first element. */
static inline void bp__slot_span(bp__slot *s, int i, const DLTensor *t) {
    if (t) {
        uintptr_t low, high, at = (uintptr_t)bp__tensor_data(t);
        bp__tensor_span(t, &low, &high);
        s->low[i] = (int64_t)(low - at);
        s->high[i] = (int64_t)(high - at);
    }
}

static inline uint64_t bp__tag_word(uint64_t tag) {
    return tag | (uint64_t)bp__thread.policy << 32;
}

static inline uint64_t bp__hash_key(const bp__call_key *key) {
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

static inline bool bp__same_key(const bp__call_key *a, const bp__call_key *b) {
    return a->count == b->count && memcmp(a->words, b->words, (size_t)a->count * sizeof a->words[0]) == 0;
}

static inline bool bp__address_fits(const DLTensor *t, const bp__slot *s, int i) {
    uintptr_t at = (uintptr_t)bp__tensor_data(t);
    return t->data != NULL &&
           (at & (uintptr_t)((t->dtype.code == kDLComplex ? t->dtype.bits / 16 : t->dtype.bits / 8) - 1)) == 0 &&
           s->high[i] > s->low[i];
}

/* Counts a run of the thread's call; see bp__run_counted(). While other processes limit the threads, every call asks
 * whether the limit has ended. */
static inline bool bp__count_run(const bp_plan *plan) {
    bp__thread.last_serial = plan->serial;
    if (plan->threaded | bp__thread.limited) {
        bp__policy_read_load();
    }
    return bp__run_counted(plan);
}

/* Calls bp__tune_due() for a part of the composed plan that has just run, if there is one. */
void bp__tune_parts(bp_plan *whole);
static inline void bp__parts_ran(const bp_plan *plan) {
    if (BP__UNLIKELY(bp__thread.due_part && bp__thread.due_whole == plan->serial)) {
        bp__tune_parts((bp_plan *)plan);
    }
}

#endif
