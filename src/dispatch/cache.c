/* cache.c - the process-wide plan cache: a hash table with a list by last use, bounded by plan_cache.max_size.
 *
 * It is asked when a thread's own short list (call.c) does not know a call. Plans are made outside the lock, because
 * that may load a library; when two threads make the same plan at once, the second one's is thrown away. */
#include "dispatch/internal.h"

#include "registry/internal.h"

#include <string.h>

pthread_mutex_t bp__cache_mutex = PTHREAD_MUTEX_INITIALIZER;

typedef struct entry {
    struct entry *chain;          /* same bucket */
    struct entry *before, *after; /* by last use: `before` was used more recently */
    uint64_t hash;
    bp_plan *plan;
} entry;

static struct {
    entry **buckets;
    size_t bucket_count; /* a power of two, 0 before the first plan */
    entry *first, *last; /* most and least recently used */
    int64_t size;
    uint64_t hits, misses, evictions;
    uint64_t generation; /* of the entries */
} cache;

static atomic_uint_least32_t generation = 1;

uint64_t bp__generation(void) {
    return (uint64_t)bp__library_lists() << 32 | atomic_load_explicit(&generation, memory_order_acquire);
}

void bp__generation_next(void) {
    atomic_fetch_add_explicit(&generation, 1, memory_order_acq_rel);
}

static void unlink_use(entry *e) {
    *(e->before ? &e->before->after : &cache.first) = e->after;
    *(e->after ? &e->after->before : &cache.last) = e->before;
    e->before = e->after = NULL;
}

static void link_first(entry *e) {
    e->after = cache.first;
    if (cache.first) {
        cache.first->before = e;
    }
    cache.first = e;
    if (!cache.last) {
        cache.last = e;
    }
}

static entry *find(const bp_problem *problem, uint64_t hash) {
    if (cache.bucket_count == 0) {
        return NULL;
    }
    for (entry *e = cache.buckets[hash & (cache.bucket_count - 1)]; e; e = e->chain) {
        if (e->hash == hash && memcmp(&e->plan->problem, problem, sizeof *problem) == 0) {
            return e;
        }
    }
    return NULL;
}

static void drop(entry *e) {
    entry **at = &cache.buckets[e->hash & (cache.bucket_count - 1)];
    while (*at != e) {
        at = &(*at)->chain;
    }
    *at = e->chain;
    unlink_use(e);
    cache.size--;
    bp_plan_release(e->plan);
    bp__free(e);
}

static void drop_all(void) {
    while (cache.first) {
        drop(cache.first);
    }
}

/* Entries of an older generation were made for another list of libraries, or before a fork. */
static void forget_old_generation(void) {
    uint64_t now = bp__generation();
    if (cache.generation != now) {
        drop_all();
        cache.generation = now;
    }
}

static void grow(void) {
    size_t count = cache.bucket_count ? cache.bucket_count * 2 : 64;
    entry **buckets = bp__alloc_zero(count, sizeof *buckets);
    if (!buckets) {
        return; /* longer chains, no failure */
    }
    for (entry *e = cache.first; e; e = e->after) {
        entry **at = &buckets[e->hash & (count - 1)];
        e->chain = *at;
        *at = e;
    }
    bp__free(cache.buckets);
    cache.buckets = buckets;
    cache.bucket_count = count;
}

/* Takes one more reference to the plan; where memory is short the plan is simply not kept. */
static void insert(bp_plan *plan, uint64_t hash) {
    if ((size_t)cache.size >= cache.bucket_count) {
        grow();
    }
    entry *e = cache.bucket_count ? bp__alloc_zero(1, sizeof *e) : NULL;
    if (!e) {
        return;
    }
    e->hash = hash;
    e->plan = plan;
    bp__plan_retain(plan);
    entry **at = &cache.buckets[hash & (cache.bucket_count - 1)];
    e->chain = *at;
    *at = e;
    link_first(e);
    cache.size++;
}

static void trim(int64_t most) {
    while (cache.size > most) {
        drop(cache.last);
        cache.evictions++;
    }
}

static bp_plan *take(const bp_problem *problem, uint64_t hash) {
    entry *e = find(problem, hash);
    if (!e) {
        return NULL;
    }
    unlink_use(e);
    link_first(e);
    bp__plan_retain(e->plan);
    return e->plan;
}

bp_status bp__cache_get(bp_plan **plan, const bp_problem *problem, bool *fresh) {
    uint64_t hash = bp__hash(problem, sizeof *problem);
    int64_t most = bp__setting_int(BP_SET_plan_cache_max_size);
    pthread_mutex_lock(&bp__cache_mutex);
    forget_old_generation();
    trim(most);
    *plan = take(problem, hash);
    *(*plan ? &cache.hits : &cache.misses) += 1;
    pthread_mutex_unlock(&bp__cache_mutex);
    *fresh = !*plan;
    if (*plan) {
        return BP_OK;
    }
    BP__TRY(bp__plan_make(plan, problem, 0));
    if (most > 0) {
        pthread_mutex_lock(&bp__cache_mutex);
        forget_old_generation();
        bp_plan *other = take(problem, hash);
        if (other) {
            bp_plan_release(*plan);
            *plan = other;
        } else {
            insert(*plan, hash);
            trim(most);
        }
        pthread_mutex_unlock(&bp__cache_mutex);
    }
    return BP_OK;
}

bp_status bp_plan_cache_stats(bp_plan_cache_info *info) {
    if (!info || info->struct_size != sizeof *info) {
        return bp__fail(BP_E_ARGUMENT, "bp_plan_cache_stats: info->struct_size must be %zu", sizeof *info);
    }
    info->max_size = bp__setting_int(BP_SET_plan_cache_max_size);
    pthread_mutex_lock(&bp__cache_mutex);
    info->size = cache.size;
    info->hits = cache.hits;
    info->misses = cache.misses;
    info->evictions = cache.evictions;
    pthread_mutex_unlock(&bp__cache_mutex);
    return BP_OK;
}

bp_status bp_plan_cache_clear(void) {
    bp__generation_next();
    pthread_mutex_lock(&bp__cache_mutex);
    forget_old_generation();
    pthread_mutex_unlock(&bp__cache_mutex);
    return BP_OK;
}

bp_status bp_plan_cache_at(int index, bp_plan **plan) {
    if (!plan) {
        return bp__fail(BP_E_ARGUMENT, "bp_plan_cache_at: plan must not be NULL");
    }
    *plan = NULL;
    pthread_mutex_lock(&bp__cache_mutex);
    entry *e = index < 0 ? NULL : cache.first;
    for (int i = 0; e && i < index; i++) {
        e = e->after;
    }
    if (e) {
        bp__plan_retain(e->plan);
        *plan = e->plan;
    }
    pthread_mutex_unlock(&bp__cache_mutex);
    return e ? BP_OK : bp__fail(BP_E_NOT_FOUND, "the plan cache holds no plan number %d", index);
}

void bp__cache_reset(void) {
    pthread_mutex_lock(&bp__cache_mutex);
    drop_all();
    bp__free(cache.buckets);
    memset(&cache, 0, sizeof cache);
    pthread_mutex_unlock(&bp__cache_mutex);
    bp__generation_next();
}
