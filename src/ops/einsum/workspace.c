/* workspace.c - assigns offsets in the workspace to the blocks of a program.
 *
 * A block goes to the smallest gap that is large enough, so that the workspace hardly exceeds the peak of simultaneous
 * use. */
#include "ops/einsum/einsum.h"

#include <string.h>

#define LINE 64 /* bytes; blocks begin at cache lines */

static bool grow(bp__arena *room) {
    if (room->count < room->capacity) {
        return true;
    }
    int capacity = room->capacity * 2 + 8;
    bp__block *grown = bp__realloc(room->taken, (size_t)capacity * sizeof *grown);
    if (grown) {
        room->taken = grown;
        room->capacity = capacity;
    }
    return grown != NULL;
}

/* Finds the position of a new block in the list; sets its offset. */
static int find(const bp__arena *room, int64_t size, int64_t *offset) {
    int64_t end = 0, best = INT64_MAX;
    int at = room->count;
    for (int i = 0; i < room->count; i++) {
        int64_t gap = room->taken[i].offset - end;
        if (gap >= size && gap < best) {
            best = gap;
            at = i;
            *offset = end;
        }
        end = room->taken[i].offset + room->taken[i].size;
    }
    if (at == room->count) {
        *offset = end;
    }
    return at;
}

bp_status bp__arena_take(bp__arena *room, double bytes, int64_t *offset) {
    const double most = (double)(INT64_C(1) << 60);
    if (!(bytes < most)) {
        return bp__fail(BP_E_OVERFLOW, "einsum: an intermediate result of the path needs %.3g bytes", bytes);
    }
    int64_t size = ((int64_t)bytes + LINE - 1) / LINE * LINE;
    size = size > 0 ? size : LINE;
    if (!grow(room)) {
        return bp__fail_memory((size_t)room->capacity * sizeof *room->taken, "a contraction");
    }
    int at = find(room, size, offset);
    if (*offset > (INT64_C(1) << 61) - size) {
        return bp__fail(BP_E_OVERFLOW, "einsum: the intermediate results of the path need %.3g bytes at the same time",
                        (double)*offset + bytes);
    }
    memmove(&room->taken[at + 1], &room->taken[at], (size_t)(room->count - at) * sizeof *room->taken);
    room->taken[at] = (bp__block){*offset, size};
    room->count++;
    room->peak = *offset + size > room->peak ? *offset + size : room->peak;
    return BP_OK;
}

void bp__arena_give(bp__arena *room, int64_t offset) {
    int at = 0;
    while (room->taken[at].offset != offset) {
        at++;
    }
    room->count--;
    memmove(&room->taken[at], &room->taken[at + 1], (size_t)(room->count - at) * sizeof *room->taken);
}

void bp__arena_free(bp__arena *room) {
    bp__free(room->taken);
    *room = (bp__arena){.taken = NULL};
}
