/* library.c - public API of the library list: built on first use, rebuilt by refresh, freed by reset. */
#include "registry/build_list.h"
#include "base/uncancelled.h"
#include "registry/modules.h"

#include <pthread.h>
#include <string.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int cancel_before; /* of the thread that holds the mutex */
static bp__library_list *newest;
static atomic_uint_least32_t lists; /* changes of the list since the first one */

uint32_t bp__library_lists(void) {
    return atomic_load_explicit(&lists, memory_order_acquire);
}

/* A thread is not cancelled while it holds the lock. */
void bp__registry_lock(void) {
    const int before = bp__cancel_off();
    pthread_mutex_lock(&mutex);
    cancel_before = before;
}

void bp__registry_unlock(void) {
    const int before = cancel_before;
    pthread_mutex_unlock(&mutex);
    bp__cancel_as_before(&before);
}

/* What is wrong with a file, or with a folder, is in the list; it is no error of the call. */
static bp_status make(bp__list_mode mode, bp__need need) {
    bp__library_list *made;
    bp__held_error held;
    bp__error_hold(&held);
    BP__TRY(bp__error_finish(&held, bp__library_list_new(&made, mode, need)));
    if (made->unknown) {
        bp__library_list_free(made);
        return BP_OK;
    }
    if (newest) {
        if (newest->kept != made->kept) {
            atomic_fetch_add_explicit(&lists, 1, memory_order_release);
        }
        bp__library_list_free(newest);
    }
    newest = made;
    return BP_OK;
}

/* Adds to the list what is needed. A list that could not grow is dropped: the next call makes another one. */
static bp_status grow(bp__need need) {
    bp__held_error held;
    const bp_library_info **before = newest->kept;
    bp__error_hold(&held);
    const bp_status status = bp__error_finish(&held, bp__library_list_grow(newest, need));
    if (status != BP_OK) {
        bp__library_list_free(newest);
        newest = NULL;
    }
    if (!newest || newest->kept != before) {
        atomic_fetch_add_explicit(&lists, 1, memory_order_release);
    }
    return status;
}

static atomic_bool leaves_rest;

void bp__libraries_leave_rest(void) {
    atomic_store(&leaves_rest, true);
}

static bp_status provide(bp__need need) {
    const bool enough = newest && (bp__library_list_covers(newest, need) || atomic_load(&leaves_rest));
    return enough ? BP_OK : newest ? grow(need) : make(BP__LIST_USUAL, need);
}

bp_status bp__library_list_current(bp__library_list **list) {
    bp_status status = provide(BP__NEED_ALL);
    *list = newest;
    return status;
}

bp_status bp__library_list_any(bp__library_list **list) {
    bp_status status = newest ? BP_OK : provide(BP__NEED_ALL);
    *list = newest;
    return status;
}

bp_status bp__libraries(bp__need need, const bp_library_info ***entries, int *count) {
    bp__registry_lock();
    bp_status status = provide(need);
    *entries = status == BP_OK ? newest->kept : NULL;
    *count = status == BP_OK ? newest->kept_count : 0; /* the native provider's entry is the last */
    bp__registry_unlock();
    return status;
}

/* Whether the list has another entry for the file, which another thread may have made meanwhile. An open library has
 * passed all checks, whatever entry it was opened by. */
static bool is_outdated(const bp_library_info *library) {
    bool outdated = false;
    for (int i = 0; i < newest->kept_count && !outdated; i++) {
        outdated = newest->kept[i] != library && bp__text_equal(newest->kept[i]->path, library->path);
    }
    return outdated && !bp__opened_has(library->path);
}

bp_status bp__library_check_rest(const bp_library_info *library, bool *changed) {
    bp_status status = BP_OK;
    *changed = false;
    bp__registry_lock();
    bp__file *file = newest && !atomic_load(&leaves_rest) ? bp__file_at(&newest->search, library->path) : NULL;
    if (file && file->facts.left) {
        file->chosen = true;
        status = grow((bp__need){0});
        *changed = status == BP_OK && !file->facts.left;
    } else if (file) {
        *changed = is_outdated(library);
    }
    bp__registry_unlock();
    return status;
}

/* Returns the kept entry with that id; NULL if the library is not known yet, in a helper that leaves the rest. */
static const bp_library_info *kept_entry(const bp__library_list *list, const char *id) {
    for (int i = 0; i < list->kept_count; i++) {
        if (bp__text_equal(list->kept[i]->id, id)) {
            return list->kept[i];
        }
    }
    return NULL;
}

