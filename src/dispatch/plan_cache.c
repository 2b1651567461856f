/* plan_cache.c - the process-wide plan caches, one for Fourier transforms and one for all other operations.
 *
 * Each is a hash table with a list in order of last use, limited by plan_cache.max_size or fft.plan_cache.max_size. A
 * call that misses its thread cache looks here. Plans are made outside the lock, because that may load a library. If
 * two threads make the same plan at the same time, the second plan is discarded. */
#include "dispatch/internal.h"

#include "backplane/fft.h"
#include "registry/internal.h"

#include <string.h>

pthread_mutex_t bp__cache_mutex = PTHREAD_MUTEX_INITIALIZER;

typedef struct entry {
    struct entry *chain;          /* next entry in the same bucket */
    struct entry *before, *after; /* order of last use: `before` was used more recently */
    uint64_t hash;
    bp_plan *plan;
} entry;

typedef struct plan_cache {
    bp_setting_id limit;
    entry **buckets;
    size_t bucket_count; /* a power of two, 0 before the first plan */
    entry *first, *last; /* most and least recently used */
    int64_t size;
    uint64_t hits, misses, evictions;
    uint64_t generation; /* plan epoch of the entries */
} plan_cache;

static plan_cache caches[BP__CACHES] = {
    [BP__CACHE_GENERAL] = {.limit = BP_SET_plan_cache_max_size},
    [BP__CACHE_TRANSFORMS] = {.limit = BP_SET_fft_plan_cache_max_size},
};

static atomic_uint_least32_t generation = 1;

uint64_t bp__plan_epoch(void) {
    return (uint64_t)bp__library_lists() << 32 | atomic_load_explicit(&generation, memory_order_acquire);
}

void bp__plan_epoch_next(void) {
    atomic_fetch_add_explicit(&generation, 1, memory_order_acq_rel);
}

static void unlink_use(plan_cache *cache, entry *e) {
    *(e->before ? &e->before->after : &cache->first) = e->after;
    *(e->after ? &e->after->before : &cache->last) = e->before;
    e->before = e->after = NULL;
}

static void link_first(plan_cache *cache, entry *e) {
    e->after = cache->first;
    if (cache->first) {
        cache->first->before = e;
    }
    cache->first = e;
    if (!cache->last) {
        cache->last = e;
    }
}

static bool has_key(const bp_plan *plan, const bp__plan_key *key) {
    return plan->key.size == key->size && memcmp(plan->key.bytes, key->bytes, key->size) == 0;
}

static entry *find(plan_cache *cache, const bp__plan_key *key, uint64_t hash) {
    if (cache->bucket_count == 0) {
        return NULL;
    }
    for (entry *e = cache->buckets[hash & (cache->bucket_count - 1)]; e; e = e->chain) {
        if (e->hash == hash && has_key(e->plan, key)) {
            return e;
        }
    }
    return NULL;
}

/* Removes the entry and puts it on a list. Destroying its plan may wait for a lock of the library, so that happens
 * after the cache's lock is released. */
static void drop(plan_cache *cache, entry *e, entry **dropped) {
    entry **at = &cache->buckets[e->hash & (cache->bucket_count - 1)];
    while (*at != e) {
        at = &(*at)->chain;
    }
    *at = e->chain;
    unlink_use(cache, e);
    cache->size--;
    e->chain = *dropped;
    *dropped = e;
}

static void drop_all(plan_cache *cache, entry **dropped) {
    while (cache->first) {
        drop(cache, cache->first, dropped);
    }
}

/* Must run without the cache's lock. */
static void destroy_dropped(entry *dropped) {
    while (dropped) {
        entry *next = dropped->chain;
        bp__plan_release(dropped->plan);
        bp__free(dropped);
        dropped = next;
    }
}

/* Drops entries of an older epoch. They were made for another library list, or before a fork. */
static void forget_old_generation(plan_cache *cache, entry **dropped) {
    uint64_t now = bp__plan_epoch();
    if (cache->generation != now) {
        drop_all(cache, dropped);
        cache->generation = now;
    }
}

