/* kept.c - keeps entries of library lists, and lists of them, until bp_reset, because others may refer to them.
 *
 * Candidates, plans and providers hold entries. A choice in another thread may read a list while it is replaced. Equal
 * entries and equal lists are kept once, so that a refresh uses memory only for libraries that are new. All functions
 * need the registry's mutex.
 */
#include "registry/build_list.h"

#include <string.h>

typedef struct kept_entry {
    struct kept_entry *next;
    bp_library_info info;
} kept_entry;

typedef struct kept_list {
    struct kept_list *next;
    int count;
    const bp_library_info *entries[];
} kept_list;

static kept_entry *all_entries;
static kept_list *all_lists;

static bool same_texts(const bp_library_info *a, const bp_library_info *b) {
    const char *const texts[][2] = {
        {a->id, b->id},
        {a->family, b->family},
        {a->reason, b->reason},
        {a->path, b->path},
        {a->aliases, b->aliases},
        {a->soname, b->soname},
        {a->build_id, b->build_id},
        {a->version, b->version},
        {a->kernels, b->kernels},
        {a->suffix, b->suffix},
        {a->prefix, b->prefix},
        {a->complex_return, b->complex_return},
        {a->threading, b->threading},
        {a->thread_scope, b->thread_scope},
        {a->fact_sources, b->fact_sources},
        {a->cblas_suffix, b->cblas_suffix},
        {a->faults, b->faults},
        {a->blas, b->blas},
        {a->outside, b->outside},
        {a->inexact[0], b->inexact[0]},
        {a->inexact[1], b->inexact[1]},
    };
    for (int i = 0; i < BP__COUNT(texts); i++) {
        if (texts[i][0] != texts[i][1] && !bp__text_equal(texts[i][0], texts[i][1])) {
            return false;
        }
    }
    return true;
}

static bool same_need(const bp_library_need *a, const bp_library_need *b) {
    return a->open == b->open && a->call == b->call && a->thread == b->thread && a->caller == b->caller;
}

static bool same_needs(const bp_library_info *a, const bp_library_info *b) {
    return same_need(&a->space, &b->space) && same_need(&a->data, &b->data) && a->stack == b->stack;
}

/* Compares all but what may differ between two lists of an unchanged machine: the time of a probe, whether the library
 * is loaded, and what it needs, which depends on the moment. */
static bool same_entry(const bp_library_info *a, const bp_library_info *b) {
    return a->kinds == b->kinds && a->state == b->state && a->int_bits == b->int_bits && a->f2c == b->f2c &&
           a->overreads == b->overreads && same_texts(a, b);
}

/* Gives an entry the larger one of its own need and the other entry's, for each of them. */
static void raise_need(bp_library_need *need, const bp_library_need *other) {
    need->open = need->open > other->open ? need->open : other->open;
    need->call = need->call > other->call ? need->call : other->call;
    need->thread = need->thread > other->thread ? need->thread : other->thread;
    need->caller = need->caller > other->caller ? need->caller : other->caller;
}

static void raise_needs(bp_library_info *info, const bp_library_info *other) {
    raise_need(&info->space, &other->space);
    raise_need(&info->data, &other->data);
    info->stack = info->stack > other->stack ? info->stack : other->stack;
}

/* An entry that needs more than before becomes another one, with the largest needs that were seen. One that needs less
 * does not, so that probes at different moments use memory for a few entries only. */
static const bp_library_info *keep_entry(const bp_library_info *info) {
    bp_library_info largest = *info;
    for (const kept_entry *each = all_entries; each; each = each->next) {
        if (same_entry(&each->info, info)) {
            raise_needs(&largest, &each->info);
            if (same_needs(&largest, &each->info)) {
                return &each->info;
            }
        }
    }
    kept_entry *entry = bp__alloc(sizeof *entry);
    if (!entry) {
        return NULL;
    }
    entry->info = largest;
    entry->next = all_entries;
    all_entries = entry;
    return &entry->info;
}

const bp_library_info **bp__list_keep(const bp_library_info *const *infos, int count) {
    size_t size = (size_t)count * sizeof(bp_library_info *);
    kept_list *list = bp__alloc(sizeof *list + size);
    if (!list) {
        return NULL;
    }
    for (int i = 0; i < count; i++) {
        if (!(list->entries[i] = keep_entry(infos[i]))) {
            bp__free(list);
            return NULL;
        }
    }
    for (kept_list *each = all_lists; each; each = each->next) {
        if (each->count == count && memcmp(each->entries, list->entries, size) == 0) {
            bp__free(list);
            return each->entries;
        }
    }
    list->count = count;
    list->next = all_lists;
    all_lists = list;
    return list->entries;
}

void bp__kept_reset(void) {
    while (all_lists) {
        kept_list *next = all_lists->next;
        bp__free(all_lists);
        all_lists = next;
    }
    while (all_entries) {
        kept_entry *next = all_entries->next;
        bp__free(all_entries);
        all_entries = next;
    }
}
