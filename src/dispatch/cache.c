/* cache.c - the process-wide plan caches, one for Fourier transforms and one for everything else: hash tables with a
 * list by last use, bounded by plan_cache.max_size and fft.plan_cache.max_size.
 *
 * It is asked when a thread's own short list (call.c) does not know a call. Plans are made outside the lock, because
 * that may load a library; when two threads make the same plan at once, the second one's is thrown away. */
#include "dispatch/internal.h"

#include "backplane/fft.h"
#include "registry/internal.h"

#include <string.h>

pthread_mutex_t bp__cache_mutex = PTHREAD_MUTEX_INITIALIZER;

typedef struct entry {
    struct entry *chain;          /* same bucket */
    struct entry *before, *after; /* by last use: `before` was used more recently */
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
    uint64_t generation; /* of the entries */
} plan_cache;

static plan_cache general = {.limit = BP_SET_plan_cache_max_size};
static plan_cache transforms = {.limit = BP_SET_fft_plan_cache_max_size};

static plan_cache *cache_of(const bp_problem *problem) {
    return problem->op == BP_OP_FFT ? &transforms : &general;
}

/* Problems are hashed and compared by their bytes, so that none may be padding, which nothing keeps zero. */
_Static_assert(sizeof(bp_policy) == 6 * 4, "bytes between the fields of a policy");
_Static_assert(sizeof(bp_gemm_problem) == (9 + 2 + 1 + 4 * BP_MAX_BATCH_NDIM) * 8, "bytes between the fields");
_Static_assert(sizeof(bp_fft_problem) == (4 + 4 * BP_MAX_FFT_NDIM + 3 * BP_MAX_BATCH_NDIM) * 8,
               "bytes between the fields");
_Static_assert(sizeof(bp_linalg_operand) == (5 + BP_MAX_BATCH_NDIM) * 8, "bytes between the fields");
_Static_assert(sizeof(bp_linalg_problem) ==
                   (9 + BP_MAX_BATCH_NDIM) * 8 + BP_LINALG_OPERANDS * sizeof(bp_linalg_operand),
               "bytes between the fields");
_Static_assert(sizeof(bp_contract_problem) == (2 + 4 * BP_MAX_CONTRACT_NDIM) * 8, "bytes between the fields");
_Static_assert(offsetof(bp_problem, of) == 4 * 4 + sizeof(bp_policy), "bytes between the fields");

/* Bytes of a problem that say something: the union holds other operations too. */
size_t bp__problem_size(const bp_problem *problem) {
    size_t part = problem->op == BP_OP_GEMM       ? sizeof problem->of.gemm
                  : problem->op == BP_OP_FFT      ? sizeof problem->of.fft
                  : problem->op == BP_OP_CONTRACT ? sizeof problem->of.contract
                                                  : sizeof problem->of.linalg;
    return offsetof(bp_problem, of) + part;
}

static atomic_uint_least32_t generation = 1;

uint64_t bp__generation(void) {
    return (uint64_t)bp__library_lists() << 32 | atomic_load_explicit(&generation, memory_order_acquire);
}

