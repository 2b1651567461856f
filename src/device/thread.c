/* thread.c - keeps each thread's queue for each device: the one that it uses, and its default one.
 *
 * Every thread's record is in one list, so that bp_reset() can close the queues of all threads. Only its own thread
 * changes a record, otherwise under the mutex.
 */
#include "device/private.h"
#include "base/uncancelled.h"

typedef struct entry {
    const bp__device *device;
    bp_queue *chosen; /* by bp_queue_use(); NULL: the default one is used */
    bp_queue *own;    /* NULL: none was needed yet */
} entry;

typedef struct record {
    entry *entries;
    int count, capacity;
    struct record *next;
    struct record **link; /* the pointer to this record; NULL while it is not in the list */
} record;

pthread_mutex_t bp__threads_mutex = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local record mine;
static record *records;
static pthread_key_t key;
static bool have_key;

static void take_off(record *r) {
    *r->link = r->next;
    if (r->next) {
        r->next->link = r->link;
    }
    r->link = NULL;
}

/* Takes what a record has, for dropping without the mutex. */
static record empty(record *r) {
    const record had = *r;
    r->entries = NULL;
    r->count = r->capacity = 0;
    return had;
}

static void drop_all(const record *had) {
    for (int i = 0; i < had->count; i++) {
        if (had->entries[i].chosen) {
            bp__queue_drop(had->entries[i].chosen);
        }
        if (had->entries[i].own) {
            bp__queue_drop(had->entries[i].own);
        }
    }
    bp__free(had->entries);
}

static void at_thread_end(void *r) {
    pthread_mutex_lock(&bp__threads_mutex);
    const record had = empty(r);
    if (had.link) {
        take_off(r);
    }
    pthread_mutex_unlock(&bp__threads_mutex);
    drop_all(&had);
}

static void make_key(void) {
    have_key = pthread_key_create(&key, at_thread_end) == 0;
}

/* Adds the thread's record to the list. Without a destructor, its queues could not be closed. */
static bp_status enlist(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_key);
    if (!have_key || pthread_setspecific(key, &mine) != 0) {
        return bp__fail(BP_E_SYSTEM, "the queues of a thread cannot be kept: there are no more keys for thread data");
    }
    mine.next = records;
    mine.link = &records;
    if (records) {
        records->link = &mine.next;
    }
    records = &mine;
    return BP_OK;
}

static bp_status grow(void) {
    const int capacity = mine.capacity ? 2 * mine.capacity : 4;
    entry *larger = bp__realloc(mine.entries, (size_t)capacity * sizeof *larger);
    if (!larger) {
        return bp__fail_memory((size_t)capacity * sizeof *larger, "the queues of a thread");
    }
    mine.entries = larger;
    mine.capacity = capacity;
    return BP_OK;
}

static entry *find_entry(const bp__device *device) {
    for (int i = 0; i < mine.count; i++) {
        if (mine.entries[i].device == device) {
            return &mine.entries[i];
        }
    }
    return NULL;
}

/* Returns the thread's entry for the device, which it makes; NULL with an error. */
static entry *entry_for(const bp__device *device) {
    entry *found = find_entry(device);
    if (BP__LIKELY(found != NULL)) {
        return found;
    }
    pthread_mutex_lock(&bp__threads_mutex);
    bp_status status = mine.link ? BP_OK : enlist();
    status = status == BP_OK && mine.count == mine.capacity ? grow() : status;
    if (status == BP_OK) {
        found = &mine.entries[mine.count++];
        *found = (entry){.device = device};
    }
    pthread_mutex_unlock(&bp__threads_mutex);
    return found;
}

bp_status bp__thread_queue(bp__device *device, bp_queue **queue) {
    entry *own = entry_for(device);
    if (!own) {
        return bp_last_status();
    }
    *queue = own->chosen ? own->chosen : own->own;
    if (BP__LIKELY(*queue != NULL)) {
        return BP_OK;
    }
    BP__TRY(bp__queue_open(device, 0, NULL, queue));
    own->own = *queue;
    return BP_OK;
}

bp_status bp_queue_use(int32_t place, bp_queue *queue) {
    BP__UNCANCELLED;
    bp__device *device;
    BP__TRY(bp__device_ready(place, &device));
    if (queue && queue->device != device) {
        return bp__fail(BP_E_ARGUMENT, "bp_queue_use: the queue is on device %s, not on %s", queue->device->info.id,
                        device->info.id);
    }
    entry *own = entry_for(device);
    if (!own) {
        return bp_last_status();
    }
    bp_queue *before = own->chosen;
    if (queue) {
        bp__queue_hold(queue);
    }
    own->chosen = queue;
    if (before) {
        bp__queue_drop(before);
    }
    return BP_OK;
}

bp_status bp__queue_for(int32_t place, bp_queue *given, bp_queue **queue) {
    if (given) {
        if (given->device->info.place != place) {
            return bp__fail(BP_E_ARGUMENT, "the queue is on device %s, but the operands are on device %s",
                            given->device->info.id, bp__device_text(place));
        }
        *queue = given;
        return bp__device_usable(given->device);
    }
    for (int i = 0; i < mine.count; i++) {
        const entry *each = &mine.entries[i];
        if (each->device->info.place == place && (each->chosen || each->own)) {
            *queue = each->chosen ? each->chosen : each->own;
            return bp__device_usable((*queue)->device);
        }
    }
    bp__device *device;
    BP__TRY(bp__device_ready(place, &device));
    return bp__thread_queue(device, queue);
}

bp_status bp__queue_may_prepare(int32_t place) {
    for (int i = 0; i < mine.count; i++) {
        const entry *each = &mine.entries[i];
        const bp_queue *queue = each->chosen ? each->chosen : each->own;
        if (each->device->info.place == place && queue && !bp__device_is(queue->device, BP_DEVICE_FORKED)) {
            return bp__queue_refuse_capture(queue, "the making of a plan");
        }
    }
    return BP_OK;
}

/* ---- bp_reset and fork ---- */

void bp__threads_forget(void) {
    for (;;) {
        pthread_mutex_lock(&bp__threads_mutex);
        record *first = records;
        record had = {0};
        if (first) {
            had = empty(first);
            take_off(first);
        }
        pthread_mutex_unlock(&bp__threads_mutex);
        if (!first) {
            return;
        }
        drop_all(&had);
    }
}

/* The other threads do not exist in the child. Their records are in memory of these threads, and what they hold is not
 * used any more. */
void bp__threads_forked(void) {
    records = NULL;
    mine = (record){0};
}
