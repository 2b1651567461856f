/* candidates.c - builds the list of (provider, library) pairs that dispatch evaluates.
 *
 * A provider that needs no library is a candidate on its own. Built-in providers come first in the list and need no
 * search of the machine. Libraries are searched for when a choice first needs them. A candidate lives until bp_reset,
 * because plans refer to it. If the library list is rebuilt, entries of unchanged files keep their candidate. */
#include "dispatch/times/calibrate.h"
#include "base/uncancelled.h"

#include "machine/internal.h"
#include "registry/internal.h"

#include <string.h>

pthread_mutex_t bp__candidates_mutex = PTHREAD_MUTEX_INITIALIZER;

static struct {
    bp__candidate *all;
    bp__candidate **list; /* the current list */
    unsigned made;        /* candidates so far */
    int count;
    bool with_libraries;
    const bp_library_info **entries; /* the library list that it was made from */
    bool timed;                      /* the candidates have their stored times */
    bp__class_set measured;          /* those without times were measured, or could not be */
    bool measuring;                  /* a thread measures candidates */
    struct retired {
        struct retired *next;
        bp__candidate **list;
    } * retired; /* older lists, which choices in other threads may still read */
} state;

bool bp__candidate_is_native(const bp__candidate *candidate) {
    return bp__text_equal(candidate->provider->name, "native");
}

const char *bp__candidate_id(const bp__candidate *candidate) {
    return candidate->library ? candidate->library->id : candidate->provider->name;
}

bool bp__candidate_has_threads(const bp__candidate *candidate) {
    return candidate->library && !bp__text_equal(candidate->library->threading, "serial");
}

const char *bp__candidate_version(const bp__candidate *candidate) {
    return candidate->library ? candidate->library->version : candidate->provider->version;
}

/* Returns whether the candidate's entry still describes the listed library. Equal entries have one address. If the
 * entry changed, for example because the file was replaced, the old one only remains right for a library that is open.
 */
static bool is_current(const bp_library_info *own, const bp_library_info *listed) {
    return own == listed ||
           (bp__text_equal(own->path, listed->path) && bp__text_equal(own->id, listed->id) &&
            bp__text_equal(own->build_id, listed->build_id) && own->state == listed->state && bp__library_is_open(own));
}

/* Returns the candidate of an earlier list; NULL if there is none. */
static bp__candidate *find_existing(const bp_provider *provider, const bp_library_info *library) {
    for (bp__candidate *c = state.all; c; c = c->next) {
        if (c->provider != provider || !c->library != !library) {
            continue;
        }
        if (!library || is_current(c->library, library)) {
            return c;
        }
    }
    return NULL;
}

static void open_instance(bp__candidate *c) {
    if (c->library && c->library->state != BP_LIBRARY_OK) {
        c->status = c->library->state == BP_LIBRARY_UNTRUSTED ? BP_E_UNTRUSTED : BP_E_BROKEN;
        bp__copy_text(c->refusal, sizeof c->refusal, c->library->reason);
        return;
    }
    c->status = c->provider->open(bp__host(), c->library, &c->instance);
    if (c->status != BP_OK) {
        c->instance = NULL;
        bp__copy_text(c->refusal, sizeof c->refusal, bp_last_error());
    }
}

static bp_status add_candidate(bp__candidate **list, int *count, const bp_provider *provider,
                               const bp_library_info *library) {
    bp__candidate *c = find_existing(provider, library);
    if (!c) {
        c = bp__alloc_zero(1, sizeof *c);
        if (!c) {
            return bp__fail_memory(sizeof *c, "a candidate");
        }
        c->provider = provider;
        c->library = library;
        c->number = state.made++;
        open_instance(c);
        if (c->status == BP_E_NO_MEMORY) {
            bp__free(c);
            return BP_E_NO_MEMORY;
        }
        c->next = state.all;
        state.all = c;
    }
    list[(*count)++] = c;
    return BP_OK;
}

static bool drives_family(const bp_provider *provider, const char *family) {
    const char *families = provider->families;
    return !families || bp__text_has_word(families, family);
}

/* A facade is not a candidate; the library that it forwards to is one. */
static bool drives(const bp_provider *provider, const bp_library_info *entry) {
    return (provider->library_kinds & entry->kinds) != 0 && entry->state != BP_LIBRARY_FACADE &&
           drives_family(provider, entry->family);
}

