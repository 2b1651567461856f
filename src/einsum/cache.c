/* cache.c - caches paths by everything that they depend on.
 *
 * It is a hash table with a list in order of last use, limited by einsum.path_cache.max_size. Paths are searched
 * outside the lock. If two threads search for the same path at the same time, each uses its own, and the cache keeps
 * the first. */
#include "einsum/internal.h"

#include "settings/internal.h"

#include <pthread.h>
#include <string.h>

#define BUCKETS 1024

typedef struct entry {
    struct entry *chain;          /* next entry in the same bucket */
    struct entry *before, *after; /* order of last use: `before` was used more recently */
    bp_contraction_path *path;
    uint64_t hash;
    size_t size;
    unsigned char key[];
} entry;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static entry *buckets[BUCKETS];
static entry *first, *last; /* most and least recently used */
static int64_t count;
static uint64_t hits, misses, evictions;

static void unlink_use(entry *e) {
    *(e->before ? &e->before->after : &first) = e->after;
    *(e->after ? &e->after->before : &last) = e->before;
    e->before = e->after = NULL;
}

static void link_first(entry *e) {
    e->after = first;
    *(first ? &first->before : &last) = e;
    first = e;
}

static entry *find_entry(const void *key, size_t size, uint64_t hash) {
    entry *e = buckets[hash % BUCKETS];
    while (e && (e->hash != hash || e->size != size || memcmp(e->key, key, size) != 0)) {
        e = e->chain;
    }
    return e;
}

static void drop(entry *e) {
    entry **at = &buckets[e->hash % BUCKETS];
    while (*at != e) {
        at = &(*at)->chain;
    }
    *at = e->chain;
    unlink_use(e);
    count--;
    bp__path_drop(e->path);
    bp__free(e);
}

static void trim(int64_t most) {
    while (count > most) {
        drop(last);
        evictions++;
    }
}

bp_contraction_path *bp__path_cache_find(const void *key, size_t size) {
    uint64_t hash = bp__hash(key, size);
    int64_t most = bp__setting_int(BP_SET_einsum_path_cache_max_size);
    pthread_mutex_lock(&mutex);
    trim(most);
    entry *e = find_entry(key, size, hash);
    bp_contraction_path *path = e ? e->path : NULL;
    if (e) {
        unlink_use(e);
        link_first(e);
        atomic_fetch_add_explicit(&path->references, 1, memory_order_relaxed);
    }
    *(e ? &hits : &misses) += 1;
    pthread_mutex_unlock(&mutex);
    return path;
}

/* If memory is short, the path is not cached. */
void bp__path_cache_keep(const void *key, size_t size, bp_contraction_path *path) {
    int64_t most = bp__setting_int(BP_SET_einsum_path_cache_max_size);
    entry *e = most > 0 ? bp__alloc(sizeof *e + size) : NULL;
    if (!e) {
        return;
    }
    *e = (entry){.path = path, .hash = bp__hash(key, size), .size = size};
    memcpy(e->key, key, size);
    pthread_mutex_lock(&mutex);
    bool there = find_entry(key, size, e->hash) != NULL;
    if (!there) {
        atomic_fetch_add_explicit(&path->references, 1, memory_order_relaxed);
        e->chain = buckets[e->hash % BUCKETS];
        buckets[e->hash % BUCKETS] = e;
        link_first(e);
        count++;
        trim(most);
    }
    pthread_mutex_unlock(&mutex);
    if (there) {
        bp__free(e);
    }
}

bp_status bp_einsum_path_cache_stats(bp_plan_cache_info *info) {
    BP__TRY(bp__struct_check(info, sizeof *info, "info"));
    bp_plan_cache_info own = {.max_size = bp__setting_int(BP_SET_einsum_path_cache_max_size)};
    pthread_mutex_lock(&mutex);
    own.size = count;
    own.hits = hits;
    own.misses = misses;
    own.evictions = evictions;
    pthread_mutex_unlock(&mutex);
    bp__struct_write(info, &own, sizeof own);
    return BP_OK;
}

static void drop_all(void) {
    while (first) {
        drop(first);
    }
}

bp_status bp_einsum_path_cache_clear(void) {
    pthread_mutex_lock(&mutex);
    drop_all();
    pthread_mutex_unlock(&mutex);
    return BP_OK;
}

void bp__einsum_reset(void) {
    pthread_mutex_lock(&mutex);
    drop_all();
    hits = misses = evictions = 0;
    pthread_mutex_unlock(&mutex);
}

void bp__einsum_fork_lock(void) {
    pthread_mutex_lock(&mutex);
}

void bp__einsum_fork_unlock(void) {
    pthread_mutex_unlock(&mutex);
}
