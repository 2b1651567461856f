/* plan_cache.c - the process-wide plan caches: of the host and of each CUDA device one for Fourier transforms and one
 * for all other operations, and one of each other device.
 *
 * Each is a hash table with a list in order of last use, limited by a setting. A call that misses its thread cache
 * looks here. Plans are made outside the lock, because that may load a library. If two threads make the same plan at
 * the same time, the second plan is discarded. */
#include "dispatch/internal.h"
#include "base/uncancelled.h"

#include "backplane/fft.h"
#include "dist/internal.h"
#include "registry/internal.h"
#include "tensor/internal.h"

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
    int32_t place;
    bp__cache_kind kind;
    atomic_llong own_limit;  /* of a device; -1: the limit in the setting */
    struct plan_cache *next; /* of another device */
} plan_cache;

static plan_cache caches[BP__CACHES] = {
    [BP__CACHE_GENERAL] = {.limit = BP_SET_plan_cache_max_size},
    [BP__CACHE_TRANSFORMS] = {.limit = BP_SET_fft_plan_cache_max_size},
};

/* Caches of devices. Only bp_reset() removes one, so that they are searched without the mutex. */
static _Atomic(plan_cache *) of_devices;

static plan_cache *find_of_device(bp__cache_kind kind, int32_t place) {
    plan_cache *cache = atomic_load_explicit(&of_devices, memory_order_acquire);
    while (cache && (cache->place != place || cache->kind != kind)) {
        cache = cache->next;
    }
    return cache;
}

/* Under the mutex. NULL: there is no memory. */
static plan_cache *new_of_device(bp__cache_kind kind, int32_t place) {
    plan_cache *cache = bp__alloc_zero(1, sizeof *cache);
    if (cache) {
        cache->limit =
            kind == BP__CACHE_TRANSFORMS ? BP_SET_cuda_cufft_plan_cache_max_size : BP_SET_plan_cache_max_size;
        cache->place = place;
        cache->kind = kind;
        atomic_init(&cache->own_limit, -1);
        cache->next = atomic_load_explicit(&of_devices, memory_order_relaxed);
        atomic_store_explicit(&of_devices, cache, memory_order_release);
    }
    return cache;
}

/* Returns the cache of a device. Without memory for it, the host's cache. */
static plan_cache *cache_of(bp__cache_kind kind, int32_t place) {
    const bp__cache_kind own = place == 0 || bp__place_is_cuda(place) ? kind : BP__CACHE_GENERAL;
    plan_cache *cache = place == 0 ? &caches[kind] : find_of_device(own, place);
    if (cache) {
        return cache;
    }
    pthread_mutex_lock(&bp__cache_mutex);
    cache = find_of_device(own, place);
    cache = cache ? cache : new_of_device(own, place);
    pthread_mutex_unlock(&bp__cache_mutex);
    return cache ? cache : &caches[kind];
}

static int64_t limit_of(const plan_cache *cache) {
    const int64_t own = cache->place == 0 ? -1 : (int64_t)atomic_load(&cache->own_limit);
    return own >= 0 ? own : bp__setting_int(cache->limit);
}

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

