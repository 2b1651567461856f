/* names.c - finds values and outputs by their names.
 *
 * A graph may have a million names, so that they are in a hash table. */
#include "graph/graph.h"

#include <string.h>

static bp__name *find_place(const bp__names *names, const char *name, size_t length) {
    size_t at = (size_t)bp__hash(name, length) & (names->capacity - 1);
    while (names->list[at].name &&
           (names->list[at].length != length || memcmp(names->list[at].name, name, length) != 0)) {
        at = (at + 1) & (names->capacity - 1);
    }
    return &names->list[at];
}

int bp__names_find(const bp__names *names, const char *name, size_t length) {
    return names->capacity ? find_place(names, name, length)->number : 0;
}

bp_status bp__names_reserve(bp__names *names) {
    if (names->count * 2 < names->capacity) {
        return BP_OK;
    }
    bp__names grown = {.count = names->count, .capacity = names->capacity ? names->capacity * 2 : 64};
    grown.list = bp__alloc_zero(grown.capacity, sizeof *grown.list);
    if (!grown.list) {
        return bp__fail_memory(grown.capacity * sizeof *grown.list, "a graph");
    }
    for (size_t i = 0; i < names->capacity; i++) {
        const bp__name *old = &names->list[i];
        if (old->name) {
            *find_place(&grown, old->name, old->length) = *old;
        }
    }
    bp__free(names->list);
    *names = grown;
    return BP_OK;
}

void bp__names_add(bp__names *names, const char *name, size_t length, int number) {
    *find_place(names, name, length) = (bp__name){name, length, number};
    names->count++;
}
