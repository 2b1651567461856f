/* backends.c - keeps the list of the program's backends of graphs, and reads what graph.backend says about them.
 *
 * The list and each of its backends' plans hold references. The mutex is the plan cache's, which the fork handlers
 * know; it is never held while functions of the program run. */
#include "graph/region.h"

#include "base/number.h"
#include "base/uncancelled.h"

#include <stddef.h>
#include <string.h>

#define BLOCKS "blocks"

static struct {
    bp__backend *list[BP__BACKENDS_MOST];
    int count;
    atomic_uint_least64_t changes;
} backends;

uint64_t bp__backends_epoch(void) {
    return atomic_load_explicit(&backends.changes, memory_order_acquire);
}

int bp__backends_take(bp__backend *list[BP__BACKENDS_MOST]) {
    pthread_mutex_lock(&bp__cache_mutex);
    const int count = backends.count;
    for (int i = 0; i < count; i++) {
        list[i] = backends.list[i];
        atomic_fetch_add(&list[i]->references, 1);
    }
    pthread_mutex_unlock(&bp__cache_mutex);
    return count;
}

void bp__backend_give(bp__backend *backend) {
    if (!backend || atomic_fetch_sub(&backend->references, 1) != 1) {
        return;
    }
    if (backend->given.release) {
        backend->given.release(backend->given.user);
    }
    bp__free(backend);
    bp__graph_backend_handed_out(-1);
}

/* ---- The setting ---- */

/* Moves to the next word of a list; returns its length, 0 at the end. */
static size_t find_word(const char **at) {
    *at += strspn(*at, ", ");
    return strcspn(*at, ", ");
}

int bp__backend_rank(const char *name) {
    const char *at = bp__setting_text(BP_SET_graph_backend);
    int rank = 0;
    for (size_t length; (length = find_word(&at)) > 0; at += length, rank++) {
        const bool excludes = at[0] == '-';
        if (strlen(name) == length - excludes && memcmp(at + excludes, name, length - excludes) == 0) {
            return excludes ? BP__BACKEND_EXCLUDED : rank;
        }
    }
    return BP__BACKEND_UNNAMED;
}

/* Returns whether there is a backend with this name. The mutex is held. */
static int find_backend(const char *name, size_t length) {
    for (int i = 0; i < backends.count; i++) {
        const char *given = backends.list[i]->given.name;
        if (strlen(given) == length && memcmp(given, name, length) == 0) {
            return i;
        }
    }
    return -1;
}

static bool is_word(const char *word, size_t length, const char *name) {
    return strlen(name) == length && memcmp(word, name, length) == 0;
}

static bool is_known(const char *word, size_t length) {
    if (is_word(word, length, BLOCKS) || is_word(word, length, "auto")) {
        return true;
    }
    pthread_mutex_lock(&bp__cache_mutex);
    const bool known = find_backend(word, length) >= 0;
    pthread_mutex_unlock(&bp__cache_mutex);
    return known;
}

bp_status bp__backends_check(void) {
    const char *at = bp__setting_text(BP_SET_graph_backend);
    if (strcmp(at, "eager") == 0) { /* a plan is made all the same, as auto makes it */
        return BP_OK;
    }
    for (size_t length; (length = find_word(&at)) > 0; at += length) {
        const bool excludes = at[0] == '-';
        if (!is_known(at + excludes, length - excludes)) {
            return bp__fail(
                BP_E_ARGUMENT,
                "graph.backend is \"%s\"; \"%.*s\" is no backend: it must be auto, eager, or names of " BLOCKS
                " and of backends that the program added",
                bp__setting_text(BP_SET_graph_backend), bp__shown(length - excludes), at + excludes);
        }
    }
    return BP_OK;
}

/* ---- The list ---- */

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_good_name(const char *name) {
    if (!name || !is_letter(name[0])) {
        return false;
    }
    const size_t length = strlen(name);
    for (size_t i = 0; i < length; i++) {
        if (!is_letter(name[i]) && !(name[i] >= '0' && name[i] <= '9') && name[i] != '_' && name[i] != '-') {
            return false;
        }
    }
    return length < sizeof((bp_graph_backend_info *)NULL)->name && strcmp(name, "auto") != 0 &&
           strcmp(name, "eager") != 0 && strcmp(name, BLOCKS) != 0;
}