static entry *find_entry(plan_cache *cache, const bp__plan_key *key, uint64_t hash) {
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

static bp_plan *take_plan(plan_cache *cache, const bp__plan_key *key, uint64_t hash) {
    entry *e = find_entry(cache, key, hash);
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
    bp_plan *plan = take_plan(cache, key, hash);
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
    bp_plan *other = current ? take_plan(cache, key, hash) : NULL;
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

static bp_status get_plan(plan_cache *cache, bp_plan **plan, const bp__plan_key *key, bp__plan_maker make,
                          const void *context, bool *fresh) {
    BP__UNCANCELLED;
    uint64_t hash = bp__hash(key->bytes, key->size);
    int64_t most = limit_of(cache);
    uint64_t begun = bp__plan_epoch();
    *plan = look_up(cache, key, hash, most);
    *fresh = !*plan;
    if (*plan) {
        return BP_OK;
    }
    bp__held_error held;
    bp__error_hold(&held);
    bp_status status = make(plan, key, context);
    if (status == BP_OK && most > 0) {
        keep(cache, plan, key, hash, most, begun);
    }
    return bp__error_finish(&held, status);
}

/* Returns whether the thread's interrupt check stops the call before it makes a plan, which may take long. A thread
 * that runs part of another one's call does not ask. */
static bool is_stopped(bp_op op) {
    const bool silent = bp__interrupt_silence(true);
    bp__interrupt_silence(silent);
    return !silent && bp__operation_interrupted(op);
}

static bp_status make_for_problem(bp_plan **plan, const bp__plan_key *key, const void *problem) {
    (void)key;
    const bp_problem *of = problem;
    return is_stopped(of->op) ? BP_E_CANCELLED : bp__plan_make(plan, of, NULL);
}

bp_status bp__cache_get(bp_plan **plan, const bp_problem *problem, bool *fresh) {
    bp__plan_key key = {problem, bp__problem_size(problem)};
    plan_cache *cache = cache_of(bp__family_of(problem)->cache, problem->place);
    return get_plan(cache, plan, &key, make_for_problem, problem, fresh);
}

bp_status bp__cache_get_composed(bp_plan **plan, int32_t place, const bp__plan_key *key, bp__plan_maker make,
                                 const void *context, bool *fresh) {
    BP__TRY(bp__place_is_map(place) ? bp__map_refuse() : BP_OK);
    return get_plan(cache_of(BP__CACHE_GENERAL, place), plan, key, make, context, fresh);
}

/* Evicts plans above the limit first, because the limit may have changed. */
static bp_status stats(plan_cache *cache, bp_plan_cache_info *info) {
    BP__TRY(bp__struct_check(info, sizeof *info, "info"));
    entry *dropped = NULL;
    bp_plan_cache_info own = {.max_size = limit_of(cache)};
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

/* A device's plans are in no thread cache. */
static void clear_of_device(plan_cache *cache) {
    entry *dropped = NULL;
    pthread_mutex_lock(&bp__cache_mutex);
    drop_all(cache, &dropped);
    pthread_mutex_unlock(&bp__cache_mutex);
    destroy_dropped(dropped);
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
    for (plan_cache *c = atomic_load(&of_devices); c; c = c->next) {
        c->generation = c->generation == before ? before + 1 : c->generation;
    }
    pthread_mutex_unlock(&bp__cache_mutex);
    destroy_dropped(dropped);
    return BP_OK;
}

static int plan_at(const plan_cache *cache, int index, bp_plan **plan) {
    if (!plan) {
        return 0;
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
    return e != NULL;
}

bp_status bp_plan_cache_stats(bp_plan_cache_info *info) {
    return stats(&caches[BP__CACHE_GENERAL], info);
}

bp_status bp_plan_cache_clear(void) {
    return clear(&caches[BP__CACHE_GENERAL]);
}

int bp_plan_cache_at(bp_plan **plan, int index) {
    return plan_at(&caches[BP__CACHE_GENERAL], index, plan);
}

bp_status bp_fft_plan_cache_stats(bp_plan_cache_info *info) {
    return stats(&caches[BP__CACHE_TRANSFORMS], info);
}

bp_status bp_fft_plan_cache_clear(void) {
    return clear(&caches[BP__CACHE_TRANSFORMS]);
}

int bp_fft_plan_cache_at(bp_plan **plan, int index) {
    return plan_at(&caches[BP__CACHE_TRANSFORMS], index, plan);
}

/* Sets *cache to a cache of a device that exists. */
static bp_status named_cache(bp__cache_kind kind, int32_t place, plan_cache **cache) {
    bp_device_info info = {.struct_size = sizeof info};
    BP__TRY(bp_device_describe(place, &info));
    if (place == 0) {
        return bp__fail(BP_E_ARGUMENT, "the host has two plan caches: see bp_plan_cache_stats() and "
                                       "bp_fft_plan_cache_stats()");
    }
    *cache = cache_of(kind, place);
    return (*cache)->place == place ? BP_OK : bp__fail_memory(sizeof **cache, "the plan cache of a device");
}

static bp_status stats_of_device(bp__cache_kind kind, int32_t place, bp_plan_cache_info *info) {
    plan_cache *cache = NULL;
    BP__TRY(named_cache(kind, place, &cache));
    return stats(cache, info);
}

static bp_status clear_named(bp__cache_kind kind, int32_t place) {
    plan_cache *cache = NULL;
    BP__TRY(named_cache(kind, place, &cache));
    clear_of_device(cache);
    return BP_OK;
}

static bp_status set_max_size(bp__cache_kind kind, const char *function, int32_t place, int64_t plans) {
    plan_cache *cache = NULL;
    BP__TRY(named_cache(kind, place, &cache));
    if (plans < -1) {
        return bp__fail(BP_E_ARGUMENT, "%s: plans is %lld; it must be 0 or more, or -1 for the setting %s", function,
                        (long long)plans, bp_setting_at((int)cache->limit)->name);
    }
    atomic_store(&cache->own_limit, plans);
    return BP_OK;
}

bp_status bp_device_plan_cache_stats(int32_t place, bp_plan_cache_info *info) {
    return stats_of_device(BP__CACHE_GENERAL, place, info);
}

bp_status bp_device_plan_cache_clear(int32_t place) {
    return clear_named(BP__CACHE_GENERAL, place);
}

bp_status bp_device_set_plan_cache_max_size(int32_t place, int64_t plans) {
    return set_max_size(BP__CACHE_GENERAL, "bp_device_set_plan_cache_max_size", place, plans);
}

bp_status bp_device_fft_plan_cache_stats(int32_t place, bp_plan_cache_info *info) {
    return stats_of_device(BP__CACHE_TRANSFORMS, place, info);
}

bp_status bp_device_fft_plan_cache_clear(int32_t place) {
    return clear_named(BP__CACHE_TRANSFORMS, place);
}

bp_status bp_device_set_fft_plan_cache_max_size(int32_t place, int64_t plans) {
    return set_max_size(BP__CACHE_TRANSFORMS, "bp_device_set_fft_plan_cache_max_size", place, plans);
}

void bp__cache_forget(const bp_plan *plan) {
    entry *dropped = NULL;
    pthread_mutex_lock(&bp__cache_mutex);
    for (int i = 0; i < BP__CACHES; i++) {
        entry *e = find_entry(&caches[i], &plan->key, bp__hash(plan->key.bytes, plan->key.size));
        if (e && e->plan == plan) {
            drop(&caches[i], e, &dropped);
        }
    }
    pthread_mutex_unlock(&bp__cache_mutex);
    destroy_dropped(dropped);
}

static void reset(plan_cache *cache, entry **dropped) {
    const bp_setting_id limit = cache->limit;
    drop_all(cache, dropped);
    bp__free(cache->buckets);
    memset(cache, 0, sizeof *cache);
    cache->limit = limit;
}

static void reset_of_devices(entry **dropped) {
    plan_cache *cache = atomic_exchange(&of_devices, NULL);
    while (cache) {
        plan_cache *next = cache->next;
        reset(cache, dropped);
        bp__free(cache);
        cache = next;
    }
}

void bp__cache_reset(void) {
    entry *dropped = NULL;
    pthread_mutex_lock(&bp__cache_mutex);
    for (int i = 0; i < BP__CACHES; i++) {
        reset(&caches[i], &dropped);
    }
    reset_of_devices(&dropped);
    pthread_mutex_unlock(&bp__cache_mutex);
    destroy_dropped(dropped);
    bp__plan_epoch_next();
}
