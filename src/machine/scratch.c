/* scratch.c - keeps one block of scratch memory for each thread, grown on demand, for running plans; one of workspace,
 * for an operation that runs others; and one for providers.
 *
 * Every thread's record is in one list, so that bp_reset() can free all blocks, and a child of fork the blocks of the
 * threads that no longer exist. Growing takes the lock. So does saving a block while the host program's executor runs,
 * because the executor may begin another operation in the same thread, which needs a different block.
 *
 * A block is often larger than requested. The code tells AddressSanitizer the requested size; otherwise it would not
 * detect an operation that writes beyond it.
 */
#include "machine/pool.h"

#include "machine/internal.h"

#include <pthread.h>

#if defined(__SANITIZE_ADDRESS__)
#define FENCES
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FENCES
#endif
#endif
#ifdef FENCES /* declarations of the sanitizer, because its header belongs to the compiler */
void __asan_poison_memory_region(const volatile void *start, size_t size);
void __asan_unpoison_memory_region(const volatile void *start, size_t size);
#endif

/* A block that grows to the last requested size. */
typedef struct piece {
    void *memory;
    size_t size;
} piece;

typedef struct record {
    void *block;
    size_t size;
    bp__scratch_held *held; /* blocks of this thread's waiting operations */
    piece space;            /* workspace */
    bool space_taken;
    piece lent; /* to a provider */
    struct record *next;
    struct record **link; /* the pointer to this record; NULL while it is not in the list */
} record;

static _Thread_local record mine;
static record *records;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t key;
static bool have_key;

/* Allows the use of `size` bytes of the block. */
static void *fenced(const record *r, size_t size) {
#ifdef FENCES
    if (r->block) {
        __asan_unpoison_memory_region(r->block, size);
        __asan_poison_memory_region((char *)r->block + size, r->size - size);
    }
#else
    (void)size;
#endif
    return r->block;
}

static void release(record *r) {
    fenced(r, r->size);
    bp__free_aligned(r->block);
    r->block = NULL;
    r->size = 0;
}

static void release_piece(piece *p) {
    bp__free_aligned(p->memory);
    *p = (piece){0};
}

static void release_all(record *r) {
    release(r);
    release_piece(&r->space);
    release_piece(&r->lent);
}

static void put_on(record *r) {
    r->next = records;
    r->link = &records;
    if (records) {
        records->link = &r->next;
    }
    records = r;
}

static void take_off(record *r) {
    *r->link = r->next;
    if (r->next) {
        r->next->link = r->link;
    }
    r->link = NULL;
}

static void at_thread_end(void *r) {
    pthread_mutex_lock(&mutex);
    release_all(r);
    take_off(r);
    pthread_mutex_unlock(&mutex);
}

static void make_key(void) {
    have_key = pthread_key_create(&key, at_thread_end) == 0;
}

/* Adds the record to the list and registers a destructor that removes it again. Without a destructor it is not added.
 */
static bool enlist(record *r) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_key);
    if (!have_key || pthread_setspecific(key, r) != 0) {
        return false;
    }
    put_on(r);
    return true;
}

static void *grow(size_t size) {
    bp__fork_count();
    pthread_mutex_lock(&mutex);
    if (mine.link || enlist(&mine)) {
        release(&mine);
        /* Slightly more than requested, so that slowly growing sizes do not allocate each time. */
        size_t rounded = size < SIZE_MAX / 2 ? size + size / 8 + 4096 : size;
        mine.block = bp__alloc_aligned(rounded);
        if (!mine.block && rounded != size) {
            rounded = size;
            mine.block = bp__alloc_aligned(rounded);
        }
        mine.size = mine.block ? rounded : 0;
    }
    pthread_mutex_unlock(&mutex);
    return fenced(&mine, size);
}

void *bp__scratch(size_t size) {
    return BP__LIKELY(size <= mine.size && mine.block) ? fenced(&mine, size) : grow(size);
}

/* Grows a block of this thread's record. */
static void *grow_piece(piece *p, size_t size) {
    bp__fork_count();
    pthread_mutex_lock(&mutex);
    if (mine.link || enlist(&mine)) {
        release_piece(p);
        p->memory = bp__alloc_aligned(size);
        p->size = p->memory ? size : 0;
    }
    pthread_mutex_unlock(&mutex);
    return p->memory;
}

void *bp__workspace_take(size_t size) {
    if (mine.space_taken || size > BP__WORKSPACE_KEPT) {
        return bp__alloc_aligned(size);
    }
    if (BP__UNLIKELY(size > mine.space.size) && !grow_piece(&mine.space, size)) {
        return NULL;
    }
    mine.space_taken = true;
    return mine.space.memory;
}

void bp__workspace_give(void *block) {
    if (mine.space_taken && block == mine.space.memory) {
        mine.space_taken = false;
    } else {
        bp__free_aligned(block);
    }
}

void *bp__provider_scratch(size_t size) {
    return BP__LIKELY(size <= mine.lent.size && mine.lent.memory) ? mine.lent.memory : grow_piece(&mine.lent, size);
}

void bp__scratch_hold(bp__scratch_held *held) {
    *held = (bp__scratch_held){.block = mine.block, .size = mine.size, .outer = mine.held};
    if (held->block) {
        pthread_mutex_lock(&mutex);
        mine.block = NULL;
        mine.size = 0;
        mine.held = held;
        pthread_mutex_unlock(&mutex);
    }
}

/* Restores a saved block. The operation that last used the current block has finished, or has saved it with
 * bp__scratch_hold(). */
void bp__scratch_return(bp__scratch_held *held) {
    if (!held->block) {
        return;
    }
    pthread_mutex_lock(&mutex);
    bp__scratch_held **link = &mine.held;
    while (*link != held) {
        link = &(*link)->outer;
    }
    *link = held->outer;
    release(&mine);
    mine.block = held->block;
    mine.size = held->size;
    pthread_mutex_unlock(&mutex);
}

void bp__scratch_reset(void) {
    pthread_mutex_lock(&mutex);
    for (record *r = records; r; r = r->next) {
        release_all(r);
    }
    pthread_mutex_unlock(&mutex);
}

void bp__scratch_lock(void) {
    pthread_mutex_lock(&mutex);
}

void bp__scratch_unlock(void) {
    pthread_mutex_unlock(&mutex);
}

/* Frees the records of threads that do not exist in the child. They are in thread-local memory and on stacks that new
 * threads will reuse. */
void bp__scratch_forget_others(void) {
    bool listed = mine.link != NULL;
    while (records) {
        record *r = records;
        records = r->next; /* all are removed, so the link of the next one need not be updated */
        r->link = NULL;
        if (r != &mine) {
            release_all(r);
            for (bp__scratch_held *held = r->held; held; held = held->outer) {
                release(&(record){.block = held->block, .size = held->size});
            }
        }
    }
    if (listed) { /* with or without a block: its key is set, so it is removed when the thread ends */
        put_on(&mine);
    }
}