void bp__generation_next(void) {
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

static void drop(plan_cache *cache, entry *e) {
    entry **at = &cache->buckets[e->hash & (cache->bucket_count - 1)];
    while (*at != e) {
        at = &(*at)->chain;
    }
    *at = e->chain;
    unlink_use(cache, e);
    cache->size--;
    bp_plan_release(e->plan);
    bp__free(e);
}

static void drop_all(plan_cache *cache) {
    while (cache->first) {
        drop(cache, cache->first);
    }
}

/* Entries of an older generation were made for another list of libraries, or before a fork. */
static void forget_old_generation(plan_cache *cache) {
    uint64_t now = bp__generation();
    if (cache->generation != now) {
        drop_all(cache);
        cache->generation = now;
    }
}

static void grow(plan_cache *cache) {
    size_t count = cache->bucket_count ? cache->bucket_count * 2 : 64;
    entry **buckets = bp__alloc_zero(count, sizeof *buckets);
    if (!buckets) {
        return; /* longer chains, no failure */
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

/* Takes one more reference to the plan; where memory is short the plan is simply not kept. */
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

static void trim(plan_cache *cache, int64_t most) {
    while (cache->size > most) {
        drop(cache, cache->last);
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

static bp_status get(plan_cache *cache, bp_plan **plan, const bp__plan_key *key, bp__plan_maker make,
                     const void *context, bool *fresh) {
    uint64_t hash = bp__hash(key->bytes, key->size);
    int64_t most = bp__setting_int(cache->limit);
    pthread_mutex_lock(&bp__cache_mutex);
    forget_old_generation(cache);
    trim(cache, most);
    *plan = take(cache, key, hash);
    *(*plan ? &cache->hits : &cache->misses) += 1;
    pthread_mutex_unlock(&bp__cache_mutex);
    *fresh = !*plan;
    if (*plan) {
        return BP_OK;
    }
    BP__TRY(make(plan, key, context));
    if (most > 0) {
        pthread_mutex_lock(&bp__cache_mutex);
        forget_old_generation(cache);
        bp_plan *other = take(cache, key, hash);
        if (other) {
            bp_plan_release(*plan);
            *plan = other;
        } else {
            insert(cache, *plan, hash);
            trim(cache, most);
        }
        pthread_mutex_unlock(&bp__cache_mutex);
    }
    return BP_OK;
}

static bp_status make_for_problem(bp_plan **plan, const bp__plan_key *key, const void *problem) {
    (void)key;
    return bp__plan_make(plan, problem, 0, "");
}

bp_status bp__cache_get(bp_plan **plan, const bp_problem *problem, bool *fresh) {
    bp__plan_key key = {problem, bp__problem_size(problem)};
    return get(cache_of(problem), plan, &key, make_for_problem, problem, fresh);
}

bp_status bp__cache_get_composed(bp_plan **plan, const bp__plan_key *key, bp__plan_maker make, const void *context,
                                 bool *fresh) {
    return get(&general, plan, key, make, context, fresh);
}

/* What is more than the bound, which may have changed since, is thrown away first. */
static bp_status stats(plan_cache *cache, const char *function, bp_plan_cache_info *info) {
    if (!info || info->struct_size != sizeof *info) {
        return bp__fail(BP_E_ARGUMENT, "%s: info->struct_size must be %zu", function, sizeof *info);
    }
    info->max_size = bp__setting_int(cache->limit);
    pthread_mutex_lock(&bp__cache_mutex);
    trim(cache, info->max_size);
    info->size = cache->size;
    info->hits = cache->hits;
    info->misses = cache->misses;
    info->evictions = cache->evictions;
    pthread_mutex_unlock(&bp__cache_mutex);
    return BP_OK;
}

/* A new generation makes the threads' short lists forget their plans as well. The other cache's plans go over to it,
 * unless the generation changed for another reason at the same moment. */
static bp_status clear(plan_cache *cache) {
    plan_cache *all[] = {&general, &transforms};
    pthread_mutex_lock(&bp__cache_mutex);
    uint64_t before = bp__generation();
    bp__generation_next();
    drop_all(cache);
    for (int i = 0; i < BP__COUNT(all); i++) {
        if (all[i]->generation == before) {
            all[i]->generation = before + 1;
        }
    }
    pthread_mutex_unlock(&bp__cache_mutex);
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
        *plan = e->plan;
    }
    pthread_mutex_unlock(&bp__cache_mutex);
    return e ? BP_OK : bp__fail(BP_E_NOT_FOUND, "the plan cache holds no plan number %d", index);
}

bp_status bp_plan_cache_stats(bp_plan_cache_info *info) {
    return stats(&general, "bp_plan_cache_stats", info);
}

bp_status bp_plan_cache_clear(void) {
    return clear(&general);
}

bp_status bp_plan_cache_at(int index, bp_plan **plan) {
    return plan_at(&general, "bp_plan_cache_at", index, plan);
}

bp_status bp_fft_plan_cache_stats(bp_plan_cache_info *info) {
    return stats(&transforms, "bp_fft_plan_cache_stats", info);
}

bp_status bp_fft_plan_cache_clear(void) {
    return clear(&transforms);
}

bp_status bp_fft_plan_cache_at(int index, bp_plan **plan) {
    return plan_at(&transforms, "bp_fft_plan_cache_at", index, plan);
}

static void reset(plan_cache *cache) {
    drop_all(cache);
    bp__free(cache->buckets);
    *cache = (plan_cache){.limit = cache->limit};
}

void bp__cache_reset(void) {
    pthread_mutex_lock(&bp__cache_mutex);
    reset(&general);
    reset(&transforms);
    pthread_mutex_unlock(&bp__cache_mutex);
    bp__generation_next();
}