static bp_status add_provider(bp__candidate **list, int *count, const bp_provider *provider,
                              const bp_library_info **entries, int entry_count) {
    if (provider->library_kinds == 0) {
        return add_candidate(list, count, provider, NULL);
    }
    for (int i = 0; i < entry_count; i++) {
        if (drives(provider, entries[i])) {
            BP__TRY(add_candidate(list, count, provider, entries[i]));
        }
    }
    return BP_OK;
}

static bp_status fill(bp__candidate **list, int *count, const bp__module *modules, int module_count,
                      const bp_library_info **entries, int entry_count) {
    for (int i = 0; bp__builtin_providers[i]; i++) {
        BP__TRY(add_provider(list, count, bp__builtin_providers[i], entries, entry_count));
    }
    for (int i = 0; i < module_count; i++) {
        if (modules[i].provider && !bp__provider_is_builtin(modules[i].provider->name)) {
            BP__TRY(add_provider(list, count, modules[i].provider, entries, entry_count));
        }
    }
    return BP_OK;
}

static void forget_times(void) {
    state.timed = false;
    state.measured = (bp__class_set){{0}};
}

static bp_status publish(bp__candidate **list, int count, bool with_libraries, const bp_library_info **entries) {
    if (state.list) {
        struct retired *node = bp__alloc(sizeof *node);
        if (!node) {
            return bp__fail_memory(sizeof *node, "the list of candidates");
        }
        node->list = state.list;
        node->next = state.retired;
        state.retired = node;
    }
    state.list = list;
    state.count = count;
    state.with_libraries = with_libraries;
    state.entries = entries;
    forget_times();
    return BP_OK;
}

/* Gives the candidates their stored times, if the thread's settings want them. Sets *measure if this thread is to
 * measure those that have none of the class. Before that, the times are read again, because another process may have
 * measured the class meanwhile. */
static bp_status load_times(int class, bool *measure) {
    enum { OFF, READ, AUTO, READ_WRITE = 2 };
    const int wanted = bp__setting_int(BP_SET_deterministic) ? OFF : (int)bp__setting_int(BP_SET_calibration);
    if (!state.with_libraries || state.measuring || wanted == OFF) {
        return BP_OK;
    }
    if (wanted == AUTO && class >= 0 && !bp__class_in(&state.measured, class)) {
        bp__class_add(&state.measured, class, true);
        *measure = state.measuring = bp__setting_int(BP_SET_registry_cache) == READ_WRITE;
    }
    if (state.timed && !*measure) {
        return BP_OK;
    }
    state.timed = true;
    return bp__calibrate_load(state.list, state.count);
}

static void end_measuring(void) {
    pthread_mutex_lock(&bp__candidates_mutex);
    state.measuring = false;
    pthread_mutex_unlock(&bp__candidates_mutex);
}

static bp_status rebuild(bool with_libraries, const bp_library_info **entries, int entry_count,
                         const bp__module *modules, int module_count) {
    int builtin = 0;
    while (bp__builtin_providers[builtin]) {
        builtin++;
    }
    size_t most = (size_t)(builtin + module_count) * (size_t)(entry_count + 1);
    bp__candidate **list = bp__alloc_zero(most + 1, sizeof *list);
    if (!list) {
        return bp__fail_memory(most * sizeof *list, "the list of candidates");
    }
    int count = 0;
    bp_status status = fill(list, &count, modules, module_count, entries, entry_count);
    if (status == BP_OK) {
        status = publish(list, count, with_libraries, entries);
    }
    if (status != BP_OK) {
        bp__free(list);
    }
    return status;
}

/* Adds what providers of others may need. They do not tell which of their operations need which libraries. */
static bp__need with_modules(bp__need need, const bp__module *modules, int count) {
    for (int i = 0; i < count; i++) {
        const bp_provider *provider = modules[i].provider;
        if (provider && !provider->runtimes && !bp__provider_is_own(provider->name) && provider->library_kinds) {
            need = (bp__need){need.kinds | provider->library_kinds, false};
        }
    }
    return need;
}