const bp_library_info *bp__library_lookup(const char *name) {
    bp__library_list *now;
    const bp_library_info *found = NULL;
    bp__registry_lock();
    if (bp__library_list_current(&now) == BP_OK) {
        const int position = bp__list_entry_named(now, name);
        found = position >= 0 ? kept_entry(now, now->infos[position].id) : NULL;
    }
    bp__registry_unlock();
    return found;
}

void bp__registry_reset(void) {
    bp__modules_reset();
    bp__loaded_reset();
    bp__registry_lock();
    if (newest) {
        bp__library_list_free(newest);
        newest = NULL;
    }
    bp__kept_reset();
    bp__opened_reset();
    bp__registry_unlock();
}

static bp_status copy_info(const bp_library_info *entry, bp_library_info *info) {
    BP__TRY(bp__struct_check(info, sizeof *info, "info"));
    bp__struct_write(info, entry, sizeof *entry);
    return BP_OK;
}

bp_status bp_library_count(int *count) {
    const bp_library_info **entries;
    if (!count) {
        return bp__fail(BP_E_ARGUMENT, "count is NULL; it must point to an int");
    }
    return bp__libraries(BP__NEED_ALL, &entries, count);
}

int bp_library_at(int index, bp_library_info *info) {
    bp__library_list *now;
    bp__registry_lock();
    /* The native provider's entry is the last one, at `count`. */
    const bool there = bp__library_list_current(&now) == BP_OK && index >= 0 && index <= now->count &&
                       copy_info(&now->infos[index], info) == BP_OK;
    bp__registry_unlock();
    return there;
}

bp_status bp_library_find(const char *name, bp_library_info *info) {
    bp__library_list *now;
    int position = -1;
    if (!name || !*name) {
        return bp__fail(BP_E_ARGUMENT, "name is %s; it must be an id, a family, a SONAME or a path",
                        name ? "empty" : "NULL");
    }
    bp__registry_lock();
    bp_status status = bp__library_list_current(&now);
    if (status == BP_OK && (position = bp__list_entry_named(now, name)) >= 0) {
        status = copy_info(&now->infos[position], info);
    }
    bp__registry_unlock();
    return status == BP_OK && position < 0 ? bp__library_absent(name) : status;
}

bp_status bp_library_open(const char *name, void **handle) {
    if (!name || !handle) {
        return bp__fail(BP_E_ARGUMENT, "bp_library_open: %s is NULL", name ? "handle" : "name");
    }
    *handle = NULL;
    const bp_library_info *library = bp__library_lookup(name);
    return library ? bp__library_open(library, handle) : bp__library_absent(name);
}

bp_status bp_libraries_refresh(int probe_all) {
    bp__registry_lock();
    bp_status status = make(probe_all ? BP__LIST_PROBED : BP__LIST_USUAL, BP__NEED_ALL);
    bp__registry_unlock();
    return status;
}

bp_status bp_libraries_cached(int *known) {
    if (!known) {
        return bp__fail(BP_E_ARGUMENT, "known is NULL; it must point to an int");
    }
    bp__registry_lock();
    bp_status status =
        newest && bp__library_list_covers(newest, BP__NEED_ALL) ? BP_OK : make(BP__LIST_CACHED, BP__NEED_ALL);
    *known = newest && bp__library_list_covers(newest, BP__NEED_ALL);
    bp__registry_unlock();
    return status;
}

int bp_search_location_at(int index, const char **place, const char **outcome) {
    bp__library_list *now;
    bp__registry_lock();
    bool there = bp__library_list_current(&now) == BP_OK && index >= 0 && index < now->search.place_count;
    if (there && place) {
        *place = now->search.places[index].name;
    }
    if (there && outcome) {
        *outcome = now->search.places[index].problem;
    }
    bp__registry_unlock();
    return there;
}

const char *bp_library_state_name(bp_library_state state) {
    static const char *const names[] = {
        [BP_LIBRARY_OK] = "ok",
        [BP_LIBRARY_FACADE] = "facade",
        [BP_LIBRARY_BROKEN] = "broken",
        [BP_LIBRARY_UNTRUSTED] = "untrusted",
        [BP_LIBRARY_UNPROBED] = "unprobed",
    };
    return (size_t)state < sizeof names / sizeof *names ? names[state] : "?";
}
