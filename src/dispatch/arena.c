/* arena.c - assigns offsets in the workspace to the blocks of a program.
 *
 * A block goes to the smallest gap that is large enough, so that the workspace hardly exceeds the peak of simultaneous
 * use. */
#include "dispatch/arena.h"

#include "base/base.h"

#include <string.h>

#define LINE 64 /* bytes; blocks begin at cache lines */

static bool grow(bp__arena *arena) {
    if (arena->count < arena->capacity) {
        return true;
    }
    int capacity = arena->capacity * 2 + 8;
    bp__block *grown = bp__realloc(arena->taken, (size_t)capacity * sizeof *grown);
    if (grown) {
        arena->taken = grown;
        arena->capacity = capacity;
    }
    return grown != NULL;
}

/* Finds the position of a new block in the list; sets its offset. */
static int find_gap(const bp__arena *arena, int64_t size, int64_t *offset) {
    int64_t end = 0, best = INT64_MAX;
    int at = arena->count;
    for (int i = 0; i < arena->count; i++) {
        int64_t gap = arena->taken[i].offset - end;
        if (gap >= size && gap < best) {
            best = gap;
            at = i;
            *offset = end;
        }
        end = arena->taken[i].offset + arena->taken[i].size;
    }
    if (at == arena->count) {
        *offset = end;
    }
    return at;
}

bp_status bp__arena_take(bp__arena *arena, double bytes, int64_t *offset) {
    const double most = (double)(INT64_C(1) << 60);
    if (!(bytes < most)) {
        return bp__fail(BP_E_OVERFLOW, "an intermediate result needs %.3g bytes", bytes);
    }
    int64_t size = ((int64_t)bytes + LINE - 1) / LINE * LINE;
    size = size > 0 ? size : LINE;
    if (!grow(arena)) {
        return bp__fail_memory((size_t)arena->capacity * sizeof *arena->taken, "the workspace of a plan");
    }
    int at = find_gap(arena, size, offset);
    if (*offset > (INT64_C(1) << 61) - size) {
        return bp__fail(BP_E_OVERFLOW, "the intermediate results need %.3g bytes at the same time",
                        (double)*offset + bytes);
    }
    memmove(&arena->taken[at + 1], &arena->taken[at], (size_t)(arena->count - at) * sizeof *arena->taken);
    arena->taken[at] = (bp__block){*offset, size};
    arena->count++;
    arena->peak = *offset + size > arena->peak ? *offset + size : arena->peak;
    return BP_OK;
}

void bp__arena_give(bp__arena *arena, int64_t offset) {
    int at = 0;
    while (arena->taken[at].offset != offset) {
        at++;
    }
    arena->count--;
    memmove(&arena->taken[at], &arena->taken[at + 1], (size_t)(arena->count - at) * sizeof *arena->taken);
}

void bp__arena_free(bp__arena *arena) {
    bp__free(arena->taken);
    *arena = (bp__arena){.taken = NULL};
}