static bp_status candidates(const bp__need *need, int class, bp__candidate ***list, int *count) {
    BP__UNCANCELLED;
    const bp__module *modules = NULL;
    const bp_library_info **entries = NULL;
    int module_count = 0;
    int entry_count = 0;
    BP__TRY(bp__modules(&modules, &module_count));
    if (need) {
        BP__TRY(bp__libraries(with_modules(*need, modules, module_count), &entries, &entry_count));
    }
    bool measure = false;
    pthread_mutex_lock(&bp__candidates_mutex);
    bp_status status = BP_OK;
    if (!state.list || (need && (!state.with_libraries || state.entries != entries))) {
        status = rebuild(need != NULL, entries, entry_count, modules, module_count);
    }
    if (status == BP_OK) {
        status = load_times(class, &measure);
    }
    *list = state.list;
    *count = state.count;
    pthread_mutex_unlock(&bp__candidates_mutex);
    if (measure) { /* without the mutex, because it takes seconds: other threads and fork do not wait */
        const bp_status measured = status == BP_OK ? bp__calibrate_first(*list, *count, class) : BP_OK;
        end_measuring();
        status = status == BP_OK ? measured : status;
    }
    return status;
}

/* A candidate that cannot be opened is refused later; that is no error of the call. */
bp_status bp__candidates(const bp__need *need, int class, bp__candidate ***list, int *count) {
    bp__held_error held;
    bp__error_hold(&held);
    return bp__error_finish(&held, candidates(need, class, list, count));
}

bp_status bp__candidates_measure(const bp__calibration_request *request) {
    bp__candidate **list;
    int count;
    BP__TRY(bp__candidates(&BP__NEED_ALL, -1, &list, &count));
    pthread_mutex_lock(&bp__candidates_mutex);
    const bool busy = state.measuring;
    state.measuring = true;
    pthread_mutex_unlock(&bp__candidates_mutex);
    if (busy) {
        return bp__fail(BP_E_BUSY, "another thread measures the libraries at present");
    }
    const bp_status status = bp__calibrate_measure(list, count, request);
    end_measuring();
    return status;
}

bool bp__candidates_are_measured(void) {
    pthread_mutex_lock(&bp__candidates_mutex);
    const bool measuring = state.measuring;
    pthread_mutex_unlock(&bp__candidates_mutex);
    return measuring;
}

/* The thread that measured is not in the child. */
void bp__candidates_forked(void) {
    if (state.measuring) {
        state.measuring = false;
        forget_times();
    }
}

static bp_status threads_of(const bp__candidate *c, int *count) {
    if (!c->instance) {
        return bp__fail(c->status, "%s: %s", bp__candidate_id(c), c->refusal);
    }
    if (!c->library) {
        *count = bp__pool_threads(); /* a provider without a library runs on Backplane's thread pool */
        return BP_OK;
    }
    if (!c->provider->threads) {
        return bp__fail(BP_E_UNSUPPORTED, "provider '%s' has no threads of its own", c->provider->name);
    }
    return c->provider->threads(c->instance, 0, count);
}

static bp_status no_driver(const char *id) {
    const bp_library_info *entry = bp__library_lookup(id);
    if (!entry) {
        return bp__library_absent(id);
    }
    return bp__fail(BP_E_UNSUPPORTED,
                    entry->state == BP_LIBRARY_FACADE
                        ? "library '%s' forwards to another one, which has the threads"
                        : "library '%s' is listed, but no provider drives it, so nothing sets or reads its threads",
                    entry->id);
}

bp_status bp_library_threads(const char *id, int *count) {
    BP__UNCANCELLED;
    if (!id || !count) {
        return bp__fail(BP_E_ARGUMENT, "bp_library_threads: id and count must not be NULL");
    }
    bp__candidate **list;
    int candidates;
    BP__TRY(bp__candidates(&BP__NEED_ALL, -1, &list, &candidates));
    for (int i = 0; i < candidates; i++) {
        if (bp__name_matches(id, list[i], "") == 2) {
            return threads_of(list[i], count);
        }
    }
    for (int i = 0; i < candidates; i++) {
        if (bp__name_matches(id, list[i], "") == 1) {
            return threads_of(list[i], count);
        }
    }
    return no_driver(id);
}

void bp__candidates_reset(void) {
    while (state.all) {
        bp__candidate *c = state.all;
        state.all = c->next;
        if (c->instance) {
            c->provider->close(c->instance);
        }
        bp__calibration_free((bp__calibration *)(uintptr_t)atomic_load(&c->calibration));
        bp__free(c);
    }
    while (state.retired) {
        struct retired *node = state.retired;
        state.retired = node->next;
        bp__free(node->list);
        bp__free(node);
    }
    bp__calibrate_reset();
    bp__free(state.list);
    const unsigned made = state.made; /* threads keep what they know of older numbers (needs.c) */
    memset(&state, 0, sizeof state);
    state.made = made;
}
