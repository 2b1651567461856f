/* thread_cache.c - makes and frees the thread caches.
 *
 * A cache is made on first use, and freed when its thread ends or by bp_reset. */
#include "dispatch/thread_cache.h"

#include "machine/internal.h"

pthread_mutex_t bp__thread_cache_mutex = PTHREAD_MUTEX_INITIALIZER;
static bp__thread_cache *all_lists;
static pthread_key_t ending;
static atomic_bool ending_ready;
/* Number of bp_reset() calls; a thread whose saved number differs has lost its cache. */
static atomic_uint_least32_t resets;

static void free_list(bp__thread_cache *cache) {
    for (int i = 0; i < BP__THREAD_CACHE_SLOTS; i++) {
        bp__plan_release(cache->slots[i].plan);
    }
    bp__plan_release(cache->described);
    bp__plan_release(cache->stand_in);
    bp__free(cache);
}

void bp__thread_cache_check(void) {
    if (bp__thread.resets != atomic_load_explicit(&resets, memory_order_acquire)) {
        bp__thread.cache = NULL;
    }
}

/* Frees the cache when a thread ends. The argument only says that a cache existed; a reset may have freed it. */
static void end_list(void *argument) {
    (void)argument;
    pthread_mutex_lock(&bp__thread_cache_mutex);
    bp__thread_cache_check(); /* under the mutex, because another thread may be about to reset */
    bp__thread_cache *cache = bp__thread.cache;
    if (cache) {
        *cache->link = cache->next;
        if (cache->next) {
            cache->next->link = cache->link;
        }
    }
    pthread_mutex_unlock(&bp__thread_cache_mutex);
    bp__thread.cache = NULL;
    if (cache) {
        free_list(cache);
    }
}

bp__thread_cache *bp__thread_cache_list(void) {
    bp__thread_cache_check();
    if (BP__LIKELY(bp__thread.cache != NULL)) {
        return bp__thread.cache;
    }
    bp__thread_cache *cache = bp__alloc_zero(1, sizeof *cache);
    if (!cache) {
        return NULL;
    }
    pthread_mutex_lock(&bp__thread_cache_mutex);
    if (!atomic_load(&ending_ready) && pthread_key_create(&ending, end_list) == 0) {
        atomic_store(&ending_ready, true);
    }
    bool kept = atomic_load(&ending_ready) && pthread_setspecific(ending, cache) == 0;
    if (kept) {
        cache->next = all_lists;
        cache->link = &all_lists;
        if (all_lists) {
            all_lists->link = &cache->next;
        }
        all_lists = cache;
    }
    pthread_mutex_unlock(&bp__thread_cache_mutex);
    if (!kept) {
        bp__free(cache);
        return NULL;
    }
    cache->last = &cache->slots[0];
    bp__thread.cache = cache;
    bp__thread.resets = atomic_load_explicit(&resets, memory_order_relaxed);
    return cache;
}

void bp__thread_cache_reset(void) {
    pthread_mutex_lock(&bp__thread_cache_mutex);
    bp__thread_cache *cache = all_lists;
    all_lists = NULL;
    atomic_fetch_add_explicit(&resets, 1, memory_order_release);
    pthread_mutex_unlock(&bp__thread_cache_mutex);
    while (cache) {
        bp__thread_cache *next = cache->next;
        free_list(cache);
        cache = next;
    }
    bp__thread_cache_check();
    bp__thread.last_serial = 0;
}

void bp__thread_cache_describe(bp_plan *plan) {
    bp__thread_cache *cache = bp__thread_cache_list();
    if (cache) {
        bp__plan_retain(plan);
        bp__plan_release(cache->described);
        cache->described = plan;
    }
}

static bool is_uncached(const bp_plan *plan) {
    return bp__thread.uncached >> bp__family_of(&plan->problem)->cache & 1;
}

/* While the host program's executor runs the tasks of a call, it may start further calls in this thread. The thread's
 * interrupt check may do so as well. The outer call uses the reference in its slot, so no slot gets another plan until
 * that call returns. */
static bool may_run_a_slot(void) {
    return bp__executor_awaited() || bp__interrupt_check_runs();
}

/* Returns the slot for the key, or NULL if the thread must not cache the plan under it. Calls on devices are not
 * cached: addresses are compared in the thread cache, and there are none. */
static bp__slot *slot_for(bp__thread_cache *cache, const bp__call_key *key, const bp_plan *plan) {
    if (!cache || plan->problem.place != 0 || is_uncached(plan) || key->count == 0 || bp__thread.policy == 0) {
        return NULL;
    }
    if (bp__settings_epoch() != bp__thread.epoch) {
        return NULL; /* another thread changed settings since the key was made: plan and key may not match */
    }
    bp__slot *s = &cache->slots[bp__hash_key(key) & (BP__THREAD_CACHE_SLOTS - 1)];
    return s->plan && may_run_a_slot() ? NULL : s;
}

bp__slot *bp__thread_cache_remember(const bp__call_key *key, bp_plan *plan) {
    bp__thread_cache *cache = bp__thread_cache_list();
    bp__slot *s = slot_for(cache, key, plan);
    bp__plan_retain(plan);
    if (!s) {
        bp__thread_cache_keep_stand_in(plan); /* the plan cache may release it at any time */
        return NULL;
    }
    bp__plan_release(s->plan);
    s->plan = plan;
    s->hash = bp__hash_key(key);
    s->key = *key;
    cache->last = s;
    return s;
}

void bp__thread_cache_keep_stand_in(bp_plan *plan) {
    bp__thread_cache *cache = bp__thread_cache_list();
    if (cache) {
        bp__plan_release(cache->stand_in);
        cache->stand_in = plan;
    } else {
        bp__plan_release(plan);
    }
}

/* The plan stays alive as the thread's last one. */
void bp__thread_cache_forget(const bp_plan *plan) {
    bp__thread_cache *cache = bp__thread.cache;
    bp_plan *kept = (bp_plan *)plan; /* counts references */
    if (!cache || may_run_a_slot()) {
        return;
    }
    bp__plan_retain(kept);
    for (int i = 0; i < BP__THREAD_CACHE_SLOTS; i++) {
        if (cache->slots[i].plan == plan) {
            cache->slots[i].plan = NULL;
            bp__plan_release(kept);
        }
    }
    bp__thread_cache_keep_stand_in(kept);
}