static void grow(plan_cache *cache) {
    size_t count = cache->bucket_count ? cache->bucket_count * 2 : 64;
    entry **buckets = bp__alloc_zero(count, sizeof *buckets);
    if (!buckets) {
        return; /* not an error: the chains just get longer */
    }
    for (entry *e = cache->first; e; e = e->after) {
        entry **at = &buckets[e->hash & (count - 1)];
        e->chain = *at;
        *at = e;
    }
    bp__free(cache->buckets);
    cache->buckets = buckets;
    cache->bucket_count = count;
}

/* Adds the plan and takes its own reference. If memory is short, the plan is not cached. */
static void insert(plan_cache *cache, bp_plan *plan, uint64_t hash) {
    if ((size_t)cache->size >= cache->bucket_count) {
        grow(cache);
    }
    entry *e = cache->bucket_count ? bp__alloc_zero(1, sizeof *e) : NULL;
    if (!e) {
        return;
    }
    e->hash = hash;
    e->plan = plan;
    bp__plan_retain(plan);
    entry **at = &cache->buckets[hash & (cache->bucket_count - 1)];
    e->chain = *at;
    *at = e;
    link_first(cache, e);
    cache->size++;
}

static void trim(plan_cache *cache, int64_t most, entry **dropped) {
    while (cache->size > most) {
        drop(cache, cache->last, dropped);
        cache->evictions++;
    }
}

static bp_plan *take(plan_cache *cache, const bp__plan_key *key, uint64_t hash) {
    entry *e = find(cache, key, hash);
    if (!e) {
        return NULL;
    }
    unlink_use(cache, e);
    link_first(cache, e);
    bp__plan_retain(e->plan);
    return e->plan;
}

/* Returns the cached plan with a new reference, or NULL. */
static bp_plan *look_up(plan_cache *cache, const bp__plan_key *key, uint64_t hash, int64_t most) {
    entry *dropped = NULL;
    pthread_mutex_lock(&bp__cache_mutex);
    forget_old_generation(cache, &dropped);
    trim(cache, most, &dropped);
    bp_plan *plan = take(cache, key, hash);
    *(plan ? &cache->hits : &cache->misses) += 1;
    pthread_mutex_unlock(&bp__cache_mutex);
    destroy_dropped(dropped);
    return plan;
}

/* Caches a new plan whose creation began in epoch `begun`. If another thread cached an equal plan first, *plan becomes
 * that one. */
static void keep(plan_cache *cache, bp_plan **plan, const bp__plan_key *key, uint64_t hash, int64_t most,
                 uint64_t begun) {
    entry *dropped = NULL;
    pthread_mutex_lock(&bp__cache_mutex);
    forget_old_generation(cache, &dropped);
    bool current = cache->generation == begun; /* else it may belong to an older library list */
    bp_plan *other = current ? take(cache, key, hash) : NULL;
    if (current && !other) {
        insert(cache, *plan, hash);
        trim(cache, most, &dropped);
    }
    pthread_mutex_unlock(&bp__cache_mutex);
    destroy_dropped(dropped);
    if (other) {
        bp__plan_release(*plan);
        *plan = other;
    }
}

static bp_status get(plan_cache *cache, bp_plan **plan, const bp__plan_key *key, bp__plan_maker make,
                     const void *context, bool *fresh) {
    uint64_t hash = bp__hash(key->bytes, key->size);
    int64_t most = bp__setting_int(cache->limit);
    uint64_t begun = bp__plan_epoch();
    *plan = look_up(cache, key, hash, most);
    *fresh = !*plan;
    if (*plan) {
        return BP_OK;
    }
    BP__TRY(make(plan, key, context));
    if (most > 0) {
        keep(cache, plan, key, hash, most, begun);
    }
    return BP_OK;
}

static bp_status make_for_problem(bp_plan **plan, const bp__plan_key *key, const void *problem) {
    (void)key;
    return bp__plan_make(plan, problem, NULL);
}

bp_status bp__cache_get(bp_plan **plan, const bp_problem *problem, bool *fresh) {
    bp__plan_key key = {problem, bp__problem_size(problem)};
    return get(&caches[bp__family_of(problem)->cache], plan, &key, make_for_problem, problem, fresh);
}

bp_status bp__cache_get_composed(bp_plan **plan, const bp__plan_key *key, bp__plan_maker make, const void *context,
                                 bool *fresh) {
    return get(&caches[BP__CACHE_GENERAL], plan, key, make, context, fresh);
}

