/* record.c - counts the calls of a process in the file that `backplane launch` has made.
 *
 * Counters are added to with atomic instructions, by all threads and processes of the run. If the file cannot be used,
 * the program runs on, and a message tells that nothing is counted.
 */
#include "dropin/internal.h"
#include "dropin/record.h"
#include "dropin/record_file.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ---- The file ---- */

static bp__record_file *mapped; /* MAP_FAILED: it cannot be used */

static bp__record_file *map_file(const char *path) {
    struct stat facts;
    const int file = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    bp__record_file *made = MAP_FAILED;
    if (file >= 0 && fstat(file, &facts) == 0 && facts.st_size == (off_t)sizeof *made) {
        made = mmap(NULL, sizeof *made, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    }
    if (file >= 0) {
        close(file);
    }
    if (made != MAP_FAILED && (memcmp(made->magic, BP__RECORD_MAGIC, sizeof made->magic) != 0 ||
                               made->rows != BP__RECORD_ROWS || made->row_size != sizeof made->row[0])) {
        munmap(made, sizeof *made);
        made = MAP_FAILED;
    }
    return made;
}

/* Returns the file, or NULL. Threads that come at the same time map it twice, and one of them unmaps its own. */
static bp__record_file *file_of_run(void) {
    bp__record_file *now = __atomic_load_n(&mapped, __ATOMIC_ACQUIRE), *before = NULL;
    if (!now) {
        const char *path = bp__dropin_env(BP__DROPIN_VARIABLE("RECORD"));
        now = path ? map_file(path) : MAP_FAILED;
        if (!__atomic_compare_exchange_n(&mapped, &before, now, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
            if (now != MAP_FAILED) {
                munmap(now, sizeof *now);
            }
            now = before;
        } else if (now == MAP_FAILED) {
            bp__dropin_say("backplane: the calls of process %ld are not counted: the file %s cannot be used\n",
                           (long)getpid(), path ? path : "");
        }
    }
    return now == MAP_FAILED ? NULL : now;
}

/* ---- Rows ---- */

/* Copies the end of a text. */
static void keep_end(char *to, size_t size, const char *text) {
    const size_t length = strlen(text), skip = length >= size ? length - size + 1 : 0;
    memcpy(to, text + skip, length - skip);
}

static void make_key(bp__record_key *key, const bp__dropin_call *call) {
    memset(key, 0, sizeof *key);
    keep_end(key->routine, sizeof key->routine, call->routine);
    keep_end(key->family, sizeof key->family, call->family);
    memcpy(key->options, call->options, strnlen(call->options, sizeof key->options - 1));
    keep_end(key->ran, sizeof key->ran, call->ran);
    keep_end(key->own, sizeof key->own, call->own);
    key->width = call->width;
    key->through = call->through;
    key->sizes = call->sizes;
    memcpy(key->size, call->size, (size_t)call->sizes * sizeof key->size[0]);
}

/* FNV-1a over words of 8 bytes. */
static uint32_t hash_of(const bp__record_key *key) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325), word;
    _Static_assert(sizeof *key % sizeof word == 0, "the key is a whole number of words");
    for (size_t i = 0; i < sizeof *key; i += sizeof word) {
        memcpy(&word, (const char *)key + i, sizeof word);
        hash = (hash ^ word) * UINT64_C(0x100000001b3);
    }
    return (uint32_t)(hash ^ hash >> 32);
}

/* Waits until the thread that takes the row has written its key. It may have ended in the middle. */
static bool is_ready(const bp__record_row *row) {
    for (int turn = 0; turn < 100000; turn++) {
        if (__atomic_load_n(&row->state, __ATOMIC_ACQUIRE) == BP__RECORD_READY) {
            return true;
        }
    }
    return false;
}

static bool take_row(bp__record_row *row, const bp__record_key *key, uint32_t hash, const bp__dropin_call *call) {
    uint32_t state = BP__RECORD_FREE;
    if (!__atomic_compare_exchange_n(&row->state, &state, BP__RECORD_TAKEN, false, __ATOMIC_ACQUIRE,
                                     __ATOMIC_RELAXED)) {
        return false;
    }
    row->hash = hash;
    row->key = *key;
    memcpy(row->why, call->why, strnlen(call->why, sizeof row->why - 1));
    row->flops = key->sizes > 0 ? call->flops : 0;
    row->least_ns = UINT64_MAX;
    __atomic_store_n(&row->state, BP__RECORD_READY, __ATOMIC_RELEASE);
    return true;
}

static bp__record_row *find_row(bp__record_file *file, const bp__record_key *key, const bp__dropin_call *call) {
    const uint32_t hash = hash_of(key);
    for (uint32_t i = 0; i < BP__RECORD_PROBES; i++) {
        bp__record_row *row = &file->row[(hash + i) % BP__RECORD_ROWS];
        if (__atomic_load_n(&row->state, __ATOMIC_ACQUIRE) == BP__RECORD_FREE && take_row(row, key, hash, call)) {
            return row;
        }
        if (is_ready(row) && row->hash == hash && memcmp(&row->key, key, sizeof *key) == 0) {
            return row;
        }
    }
    return NULL;
}

/* ---- Calls ---- */

static void count(bp__record_row *row, uint64_t time_ns) {
    __atomic_fetch_add(&row->calls, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&row->time_ns, time_ns, __ATOMIC_RELAXED);
    uint64_t seen = __atomic_load_n(&row->least_ns, __ATOMIC_RELAXED);
    while (time_ns < seen &&
           !__atomic_compare_exchange_n(&row->least_ns, &seen, time_ns, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
    seen = __atomic_load_n(&row->most_ns, __ATOMIC_RELAXED);
    while (time_ns > seen &&
           !__atomic_compare_exchange_n(&row->most_ns, &seen, time_ns, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
}

int64_t bp__dropin_now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

void bp__dropin_record_discovery(int64_t time_ns) {
    bp__record_file *file = file_of_run();
    if (file && time_ns > 0) {
        __atomic_fetch_add(&file->discovery_ns, (uint64_t)time_ns, __ATOMIC_RELAXED);
    }
}

void bp__dropin_record(const bp__dropin_call *call) {
    bp__record_file *file = file_of_run();
    bp__record_key key;
    if (!file) {
        return;
    }
    make_key(&key, call);
    bp__record_row *row = find_row(file, &key, call);
    if (!row && key.sizes > 0) { /* the calls of all other sizes of the routine share a row */
        memset(key.options, 0, sizeof key.options);
        memset(key.size, 0, sizeof key.size);
        key.sizes = 0;
        row = find_row(file, &key, call);
    }
    if (row) {
        count(row, (uint64_t)(call->time_ns > 0 ? call->time_ns : 0));
    } else {
        __atomic_fetch_add(&file->lost, 1, __ATOMIC_RELAXED);
    }
}
