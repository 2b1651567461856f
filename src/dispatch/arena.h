/* arena.h - declares the assignment of blocks in one workspace: blocks that are never needed at the same time share
 * memory.
 *
 * Blocks are taken and given back while a program is made, in the order of its parts, so that a run allocates once. */
#ifndef BP_DISPATCH_ARENA_H
#define BP_DISPATCH_ARENA_H

#include "backplane/status.h"

#include <stdint.h>

typedef struct bp__block {
    int64_t offset, size;
} bp__block;

/* Begins as zeros. */
typedef struct bp__arena {
    bp__block *taken; /* sorted by offset */
    int count, capacity;
    int64_t peak; /* bytes that the workspace needs */
} bp__arena;

/* Reserves `bytes`, at an offset that is a multiple of 64. Errors: BP_E_OVERFLOW, BP_E_NO_MEMORY. */
bp_status bp__arena_take(bp__arena *arena, double bytes, int64_t *offset);
void bp__arena_give(bp__arena *arena, int64_t offset); /* the offset of a block that is taken */
void bp__arena_free(bp__arena *arena);

#endif
