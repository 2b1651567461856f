/* tune_records.c - keeps the measured times of problem classes: what this process has measured, and what a file has.
 *
 * The file is read once, before the first choice. Every new record is written at once, so that no process that is
 * killed loses one. */
#include "dispatch/times/tune.h"
#include "base/path_buffer.h"

#include "store/place.h"
#include "store/store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FILE_NAME "tuning.txt"

pthread_mutex_t bp__tune_mutex = PTHREAD_MUTEX_INITIALIZER;

/* A record of this process. */
typedef struct own_record {
    char *key, *value;
    int64_t written_s;
} own_record;

static struct {
    atomic_bool loaded;
    atomic_bool any; /* there may be a record */
    bp__store *file; /* NULL: not read yet, or not used */
    own_record *own;
    int count;
    uint64_t version; /* how often the records have changed; 0: never */
} state;

static bool is_frozen(void) {
    return *bp__setting_text(BP_SET_tuning_store_path) != '\0';
}

/* Writes the path of the file that is read; "" if there is none. A missing file that the user has named is reported. */
static void find_file(char path[PATH_MAX]) {
    const char *named = bp__setting_text(BP_SET_tuning_store_path);
    size_t given;
    if (*named && !realpath(named, path)) {
        bp__warn("tuning.store_path=%s: the file cannot be found: %s", named, strerror(errno));
        path[0] = '\0';
    } else if (!*named && !bp__cache_path(FILE_NAME, path, &given)) {
        path[0] = '\0';
    }
}

/* Reads the file again, and replaces the snapshot. Outside the mutex, because a warning may be reported. */
static void load(void) {
    enum { OFF };
    bp__store *fresh = NULL;
    BP__PATH_BUFFER(path);
    bp__held_error held;
    bp__error_hold(&held);
    if (path) {
        path[0] = '\0';
    }
    if (path && bp__setting_int(BP_SET_tuning_store) != OFF) {
        find_file(path);
    }
    if (path && *path && bp__store_open(&fresh, path) != BP_OK) {
        fresh = NULL; /* memory is short: there are no stored times */
    }
    pthread_mutex_lock(&bp__tune_mutex);
    bp__store *old = state.file;
    state.file = fresh;
    state.version++;
    atomic_store(&state.any, state.count > 0 || (fresh && bp__store_count(fresh) > 0));
    atomic_store(&state.loaded, true);
    pthread_mutex_unlock(&bp__tune_mutex);
    bp__store_close(old);
    bp__error_return(&held);
}

static void load_once(void) {
    if (!atomic_load(&state.loaded)) {
        load();
    }
}

bool bp__tune_any(void) {
    load_once();
    return atomic_load(&state.any);
}

void bp__tune_refresh(void) {
    load();
}

/* Returns the index of a record of this process, -1 if there is none. */
static int find_own(const char *key) {
    for (int i = 0; i < state.count; i++) {
        if (strcmp(state.own[i].key, key) == 0) {
            return i;
        }
    }
    return -1;
}

bool bp__tune_find(const char *key, bool frozen, bp__text *value, int64_t *written_s) {
    load_once();
    if (frozen && !is_frozen()) {
        return false;
    }
    pthread_mutex_lock(&bp__tune_mutex);
    int at = frozen ? -1 : find_own(key);
    const char *found = at >= 0 ? state.own[at].value : NULL;
    if (found) {
        *written_s = state.own[at].written_s;
    } else if (state.file) {
        found = bp__store_find(state.file, key, written_s);
    }
    if (found) {
        bp__text_add(value, found);
    }
    pthread_mutex_unlock(&bp__tune_mutex);
    return found != NULL;
}

uint64_t bp__tune_version(void) {
    return state.version;
}

void bp__tune_visit(bool (*visit)(void *user, const bp__store_record *record), void *user) {
    bool more = true;
    for (int i = 0; i < state.count && more; i++) {
        const own_record *own = &state.own[i];
        more = visit(user, &(bp__store_record){own->key, own->value, own->written_s});
    }
    if (more && state.file) {
        bp__store_visit(state.file, visit, user);
    }
}

/* Adds or replaces a record of this process. If memory is short, the class is measured again later. */
static void keep_own(const char *key, const char *value) {
    char *copy = bp__strdup(value), *name = bp__strdup(key);
    pthread_mutex_lock(&bp__tune_mutex);
    int at = find_own(key);
    if (at < 0 && name && copy) {
        own_record *grown = bp__realloc(state.own, ((size_t)state.count + 1) * sizeof *grown);
        if (grown) {
            state.own = grown;
            at = state.count++;
            state.own[at] = (own_record){.key = name};
            name = NULL;
        }
    }
    if (at >= 0 && copy) {
        bp__free(state.own[at].value);
        state.own[at].value = copy;
        state.own[at].written_s = (int64_t)time(NULL);
        copy = NULL;
        state.version++;
        atomic_store(&state.any, true);
    }
    pthread_mutex_unlock(&bp__tune_mutex);
    bp__free(copy);
    bp__free(name);
}

void bp__tune_keep(const char *key, const char *value) {
    enum { READ_WRITE = 2 };
    const bp__store_record record = {.key = key, .value = value};
    keep_own(key, value);
    if (bp__setting_int(BP_SET_tuning_store) != READ_WRITE || is_frozen()) {
        return;
    }
    bp_status status = bp__store_put(FILE_NAME, &record, 1);
    if (status != BP_OK && status != BP_E_BUSY) {
        bp__warn("measured times are kept for this process only: %s", bp_last_error());
    }
}

const char *bp__tune_file(char *path, size_t size) {
    char full[PATH_MAX];
    find_file(full);
    bp__copy_text(path, size, full);
    return path;
}

void bp__tune_forget(void) {
    pthread_mutex_lock(&bp__tune_mutex);
    for (int i = 0; i < state.count; i++) {
        bp__free(state.own[i].key);
        bp__free(state.own[i].value);
    }
    bp__free(state.own);
    bp__store_close(state.file);
    state.own = NULL;
    state.file = NULL;
    state.count = 0;
    atomic_store(&state.loaded, false);
    state.version++;
    atomic_store(&state.any, false);
    bp__neighbours_forget();
    pthread_mutex_unlock(&bp__tune_mutex);
}