/* Evicts plans above the limit first, because the limit may have changed. */
static bp_status stats(plan_cache *cache, bp_plan_cache_info *info) {
    BP__TRY(bp__struct_check(info, sizeof *info, "info"));
    entry *dropped = NULL;
    bp_plan_cache_info own = {.max_size = bp__setting_int(cache->limit)};
    pthread_mutex_lock(&bp__cache_mutex);
    trim(cache, own.max_size, &dropped);
    own.size = cache->size;
    own.hits = cache->hits;
    own.misses = cache->misses;
    own.evictions = cache->evictions;
    pthread_mutex_unlock(&bp__cache_mutex);
    destroy_dropped(dropped);
    bp__struct_write(info, &own, sizeof own);
    return BP_OK;
}

/* Starts a new epoch, so that thread caches drop their plans too. The other cache's plans stay valid in it, unless the
 * epoch changed for another reason at the same time. */
static bp_status clear(plan_cache *cache) {
    entry *dropped = NULL;
    pthread_mutex_lock(&bp__cache_mutex);
    uint64_t before = bp__plan_epoch();
    bp__plan_epoch_next();
    drop_all(cache, &dropped);
    for (int i = 0; i < BP__CACHES; i++) {
        if (caches[i].generation == before) {
            caches[i].generation = before + 1;
        }
    }
    pthread_mutex_unlock(&bp__cache_mutex);
    destroy_dropped(dropped);
    return BP_OK;
}

static bp_status plan_at(const plan_cache *cache, const char *function, int index, bp_plan **plan) {
    if (!plan) {
        return bp__fail(BP_E_ARGUMENT, "%s: plan must not be NULL", function);
    }
    *plan = NULL;
    pthread_mutex_lock(&bp__cache_mutex);
    entry *e = index < 0 ? NULL : cache->first;
    for (int i = 0; e && i < index; i++) {
        e = e->after;
    }
    if (e) {
        bp__plan_retain(e->plan);
        bp__plan_handed_out();
        *plan = e->plan;
    }
    pthread_mutex_unlock(&bp__cache_mutex);
    return e ? BP_OK : bp__fail(BP_E_NOT_FOUND, "%s: index is %d; the cache has no such plan", function, index);
}

bp_status bp_plan_cache_stats(bp_plan_cache_info *info) {
    return stats(&caches[BP__CACHE_GENERAL], info);
}

bp_status bp_plan_cache_clear(void) {
    return clear(&caches[BP__CACHE_GENERAL]);
}

bp_status bp_plan_cache_at(int index, bp_plan **plan) {
    return plan_at(&caches[BP__CACHE_GENERAL], "bp_plan_cache_at", index, plan);
}

bp_status bp_fft_plan_cache_stats(bp_plan_cache_info *info) {
    return stats(&caches[BP__CACHE_TRANSFORMS], info);
}

bp_status bp_fft_plan_cache_clear(void) {
    return clear(&caches[BP__CACHE_TRANSFORMS]);
}

bp_status bp_fft_plan_cache_at(int index, bp_plan **plan) {
    return plan_at(&caches[BP__CACHE_TRANSFORMS], "bp_fft_plan_cache_at", index, plan);
}

void bp__cache_forget(const bp_plan *plan) {
    entry *dropped = NULL;
    pthread_mutex_lock(&bp__cache_mutex);
    for (int i = 0; i < BP__CACHES; i++) {
        entry *e = find(&caches[i], &plan->key, bp__hash(plan->key.bytes, plan->key.size));
        if (e && e->plan == plan) {
            drop(&caches[i], e, &dropped);
        }
    }
    pthread_mutex_unlock(&bp__cache_mutex);
    destroy_dropped(dropped);
}

static void reset(plan_cache *cache, entry **dropped) {
    drop_all(cache, dropped);
    bp__free(cache->buckets);
    *cache = (plan_cache){.limit = cache->limit};
}

void bp__cache_reset(void) {
    entry *dropped = NULL;
    pthread_mutex_lock(&bp__cache_mutex);
    for (int i = 0; i < BP__CACHES; i++) {
        reset(&caches[i], &dropped);
    }
    pthread_mutex_unlock(&bp__cache_mutex);
    destroy_dropped(dropped);
    bp__plan_epoch_next();
}
