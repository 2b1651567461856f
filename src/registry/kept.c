/* kept.c - keeps entries of library lists, and lists of them, until bp_reset, because others may refer to them.
 *
 * Candidates, plans and providers hold entries. A choice in another thread may read a list while it is replaced. Equal
 * entries and equal lists are kept once, so that a refresh uses memory only for libraries that are new. All functions
 * need the registry's mutex.
 */
#include "registry/build_list.h"

#include <string.h>

typedef struct kept_row {
    struct kept_row *next;
    bp_library_info info;
} kept_row;

typedef struct kept_list {
    struct kept_list *next;
    int count;
    const bp_library_info *rows[];
} kept_list;

static kept_row *all_rows;
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
    };
    for (int i = 0; i < BP__COUNT(texts); i++) {
        if (texts[i][0] != texts[i][1] && !bp__text_equal(texts[i][0], texts[i][1])) {
            return false;
        }
    }
    return true;
}

/* Compares all but what may differ between two lists of an unchanged machine: the time of a probe, and whether the
 * library is loaded. */
static bool same_row(const bp_library_info *a, const bp_library_info *b) {
    return a->kinds == b->kinds && a->state == b->state && a->int_bits == b->int_bits && a->f2c == b->f2c &&
           same_texts(a, b);
}

static const bp_library_info *keep_row(const bp_library_info *info) {
    for (const kept_row *each = all_rows; each; each = each->next) {
        if (same_row(&each->info, info)) {
            return &each->info;
        }
    }
    kept_row *row = bp__alloc(sizeof *row);
    if (!row) {
        return NULL;
    }
    row->info = *info;
    row->next = all_rows;
    all_rows = row;
    return &row->info;
}

const bp_library_info **bp__list_keep(const bp_library_info *infos, int count) {
    size_t size = (size_t)count * sizeof(bp_library_info *);
    kept_list *list = bp__alloc(sizeof *list + size);
    if (!list) {
        return NULL;
    }
    for (int i = 0; i < count; i++) {
        if (!(list->rows[i] = keep_row(&infos[i]))) {
            bp__free(list);
            return NULL;
        }
    }
    for (kept_list *each = all_lists; each; each = each->next) {
        if (each->count == count && memcmp(each->rows, list->rows, size) == 0) {
            bp__free(list);
            return each->rows;
        }
    }
    list->count = count;
    list->next = all_lists;
    all_lists = list;
    return list->rows;
}

void bp__kept_reset(void) {
    while (all_lists) {
        kept_list *next = all_lists->next;
        bp__free(all_lists);
        all_lists = next;
    }
    while (all_rows) {
        kept_row *next = all_rows->next;
        bp__free(all_rows);
        all_rows = next;
    }
}