static bp_status check_backend(const bp_graph_backend *given) {
    if (!is_good_name(given->name)) {
        return bp__fail(
            BP_E_ARGUMENT,
            "bp_graph_backend_add: name is \"%.70s\"; it must have 1 to 63 letters, digits, '_' and '-', begin "
            "with a letter, and be none of auto, eager and " BLOCKS,
            given->name ? given->name : "(NULL)");
    }
    if (!given->description || !given->accept || !given->plan || !given->run || !given->destroy) {
        return bp__fail(BP_E_ARGUMENT, "bp_graph_backend_add: %s of backend %s must not be NULL",
                        !given->description ? "description"
                        : !given->accept    ? "accept"
                        : !given->plan      ? "plan"
                        : !given->run       ? "run"
                                            : "destroy",
                        given->name);
    }
    return BP_OK;
}

/* Copies a backend, and its texts behind it. */
static bp__backend *copy_backend(const bp_graph_backend *given) {
    const size_t name = strlen(given->name) + 1, description = strlen(given->description) + 1;
    bp__backend *made = bp__alloc_zero(1, sizeof *made + name + description);
    if (made) {
        made->given = *given;
        made->given.name = memcpy(made->texts, given->name, name);
        made->given.description = memcpy(made->texts + name, given->description, description);
        atomic_init(&made->references, 1);
    }
    return made;
}

static bp_status insert(bp__backend *made) {
    bp_status status = BP_OK;
    pthread_mutex_lock(&bp__cache_mutex);
    if (find_backend(made->given.name, strlen(made->given.name)) >= 0) {
        status = BP_E_ARGUMENT;
    } else if (backends.count == BP__BACKENDS_MOST) {
        status = BP_E_OVERFLOW;
    } else {
        backends.list[backends.count++] = made;
        atomic_fetch_add(&backends.changes, 1);
    }
    pthread_mutex_unlock(&bp__cache_mutex);
    return status;
}

bp_status bp_graph_backend_add(const bp_graph_backend *backend) {
    BP__UNCANCELLED;
    bp_graph_backend own;
    const bp_graph_backend *given = bp__struct_read(&own, sizeof own, backend, "backend");
    if (!given) {
        return BP_E_ARGUMENT;
    }
    BP__TRY(check_backend(given));
    bp__backend *made = copy_backend(given);
    if (!made) {
        return bp__fail_memory(sizeof *made, "a backend of graphs");
    }
    const bp_status status = insert(made);
    if (status != BP_OK) {
        bp_status told =
            status == BP_E_ARGUMENT
                ? bp__fail(BP_E_ARGUMENT, "bp_graph_backend_add: there is a backend %s already", made->given.name)
                : bp__fail(BP_E_ARGUMENT, "bp_graph_backend_add: there are %d backends already", BP__BACKENDS_MOST);
        bp__free(made);
        return told;
    }
    bp__graph_backend_handed_out(1);
    return BP_OK;
}

bp_status bp_graph_backend_remove(const char *name) {
    BP__UNCANCELLED;
    bp__backend *found = NULL;
    pthread_mutex_lock(&bp__cache_mutex);
    const int at = name ? find_backend(name, strlen(name)) : -1;
    if (at >= 0) {
        found = backends.list[at];
        backends.count--;
        memmove(&backends.list[at], &backends.list[at + 1], (size_t)(backends.count - at) * sizeof found);
        atomic_fetch_add(&backends.changes, 1);
    }
    pthread_mutex_unlock(&bp__cache_mutex);
    if (!found) {
        return bp__fail(BP_E_ARGUMENT, "bp_graph_backend_remove: the program has added no backend \"%.70s\"",
                        name ? name : "(NULL)");
    }
    bp__backend_give(found);
    return BP_OK;
}

int bp_graph_backend_at(int index, bp_graph_backend_info *info) {
    bp_graph_backend_info own = {.name = BLOCKS};
    if (bp__struct_check(info, sizeof *info, "info") != BP_OK) {
        return 0;
    }
    pthread_mutex_lock(&bp__cache_mutex);
    const bool there = index >= 0 && index <= backends.count;
    if (index > 0 && there) {
        bp__format(own.name, sizeof own.name, "%s", backends.list[index - 1]->given.name);
        bp__format(own.description, sizeof own.description, "%s", backends.list[index - 1]->given.description);
    } else {
        bp__format(
            own.description, sizeof own.description, "%s",
            "built in: all functions on one block of elements after another, with the bytes of the nodes one by one");
    }
    pthread_mutex_unlock(&bp__cache_mutex);
    if (there) {
        bp__struct_write(info, &own, sizeof own);
    }
    return there;
}
